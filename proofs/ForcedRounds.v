(** One round of a run over the forced family: until the hard program is bound OLIVE
    goes on, and no second distribution behind clauses can be bound. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Sums Forced ForcedOptimum.
From Olivine Require Family.
Import ListNotations.
Open Scope R_scope.

(** ** Runs, as in Explore.v *)

Definition level_error (M : mdp) (g : state -> R) (pi : state -> action) (h : nat) : R
  :=
  bellman_error M g pi (roll_in M pi h).

Definition error_sum (M : mdp) (g : state -> R) (pi : state -> action) : R :=
  level_error M g pi 1 + level_error M g pi 2 + level_error M g pi 3.

Definition reward_at (M : mdp) (pi : state -> action) (h : nat) : R :=
  expect (roll_in M pi h) (fun x => Q2R (reward M x (pi x))).

Definition policy_value (M : mdp) (pi : state -> action) : R :=
  reward_at M pi 1 + reward_at M pi 2 + reward_at M pi 3.

Definition maximiser (M : mdp) (constraints : list distribution)
    (g : state -> R) (pi : state -> action) : Prop :=
  feasible M constraints g pi /\
  forall h rho, feasible M constraints h rho -> h Start <= g Start.

Definition rule := mdp -> (state -> R) -> (state -> action) -> nat -> Prop.

Definition any_positive : rule := fun M g pi h =>
  (1 <= h <= 3)%nat /\ 0 < level_error M g pi h.

Definition lowest : rule := fun M g pi h =>
  any_positive M g pi h /\
  forall k, (1 <= k < h)%nat -> level_error M g pi k <= 0.

Definition largest : rule := fun M g pi h =>
  any_positive M g pi h /\
  forall k, (1 <= k <= 3)%nat -> level_error M g pi k <= level_error M g pi h.

(** ** Equality can be decided *)

Definition group_eq (k l : group) : {k = l} + {k <> l}.
Proof. decide equality; try apply Nat.eq_dec; apply Bool.bool_dec. Defined.

Definition state_eq (x z : state) : {x = z} + {x <> z}.
Proof.
  decide equality; try apply Nat.eq_dec; try apply Bool.bool_dec; apply group_eq.
Defined.

Definition distribution_eq (d e : distribution) : {d = e} + {d <> e}.
Proof.
  apply list_eq_dec. intros [x [a c]] [z [a' c']].
  destruct (state_eq x z), (Z.eq_dec a a'), (Pos.eq_dec c c');
    (left; congruence) || (right; congruence).
Qed.

Lemma incl_or_one (l ds : list distribution) :
  incl l ds \/ exists d, In d l /\ ~ In d ds.
Proof.
  induction l as [|d l [IH|(z & Z & N)]].
  - left. intros d [].
  - destruct (in_dec distribution_eq d ds) as [I|N];
      [left; intros z [<-|Z]; auto|right; exists d; simpl; auto].
  - right. exists z. simpl. auto.
Qed.

Section Forced.
Variables (p : pays) (n : nat) (f : formula) (y : assignment).
Hypothesis P : sound p.
Hypothesis T : Family.three_sat_form n f.

Let M := member p n f y.
Let hard := hard_program n f.

Local Notation pay := (Forced.pay p n f y).
Local Notation mean := (Forced.mean f).
Local Notation behind := (Forced.behind f).
Local Notation floor := (Q2R (rho p)).

Let mean_ext := mean_ext n f T.
Let value_is := clause_value_is p n f y T.

Variable b : state -> action.
Hypothesis B : is_policy M b.
Hypothesis solves : b Start = Solve.
Let held := roll_in M b 3.
Let among := among p n f y b.
Let feasible_parts := feasible_parts p n f y P T b B solves.

(** ** Pairs that a maximiser cannot fall below *)

Definition plain (start : action) (x : state) : action :=
  match x with
  | Start => start
  | Clause _ => Spell true true true true
  | _ => Go
  end.

Lemma plain_legal start : legal M Start start = true -> is_policy M (plain start).
Proof. intros L [|k|j| |i c|j c|k|] _; simpl; auto. Qed.

(** Only literals and sides are behind clauses. *)
Lemma value_ext h k q j w : is_policy M q -> nth_error f j = Some w ->
  (forall i c, (i < n)%nat -> h (Lit i c) = k (Lit i c)) ->
  (forall c, h (Side j c) = k (Side j c)) ->
  clause_value h q (j, w) = clause_value k q (j, w).
Proof.
  intros K E HL HS.
  destruct (value_is h q j w K E)
    as (l1 & l2 & l3 & b1 & b2 & b3 & c & A & _ & S & V1 & V2 & V3 & ->).
  unfold clause_value. cbn [fst snd]. rewrite A. unfold clause_transition. rewrite S.
  cbn [expect fold_right fst snd]. unfold literal_state.
  rewrite !HL, HS, sixth, Q2R_half by assumption. field.
Qed.

Lemma behind_ext h k q : is_policy M q -> h End = k End ->
  (forall i c, (i < n)%nat -> h (Lit i c) = k (Lit i c)) ->
  (forall j c, h (Side j c) = k (Side j c)) -> behind h q = behind k q.
Proof.
  intros K HE HL HS. unfold Forced.behind. rewrite HE. f_equal. f_equal.
  apply mean_ext. intros j w E. apply value_ext; auto.
Qed.

Definition true_clause (j : nat) : R :=
  match nth_error f j with
  | Some w => clause_value pay (plain Solve) (j, w)
  | None => 0
  end.

(** The true values, but for a few states. *)
Definition truth (x : state) : R :=
  match x with
  | Start => 0
  | Try k => group_worth k
  | Clause j => true_clause j
  | Rest => floor
  | _ => pay x
  end.

Lemma pay_range x : 0 <= pay x <= 1 / 5.
Proof.
  pose proof P as ((L0 & L1) & S0 & S & R0). unfold Forced.pay.
  destruct x as [|k|j| |i c|j c|[i|j c]|]; simpl;
    rewrite ?Q2R_0, ?tenth, ?hundredth; try lra.
  destruct (Bool.eqb _ _); lra.
Qed.

Lemma plain_solve : is_policy M (plain Solve).
Proof. apply plain_legal. reflexivity. Qed.

Lemma truth_range x : 0 <= truth x <= 1 / 5.
Proof.
  pose proof P as (_ & _ & _ & R0).
  destruct x as [|k|j| |i c|j c|k|]; try apply pay_range; simpl; try lra.
  - destruct k; simpl; lra.
  - unfold true_clause. destruct (nth_error f j) as [w|] eqn:E; [|lra].
    pose proof (value_true p n f y P T (plain Solve) j w plain_solve E). lra.
Qed.

Lemma true_mean : mean (fun jw => true_clause (fst jw)) = mean (clause_value pay (plain
  Solve)).
Proof.
  apply mean_ext. intros j w E. unfold true_clause. cbn [fst]. rewrite E. reflexivity.
Qed.

Definition put (x : state) (v : R) (g : state -> R) (z : state) : R :=
  if state_eq z x then v else g z.

Lemma put_there x v g : put x v g x = v.
Proof. unfold put. destruct (state_eq _ _); congruence. Qed.

Lemma put_else x v g z : z <> x -> put x v g z = g z.
Proof. unfold put. destruct (state_eq _ _); congruence. Qed.

Ltac elsewhere := intros; unfold put;
  repeat (destruct (state_eq _ _); [congruence|]); reflexivity.

Lemma put_range x v g : 0 <= v <= 1 -> in_range M g -> in_range M (put x v g).
Proof. intros V G z I. unfold put. destruct (state_eq z x); [exact V|exact (G z I)].
Qed.

Lemma true_range : in_range M truth.
Proof. intros x _. pose proof (truth_range x). lra. Qed.

Lemma group_pays k : expect (group_transition k) pay = group_worth k.
Proof. apply (group_worth_is p n f y P). Qed.

(** With a value raised that no clause leads to, the rest holds by itself. *)
Lemma truth_but_for g start ds : among ds -> in_range M g -> legal M Start start = true
  ->
  (forall i c, g (Lit i c) = pay (Lit i c)) -> (forall j c,
    g (Side j c) = pay (Side j c)) ->
  g End = floor -> g Rest = floor -> (forall j, g (Clause j) = true_clause j) ->
  (In (point Start) ds -> bellman_error M g (plain start) (point Start) = 0) ->
  (forall k, group_of n f k = true -> In (point (Try k)) ds ->
     g (Try k) = expect (group_transition k) g) ->
  (forall k, group_of n f k = true -> In (group_transition k) ds ->
     g (Spare k) = pay (Spare k)) ->
  feasible M ds g (plain start).
Proof.
  intros A I L HL HS HE HR HC HZ HT HG.
  assert (X : forall q, is_policy M q -> behind g q = behind pay q)
    by (intros q K; apply behind_ext; auto).
  apply feasible_parts; auto.
  - apply plain_legal, L.
  - intros _. rewrite (X _ (plain_legal start L)), HR. unfold Forced.behind.
    change (pay End) with floor. f_equal. f_equal.
    rewrite (mean_ext _ (fun jw => true_clause (fst jw))) by (intros; apply HC).
    exact true_mean.
  - intros _. rewrite HR, HE. reflexivity.
  - intros k K D. rewrite <- group_pays. specialize (HG k K D).
    destruct k; simpl; rewrite ?HL, ?HS; rewrite HG; reflexivity.
Qed.

(** (i) s0, some Z_k or some group is not bound: at least 1/2. *)
Lemma raise_start ds : among ds -> ~ In (point Start) ds ->
  exists g pi, feasible M ds g pi /\ g Start = 1.
Proof.
  intros A N. exists (put Start 1 truth), (plain Solve). split; [|apply put_there].
  apply truth_but_for; auto; try elsewhere.
  - apply put_range; [lra|apply true_range].
  - contradiction.
  - intros k K _. rewrite put_else by discriminate. simpl truth. rewrite <- group_pays.
    destruct k; reflexivity.
Qed.

Lemma raise_try ds k : among ds -> group_of n f k = true -> ~ In (point (Try k)) ds ->
  exists g pi, feasible M ds g pi /\ g Start = 1.
Proof.
  intros A K N. exists (put Start 1 (put (Try k) 1 truth)), (plain (Enter k)).
  split; [|apply put_there].
  apply truth_but_for; auto; try elsewhere.
  - apply put_range; [lra|]. apply put_range; [lra|apply true_range].
  - intros _. unfold M. rewrite start_error by exact T. cbn [plain].
    rewrite put_there, put_else, put_there by discriminate. ring.
  - intros l L D. destruct (group_eq l k) as [->|E]; [contradiction|].
    rewrite !put_else by congruence. simpl truth. rewrite <- group_pays.
    destruct l; reflexivity.
Qed.

Lemma raise_group ds k : among ds -> group_of n f k = true ->
  ~ In (group_transition k) ds ->
  exists g pi, feasible M ds g pi /\ 1 / 2 <= g Start.
Proof.
  intros A K N. set (h := put (Spare k) 1 truth).
  set (v := expect (group_transition k) h).
  assert (V : 1 / 2 <= v <= 1).
  { unfold v, h. destruct k as [i|j c]; simpl; rewrite ?quarter, Q2R_half, put_there;
      rewrite !put_else by discriminate.
    - pose proof (truth_range (Lit i false)). pose proof (truth_range (Lit i true)).
      lra.
    - pose proof (truth_range (Side j c)). lra. }
  exists (put Start v (put (Try k) v h)), (plain (Enter k)).
  split; [|rewrite put_there; lra].
  apply truth_but_for; auto; try (unfold h; elsewhere).
  - apply put_range; [lra|]. apply put_range; [lra|].
    apply put_range; [lra|apply true_range].
  - intros _. unfold M. rewrite start_error by exact T. cbn [plain].
    rewrite put_there, put_else, put_there by discriminate. ring.
  - intros l L _. rewrite put_else by discriminate.
    destruct (group_eq l k) as [->|E].
    + rewrite put_there. unfold v. destruct k; reflexivity.
    + rewrite put_else by congruence. unfold h. rewrite put_else by discriminate.
      simpl truth. rewrite <- group_pays.
      destruct l; cbn [group_transition expect fold_right fst snd];
        rewrite !put_else by congruence; reflexivity.
Qed.

(** (ii) S is not bound: at least 16/100. *)
Lemma raise_clauses ds : among ds -> ~ In (behind_solve f) ds ->
  exists g pi, feasible M ds g pi /\ 16 / 100 <= g Start.
Proof.
  intros A N. pose proof P as (_ & _ & _ & R0).
  exists (fun x => match x with
    | Start => 16 / 100 + 9 / 10 * floor | Clause _ => 1 | _ => truth x end),
    (plain Solve).
  split; [|lra]. apply feasible_parts; auto.
  - intros x _. pose proof (truth_range x). destruct x; simpl in *; lra.
  - exact plain_solve.
  - intros _. unfold M. rewrite start_error by exact T. cbn [plain truth].
    rewrite (mean_const n f T). lra.
  - contradiction.
  - intros k _ _. simpl truth. rewrite <- group_pays. destruct k; reflexivity.
  - intros k _ _. rewrite <- group_pays. destruct k; reflexivity.
  - intros _. apply behind_ext; auto.
Qed.

(** (iii a) bottom is not bound: [rest] is worth more than [solve] promises. *)
Lemma rest_instead ds g pi : among ds -> feasible M ds g pi -> ~ In (point Rest) ds ->
  behind g pi <= 4 / 5 ->
  exists h q, feasible M ds h q /\ h Start = 131 / 2000 + 10 / 9 * behind g pi.
Proof.
  intros A F N S. pose proof (proj1 (proj2 F)) as Q.
  assert (V0 : 0 <= behind g pi).
  { unfold Forced.behind. pose proof (range p n f y ds g pi F End eq_refl).
    assert (0 <= mean (clause_value g pi) <= 1); [|lra].
    apply (mean_between n f T). intros j w E.
    apply (value_range p n f y T ds g pi F pi j w Q E). }
  set (r := 10 / 9 * behind g pi). set (v := 131 / 2000 + r).
  set (h := fun x => match x with
    | Start => v | Rest => r | Clause _ => 0 | _ => g x end).
  set (q := fun x => match x with Start => Pause | _ => pi x end).
  assert (L : is_policy M q).
  { intros x I. specialize (Q x I). destruct x; simpl in *; auto. }
  exists h, q. split; [|reflexivity]. apply feasible_parts; auto.
  - intros x I. pose proof (range p n f y ds g pi F x I).
    destruct x; simpl; unfold v, r; lra.
  - intros _. unfold M. rewrite start_error by exact T. simpl. unfold v. ring.
  - intros _. simpl. rewrite (mean_const n f T). unfold r.
    replace (behind h q) with (behind g pi); [field|].
    unfold Forced.behind. f_equal. f_equal. apply mean_ext. intros j w E.
    change (clause_value g pi (j, w) = clause_value h pi (j, w)).
    apply value_ext; auto.
  - contradiction.
  - intros D. apply (end_is p n f y ds g pi F D).
  - intros k K D. pose proof (try_is p n f y ds g pi F k K D). destruct k; exact H.
  - intros k K D. pose proof (group_is p n f y P ds g pi F k K D). destruct k; exact H.
  - intros D. rewrite <- (held_is p n f y T b B solves ds g pi F D).
    apply behind_ext; auto.
Qed.

(** (iii b) bottom' is not bound: sides of value 0 leave it 1/180 more. *)
Lemma raise_end ds : among ds -> ~ In (point End) ds ->
  exists g pi, feasible M ds g pi /\ g Start = 131 / 2000 + floor + 1 / 180.
Proof.
  intros A N. pose proof P as (_ & _ & _ & R0).
  set (h := fun x => match x with
    | Start => 131 / 2000 + floor + 1 / 180
    | Rest | End => floor + 1 / 180
    | Side _ _ => 0
    | Spare (OfSide _ _) => 11 / 100
    | Clause j => true_clause j - 1 / 20
    | _ => truth x end).
  assert (V : forall q j w, is_policy M q -> nth_error f j = Some w ->
    clause_value h q (j, w) = clause_value pay q (j, w) - 1 / 20).
  { intros q j w K E.
    destruct (value_is h q j w K E)
      as (l1 & l2 & l3 & b1 & b2 & b3 & c & Q & _ & S & V1 & V2 & V3 & ->).
    unfold clause_value. cbn [fst snd]. rewrite Q. unfold clause_transition. rewrite S.
    cbn [expect fold_right fst snd].
    change (h (literal_state l1 b1)) with (pay (literal_state l1 b1)).
    change (h (literal_state l2 b2)) with (pay (literal_state l2 b2)).
    change (h (literal_state l3 b3)) with (pay (literal_state l3 b3)).
    replace (pay (Side j c)) with (1 / 10)
      by (unfold Forced.pay; simpl; rewrite tenth; reflexivity).
    simpl. rewrite sixth, Q2R_half. field. }
  assert (X : forall q, is_policy M q -> behind h q = behind pay q).
  { intros q K. unfold Forced.behind.
    rewrite (mean_ext _ (fun jw => clause_value pay q jw - 1 / 20))
      by (intros j w E; apply (V q j w K E)).
    rewrite (mean_minus n f T), (mean_const n f T).
    change (pay End) with floor. simpl. field. }
  exists h, (plain Pause). split; [|reflexivity]. apply feasible_parts; auto.
  - intros x I. pose proof (truth_range x). destruct x as [|k|j| |i c|j c|[i|j c]|];
      simpl in *; try lra.
    unfold true_clause in *. destruct (nth_error f j) as [w|] eqn:E.
    + pose proof (value_true p n f y P T (plain Solve) j w plain_solve E). lra.
    + exfalso. apply nth_error_None in E. apply Nat.ltb_lt in I. lia.
  - apply plain_legal. reflexivity.
  - intros _. unfold M. rewrite start_error by exact T. simpl. ring.
  - intros _. rewrite (X _ (plain_legal Pause eq_refl)).
    simpl (h Rest). unfold Forced.behind.
    replace (mean (fun jw => h (Clause (fst jw)))) with
      (mean (clause_value pay (plain Pause)) - 1 / 20).
    + change (pay End) with floor. field.
    + change (clause_value pay (plain Pause)) with (clause_value pay (plain Solve)).
      rewrite <- true_mean, <- (mean_const n f T (1 / 20)), <- (mean_minus n f T).
      apply mean_ext. reflexivity.
  - contradiction.
  - intros k _ _. destruct k as [i|j c].
    + change (h (Try (OfVariable i))) with (group_worth (OfVariable i)).
      rewrite <- group_pays. reflexivity.
    + simpl. rewrite Q2R_half. lra.
  - intros k _ _. destruct k as [i|j c].
    + rewrite <- group_pays. reflexivity.
    + simpl. rewrite Q2R_half. lra.
Qed.

Lemma pause_instead ds g pi : among ds -> feasible M ds g pi ->
  131 / 2000 + g Rest <= 1 ->
  exists h q, feasible M ds h q /\ h Start = 131 / 2000 + g Rest.
Proof.
  intros A F V. pose proof (proj1 (proj2 F)) as Q.
  set (h := put Start (131 / 2000 + g Rest) g).
  set (q := fun x => match x with Start => Pause | _ => pi x end).
  assert (O : forall x, x <> Start -> h x = g x) by (intros; apply put_else;
    assumption).
  assert (X : forall r, is_policy M r -> behind h r = behind g r)
    by (intros r K; apply behind_ext; auto; intros; apply O; discriminate).
  assert (L : is_policy M q).
  { intros x I. specialize (Q x I). destruct x; simpl in *; auto. }
  exists h, q. split; [|apply put_there]. apply feasible_parts; auto.
  - apply put_range; [|apply F]. pose proof (range p n f y ds g pi F Rest eq_refl). lra.
  - intros _. unfold M. rewrite start_error by exact T. cbn [q].
    unfold h. rewrite put_there, put_else by discriminate. ring.
  - intros D. rewrite (X q L), O by discriminate.
    change (behind g q) with (behind g pi).
    rewrite <- (solve_is p n f y T ds g pi F D). reflexivity.
  - intros D. rewrite !O by discriminate. apply (rest_is p n f y ds g pi F D).
  - intros D. rewrite O by discriminate. apply (end_is p n f y ds g pi F D).
  - intros k K D. rewrite O, (try_is p n f y ds g pi F k K D) by discriminate.
    destruct k; reflexivity.
  - intros k K D. rewrite <- (group_is p n f y P ds g pi F k K D).
    destruct k; reflexivity.
  - intros D. rewrite (X b B). apply (held_is p n f y T b B solves ds g pi F D).
Qed.

(** ** Any policy's roll-in and value *)

Section Policy.
Variable pi : state -> action.
Hypothesis Q : is_policy M pi.

Lemma rolls : match pi Start with
  | Enter k => group_of n f k = true /\ roll_in M pi 2 = point (Try k) /\
               roll_in M pi 3 = group_transition k
  | Solve => roll_in M pi 2 = behind_solve f
  | Pause => roll_in M pi 2 = point Rest /\ roll_in M pi 3 = point End
  | _ => False
  end.
Proof.
  pose proof (Q Start eq_refl) as L.
  destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:S; try discriminate L.
  - simpl in L. split; [exact L|].
    pose proof (goes p n f y pi (Try k) Q L) as G. simpl in G.
    simpl. rewrite S. simpl. rewrite G. destruct k; split; reflexivity.
  - apply (solve_rolls_in p n f y pi S).
  - pose proof (goes p n f y pi Rest Q eq_refl) as G. simpl in G.
    simpl. rewrite S. simpl. rewrite G. split; reflexivity.
Qed.

(** What a policy is worth: what its levels pay. *)
Lemma policy_value_is : policy_value M pi = match pi Start with
  | Enter k => group_worth k
  | Solve => 6 / 100 + behind pay pi
  | Pause => 131 / 2000 + floor
  | _ => 0
  end.
Proof.
  pose proof rolls as L. unfold policy_value, reward_at.
  assert (G : forall x, is_state M x = true ->
    match x with Lit _ _ | Side _ _ | Spare _ | End => True | _ => False end ->
    Q2R (reward M x (pi x)) = pay x).
  { intros x I K. pose proof (goes p n f y pi x Q I) as A.
    destruct x; try destruct K; rewrite A; reflexivity. }
  change (roll_in M pi 1) with (point Start). rewrite expect_point.
  destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:S; try exact (False_ind _ L).
  - destruct L as (K & -> & ->). rewrite expect_point, (goes p n f y pi (Try k) Q K).
    simpl (reward _ Start _). simpl (reward _ (Try k) _). rewrite <- group_pays.
    destruct k as [i|j c]; cbn [group_transition expect fold_right fst snd];
      rewrite !G by (exact K || exact Logic.I); rewrite Q2R_0; ring.
  - rewrite (roll_in_next M pi 2), L by lia. rewrite !(expect_behind_solve n f T).
    rewrite (goes p n f y pi Rest Q eq_refl). simpl (reward _ Start _).
    simpl (reward _ Rest _). simpl (transition _ Rest _). rewrite solve_pays, Q2R_0.
    rewrite (mean_ext (fun jw => Q2R (reward M (Clause (fst jw)) (pi (Clause (fst
      jw)))))
      (fun _ => 0)).
    2: { intros j w E. simpl. destruct (pi _); apply Q2R_0. }
    rewrite (mean_const n f T). unfold Forced.behind.
    rewrite (mean_ext _ (clause_value pay pi)).
    + cbn [expect fold_right fst snd]. rewrite (G End eq_refl Logic.I), Q2R_1. ring.
    + intros j w E.
      destruct (value_is pay pi j w Q E)
        as (l1 & l2 & l3 & b1 & b2 & b3 & c & A & _ & K & V1 & V2 & V3 & _).
      unfold clause_value. cbn [fst snd]. rewrite A. simpl (transition _ _ _).
      rewrite E.
      unfold clause_transition. rewrite K. cbn [expect fold_right fst snd].
      assert (J : (j < length f)%nat) by (apply nth_error_Some; congruence).
      rewrite !G; try exact Logic.I; try reflexivity; simpl; apply Nat.ltb_lt;
        assumption.
  - destruct L as [-> ->]. rewrite !expect_point, (goes p n f y pi Rest Q eq_refl),
      (G End eq_refl Logic.I). simpl (reward _ _ _). rewrite pause_pays, Q2R_0.
    change (pay End) with floor. ring.
Qed.

Lemma policy_at_most : policy_value M pi <= 131 / 2000 + floor.
Proof.
  rewrite policy_value_is. pose proof (behind_true p n f y P T pi Q).
  pose proof P as (_ & _ & _ & R0).
  destruct (pi Start) as [k| | |b1 b2 b3 c|]; try lra. destruct k; simpl; lra.
Qed.
End Policy.

(** V* is the same on each member, and [rest] attains it. *)
Theorem forced_planner :
  (forall pi, is_policy M pi -> policy_value M pi <= 131 / 2000 + floor) /\
  is_policy M (plain Pause) /\ policy_value M (plain Pause) = 131 / 2000 + floor.
Proof.
  assert (L : is_policy M (plain Pause)) by (apply plain_legal; reflexivity).
  split; [exact policy_at_most|]. split; [exact L|]. apply (policy_value_is _ L).
Qed.

(** ** A maximiser's round *)

Section Round.
Variables (ds : list distribution) (g : state -> R) (pi : state -> action).
Hypothesis A : among ds.
Hypothesis X : maximiser M ds g pi.

Let F : feasible M ds g pi := proj1 X.
Let Q : is_policy M pi := proj1 (proj2 F).

Lemma at_least v : (exists h q, feasible M ds h q /\ v <= h Start) -> v <= g Start.
Proof. intros (h & q & G & V). pose proof (proj2 X h q G). lra. Qed.

Lemma at_least_is v : (exists h q, feasible M ds h q /\ h Start = v) -> v <= g Start.
Proof. intros (h & q & G & <-). exact (proj2 X h q G). Qed.

Lemma first_error : level_error M g pi 1 = g Start -
  match pi Start with
  | Enter k => g (Try k)
  | Solve => 6 / 100 + (9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))))
  | Pause => 131 / 2000 + g Rest
  | _ => 0
  end.
Proof. apply (start_error p n f y T). Qed.

Lemma solve_errors : pi Start = Solve ->
  level_error M g pi 2 =
    9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))) - behind g pi /\
  level_error M g pi 3 = behind g pi - behind pay pi.
Proof.
  intros S. unfold level_error. split.
  - unfold M. rewrite (solve_rolls_in p n f y pi S).
    apply (solve_level_2 p n f y T g pi Q).
  - apply (behind_error p n f y T g pi pi Q Q S).
Qed.

(** What g promises beyond V* shows as an error. *)
Lemma sum_at_least : g Start - (131 / 2000 + floor) <= error_sum M g pi.
Proof.
  pose proof (rolls pi Q) as L. pose proof first_error as E1. unfold error_sum.
  pose proof P as (_ & _ & _ & R0).
  destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:S; try exact (False_ind _ L).
  - destruct L as (K & L2 & L3). unfold level_error at 2 3. rewrite L2, L3, E1.
    unfold M. rewrite (try_error p n f y g pi k Q K),
      (group_error p n f y P g pi k Q K).
    destruct k; simpl group_worth; lra.
  - destruct (solve_errors S) as [E2 E3]. rewrite E1, E2, E3.
    pose proof (behind_true p n f y P T pi Q). lra.
  - destruct L as [L2 L3]. unfold level_error at 2 3. rewrite L2, L3, E1.
    unfold M. rewrite (rest_error p n f y g pi Q), (end_error p n f y g pi Q). lra.
Qed.

Lemma behind_range q : is_policy M q ->
  9 / 10 * g End <= behind g q <= 9 / 10 * g End + 1 / 10.
Proof.
  intros K. unfold Forced.behind.
  pose proof (mean_between n f T 0 1 (clause_value g q)
    (fun j w => value_range p n f y T ds g pi F q j w K)). lra.
Qed.

(** What is missing of the hard program, in the order of the proof. *)
Lemma missing : incl hard ds \/
  1 / 2 <= g Start \/
  (forall k, group_of n f k = true -> In (group_transition k) ds) /\
  In (point Start) ds /\
  (~ In (behind_solve f) ds /\ 16 / 100 <= g Start \/
   In (behind_solve f) ds /\
   (~ In (point Rest) ds \/ In (point Rest) ds /\ ~ In (point End) ds)).
Proof.
  destruct (in_dec distribution_eq (point Start) ds) as [IS|N].
  2: { right; left. pose proof (at_least_is 1 (raise_start ds A N)). lra. }
  destruct (incl_or_one (map (fun k => point (Try k)) (groups n f)) ds)
    as [IT|(d & D & N)].
  2: { apply in_map_iff in D as (k & <- & K). apply groups_iff in K.
       right; left. pose proof (at_least_is 1 (raise_try ds k A K N)). lra. }
  destruct (incl_or_one (map group_transition (groups n f)) ds) as [IG|(d & D & N)].
  2: { apply in_map_iff in D as (k & <- & K). apply groups_iff in K.
       right; left. exact (at_least _ (raise_group ds k A K N)). }
  assert (G : forall k, group_of n f k = true -> In (group_transition k) ds)
    by (intros k K; apply IG, in_map, groups_iff, K).
  destruct (in_dec distribution_eq (behind_solve f) ds) as [IB|N].
  2: { right; right. repeat split; auto. left.
       split; [exact N|]. exact (at_least _ (raise_clauses ds A N)). }
  destruct (in_dec distribution_eq (point Rest) ds) as [IR|N];
    [|right; right; auto 7].
  destruct (in_dec distribution_eq (point End) ds) as [IE|N];
    [|right; right; auto 7].
  left. intros d D. apply hard_iff in D. destruct D as [| | | |k K|k K]; auto.
  apply IT, (in_map (fun k => point (Try k))), groups_iff, K.
Qed.

(** While it is not all bound, g promises more than V*, *)
Lemma above : ~ incl hard ds -> 131 / 2000 + floor < g Start.
Proof.
  intros N. pose proof P as (_ & _ & _ & R0).
  destruct missing as [I|[V|(G & _ & [(_ & V)|(_ & [NR|(_ & NE)])])]];
    [contradiction|lra|lra| |].
  - set (v := 6 / 100 + behind pay (plain Solve)).
    pose proof (behind_true p n f y P T _ plain_solve) as BT.
    assert (FT : feasible M ds (put Start v truth) (plain Solve)).
    { apply truth_but_for; auto; try elsewhere.
      - apply put_range; [unfold v; lra|apply true_range].
      - intros _. unfold M. rewrite start_error by exact T. cbn [plain].
        rewrite put_there, put_else by discriminate. simpl truth.
        rewrite (mean_ext _ (fun jw => true_clause (fst jw))) by elsewhere.
        rewrite true_mean. unfold v, Forced.behind. change (pay End) with floor. ring.
      - intros k K D. rewrite put_else by discriminate. simpl truth.
        rewrite <- group_pays. destruct k; reflexivity. }
    assert (E : behind (put Start v truth) (plain Solve) = behind pay (plain Solve))
      by (apply behind_ext; [exact plain_solve|..]; elsewhere).
    pose proof (at_least_is _ (rest_instead ds _ _ A FT NR ltac:(rewrite E; lra))) as V.
    rewrite E in V. lra.
  - pose proof (at_least_is _ (raise_end ds A NE)). lra.
Qed.

(** and with an E_b bound no rule takes a second one. *)
Lemma no_second : ~ incl hard ds -> In held ds -> pi Start = Solve ->
  g Start <= 6 / 100 + 3 * behind g pi -> False.
Proof.
  intros N H S L. pose proof P as (_ & _ & _ & R0).
  pose proof (held_is p n f y T b B solves ds g pi F H) as E.
  pose proof (behind_true p n f y P T b B) as BT.
  pose proof (behind_range b B) as BB. pose proof (behind_range pi Q) as BP.
  destruct missing as [I|[V|(G & IS & C)]]; [contradiction|lra|].
  assert (BS : behind g pi <= 9 / 10 * g End + 6 / 1000).
  { unfold Forced.behind. pose proof (mean_between n f T 0 (6 / 100) (clause_value g pi)
      (value_small p n f y P T ds g pi F G)). lra. }
  destruct C as [(_ & V)|(IB & C)]; [lra|].
  pose proof (start_is p n f y T ds g pi F IS) as V. rewrite S in V.
  rewrite (solve_is p n f y T ds g pi F IB) in V.
  destruct C as [NR|(IR & NE)].
  - pose proof (at_least_is _ (rest_instead ds g pi A F NR ltac:(lra))). lra.
  - pose proof (rest_is p n f y ds g pi F IR) as ER.
    pose proof (at_least_is _ (raise_end ds A NE)).
    pose proof (at_least_is _ (pause_instead ds g pi A F ltac:(lra))). lra.
Qed.

(** Whatever is bound is the hard program's or lies behind clauses. *)
Lemma roll_in_is h : (1 <= h <= 3)%nat -> In (roll_in M pi h) hard \/
  h = 3%nat /\ pi Start = Solve /\ behind_clauses M (roll_in M pi h).
Proof.
  intros H. destruct (Nat.eq_dec h 1) as [->|N1]; [left; apply hard_iff; constructor|].
  pose proof (rolls pi Q) as L.
  destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:S; try exact (False_ind _ L).
  - destruct L as (K & L2 & L3). left. apply hard_iff.
    destruct (Nat.eq_dec h 2) as [->|N2]; [rewrite L2; constructor; assumption|].
    replace h with 3%nat by lia. rewrite L3. constructor. assumption.
  - destruct (Nat.eq_dec h 2) as [->|N2];
      [left; rewrite L; apply hard_iff; constructor|].
    right. replace h with 3%nat by lia. split; [reflexivity|]. split; [reflexivity|].
    exists pi. auto.
  - destruct L as [L2 L3]. left. apply hard_iff.
    destruct (Nat.eq_dec h 2) as [->|N2]; [rewrite L2; constructor|].
    replace h with 3%nat by lia. rewrite L3. constructor.
Qed.

Lemma rule_takes r h : r = lowest \/ r = largest -> r M g pi h ->
  (1 <= h <= 3)%nat /\ 0 < level_error M g pi h /\
  (h = 3%nat -> level_error M g pi 1 + level_error M g pi 2 <=
     2 * Rmax 0 (level_error M g pi 3)).
Proof.
  pose proof (Rmax_l 0 (level_error M g pi 3)).
  pose proof (Rmax_r 0 (level_error M g pi 3)).
  intros [->| ->] [[H1 H2] H3]; (split; [exact H1|]; split; [exact H2|]); intros ->;
    pose proof (H3 1%nat ltac:(lia)); pose proof (H3 2%nat ltac:(lia)); lra.
Qed.

(** A round binds something new, and at most one E_b in all. *)
Theorem forced_round r : r = lowest \/ r = largest -> ~ incl hard ds ->
  0 < error_sum M g pi /\
  (exists h, r M g pi h) /\
  forall h, r M g pi h -> ~ In (roll_in M pi h) ds /\
    (In (roll_in M pi h) hard \/ behind_clauses M (roll_in M pi h) /\ ~ In held ds).
Proof.
  intros R N. pose proof (above N) as V. pose proof sum_at_least as E.
  assert (E0 : 0 < error_sum M g pi) by lra.
  split; [exact E0|]. split.
  - unfold error_sum in E0. set (e := level_error M g pi) in *.
    destruct R as [->| ->].
    + destruct (Rlt_le_dec 0 (e 1%nat)) as [L1|L1];
        [exists 1%nat|destruct (Rlt_le_dec 0 (e 2%nat)) as [L2|L2];
          [exists 2%nat|exists 3%nat]];
        (split; [split; [lia|fold e; lra]|]); intros [|[|[|k]]] K; try lia; fold e; lra.
    + destruct (Rle_lt_dec (e 1%nat) (e 2%nat)), (Rle_lt_dec (e 2%nat) (e 3%nat)),
        (Rle_lt_dec (e 1%nat) (e 3%nat));
        [exists 3%nat|exists 3%nat|exists 2%nat|exists 2%nat|
         exists 3%nat|exists 1%nat|exists 1%nat|exists 1%nat];
        (split; [split; [lia|fold e; lra]|]); intros [|[|[|[|k]]]] K; try lia; fold e;
          lra.
  - intros h H. destruct (rule_takes r h R H) as (K & P0 & S3).
    assert (New : ~ In (roll_in M pi h) ds).
    { intros D. pose proof F as (_ & _ & Z). specialize (Z _ D).
      change (level_error M g pi h = 0) in Z. lra. }
    split; [exact New|]. destruct (roll_in_is h K) as [I|(-> & S & BC)]; [auto|].
    right. split; [exact BC|]. intros D. apply (no_second N D S).
    destruct (solve_errors S) as [E2 E3]. pose proof first_error as E1. rewrite S in E1.
    specialize (S3 eq_refl). rewrite Rmax_right in S3 by lra.
    pose proof (behind_true p n f y P T pi Q). pose proof P as (_ & _ & _ & R0). lra.
Qed.
End Round.
End Forced.
