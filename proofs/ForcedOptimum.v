(** The forced family's hard program: what its pairs are worth, with at most one
    distribution behind clauses bound beside it, and its optimum. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Sums Vertex Forced.
From Olivine Require Family Optimum Optima.
Import ListNotations.
Open Scope R_scope.

Lemma groups_iff n f k : In k (groups n f) <-> group_of n f k = true.
Proof.
  unfold groups. rewrite in_app_iff, in_map_iff, in_flat_map.
  destruct k as [i|j c]; simpl; rewrite Nat.ltb_lt; split.
  - intros [(x & E & I)|(x & _ & [E|[E|[]]])]; try discriminate E.
    injection E as <-. apply in_seq in I. lia.
  - intros H. left. exists i. split; [reflexivity|apply in_seq; lia].
  - intros [(x & E & _)|(x & I & [E|[E|[]]])]; try discriminate E;
      injection E as <- <-; apply in_seq in I; lia.
  - intros H. right. exists j. split; [apply in_seq; lia|]. destruct c; auto.
Qed.

Inductive hard_one (n : nat) (f : formula) : distribution -> Prop :=
  | hard_start : hard_one n f (point Start)
  | hard_solve : hard_one n f (behind_solve f)
  | hard_rest : hard_one n f (point Rest)
  | hard_end : hard_one n f (point End)
  | hard_try k : group_of n f k = true -> hard_one n f (point (Try k))
  | hard_group k : group_of n f k = true -> hard_one n f (group_transition k).

Lemma hard_iff n f d : In d (hard_program n f) <-> hard_one n f d.
Proof.
  unfold hard_program. rewrite !in_app_iff, !in_map_iff. split.
  - intros [[<-|[<-|[<-|[<-|[]]]]]|[(k & <- & K)|(k & <- & K)]];
      constructor; apply groups_iff; exact K.
  - intros [| | | |k K|k K]; simpl; auto 7.
    + right. left. exists k. split; [reflexivity|apply groups_iff, K].
    + right. right. exists k. split; [reflexivity|apply groups_iff, K].
Qed.

Section Forced.
Variables (p : pays) (n : nat) (f : formula) (y : assignment).
Hypothesis P : sound p.
Hypothesis T : Family.three_sat_form n f.

Let M := member p n f y.
Let W := IZR (total_weight f).
Let hard := hard_program n f.

Local Notation pay := (Forced.pay p n f y).
Local Notation mean := (Forced.mean f).
Local Notation behind := (Forced.behind f).
Local Notation floor := (Q2R (rho p)).

Let mean_between := mean_between n f T.
Let mean_ext := mean_ext n f T.
Let value_is := clause_value_is p n f y T.

(** One distribution behind clauses, of the policy [b]. *)
Variable b : state -> action.
Hypothesis B : is_policy M b.
Hypothesis solves : b Start = Solve.
Let held := roll_in M b 3.

Definition among (ds : list distribution) : Prop :=
  forall d, In d ds -> In d hard \/ d = held.

(** ** Feasible pairs, constraint by constraint *)

Lemma feasible_parts ds g pi : among ds -> in_range M g -> is_policy M pi ->
  (In (point Start) ds -> bellman_error M g pi (point Start) = 0) ->
  (In (behind_solve f) ds ->
     9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))) = behind g pi) ->
  (In (point Rest) ds -> g Rest = g End) ->
  (In (point End) ds -> g End = floor) ->
  (forall k, group_of n f k = true -> In (point (Try k)) ds ->
     g (Try k) = expect (group_transition k) g) ->
  (forall k, group_of n f k = true -> In (group_transition k) ds ->
     expect (group_transition k) g = group_worth k) ->
  (In held ds -> behind g b = behind pay b) -> feasible M ds g pi.
Proof.
  intros A I Q HS HB HR HE HT HG HH. split; [exact I|]. split; [exact Q|].
  intros d D. destruct (A d D) as [K| ->].
  - apply hard_iff in K. unfold M. destruct K as [| | | |k K|k K].
    + exact (HS D).
    + rewrite (solve_level_2 p n f y T g pi Q), (HB D). ring.
    + rewrite (rest_error p n f y g pi Q), (HR D). ring.
    + rewrite (end_error p n f y g pi Q), (HE D). ring.
    + rewrite (try_error p n f y g pi k Q K), (HT k K D). ring.
    + rewrite (group_error p n f y P g pi k Q K), (HG k K D). ring.
  - unfold M, held, M. rewrite (behind_error p n f y T g pi b Q B solves).
    rewrite (HH D). ring.
Qed.

Section Pair.
Variables (ds : list distribution) (g : state -> R) (pi : state -> action).
Hypothesis F : feasible M ds g pi.

Let Q : is_policy M pi := proj1 (proj2 F).

Lemma zero d : In d ds -> bellman_error M g pi d = 0.
Proof. apply F. Qed.

Lemma start_is : In (point Start) ds -> g Start =
  match pi Start with
  | Enter k => g (Try k)
  | Solve => 6 / 100 + (9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))))
  | Pause => 131 / 2000 + g Rest
  | _ => 0
  end.
Proof.
  intros D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite start_error in Z by exact T.
  lra.
Qed.

Lemma solve_is : In (behind_solve f) ds ->
  9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))) = behind g pi.
Proof.
  intros D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite (solve_level_2 p n f y T g pi Q) in Z. lra.
Qed.

Lemma rest_is : In (point Rest) ds -> g Rest = g End.
Proof.
  intros D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite (rest_error p n f y g pi Q) in Z. lra.
Qed.

Lemma end_is : In (point End) ds -> g End = floor.
Proof.
  intros D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite (end_error p n f y g pi Q) in Z. lra.
Qed.

Lemma try_is k : group_of n f k = true -> In (point (Try k)) ds ->
  g (Try k) = expect (group_transition k) g.
Proof.
  intros K D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite (try_error p n f y g pi k Q K) in Z. lra.
Qed.

Lemma group_is k : group_of n f k = true -> In (group_transition k) ds ->
  expect (group_transition k) g = group_worth k.
Proof.
  intros K D. pose proof (zero _ D) as Z. unfold M in Z.
  rewrite (group_error p n f y P g pi k Q K) in Z. lra.
Qed.

Lemma held_is : In held ds -> behind g b = behind pay b.
Proof.
  intros D. pose proof (zero _ D) as Z. unfold M, held, M in Z.
  rewrite (behind_error p n f y T g pi b Q B solves) in Z. lra.
Qed.

Lemma range x : is_state M x = true -> 0 <= g x <= 1.
Proof. apply F. Qed.

Lemma literal_range i c : (i < n)%nat -> 0 <= g (Lit i c) <= 1.
Proof. intros H. apply range. simpl. apply Nat.ltb_lt, H. Qed.

Lemma value_range q j w : is_policy M q -> nth_error f j = Some w ->
  0 <= clause_value g q (j, w) <= 1.
Proof.
  intros K E.
  destruct (value_is g q j w K E) as (l1 & l2 & l3 & b1 & b2 & b3 & c & _ & _ & _ & V1 &
    V2 & V3 & ->).
  unfold literal_state.
  pose proof (literal_range _ (Bool.eqb (positive l1) b1) V1).
  pose proof (literal_range _ (Bool.eqb (positive l2) b2) V2).
  pose proof (literal_range _ (Bool.eqb (positive l3) b3) V3).
  assert (0 <= g (Side j c) <= 1).
  { apply range. simpl. apply Nat.ltb_lt, nth_error_Some. congruence. }
  lra.
Qed.

Hypothesis grouped : forall k, group_of n f k = true -> In (group_transition k) ds.

Lemma literal_pair i : (i < n)%nat -> 0 <= g (Lit i false) /\ 0 <= g (Lit i true) /\
  g (Lit i false) + g (Lit i true) <= 1 / 100.
Proof.
  intros H. assert (K : group_of n f (OfVariable i) = true) by (apply Nat.ltb_lt, H).
  pose proof (group_is _ K (grouped _ K)) as E. simpl in E.
  rewrite quarter, Q2R_half in E.
  pose proof (literal_range i false H). pose proof (literal_range i true H).
  pose proof (range (Spare (OfVariable i)) K). lra.
Qed.

Lemma side_at_most j c : (j < length f)%nat -> g (Side j c) <= 11 / 100.
Proof.
  intros H. assert (K : group_of n f (OfSide j c) = true) by (apply Nat.ltb_lt, H).
  pose proof (group_is _ K (grouped _ K)) as E. simpl in E. rewrite Q2R_half in E.
  pose proof (range (Spare (OfSide j c)) K). lra.
Qed.

(** Literals as truth values: a clause's action is worth at most this. *)
Definition truth_of (i : nat) : R :=
  if (i <? n)%nat then 100 * g (Lit i true) else 0.

Definition spells (a : action) : Family.action :=
  match a with Spell b1 b2 b3 _ => Family.Spell b1 b2 b3 | _ => Family.Go end.

Lemma truth_range i : 0 <= truth_of i <= 1.
Proof.
  unfold truth_of. destruct (i <? n)%nat eqn:E; [|lra]. apply Nat.ltb_lt in E.
  pose proof (literal_pair i E). lra.
Qed.

Lemma literal_at_most l c : (variable l < n)%nat ->
  0 <= g (literal_state l c) <= truth truth_of l c / 100.
Proof.
  intros H. pose proof (literal_pair _ H). unfold truth, truth_of, literal_state.
  rewrite (proj2 (Nat.ltb_lt _ _) H). destruct (Bool.eqb (positive l) c); lra.
Qed.

Lemma value_at_most j w : nth_error f j = Some w -> 0 <= clause_value g pi (j, w) <=
  11 / 200 + 1 / 200 * spelled truth_of w (spells (pi (Clause j))).
Proof.
  intros E. split; [apply (value_range pi j w Q E)|].
  destruct (value_is g pi j w Q E)
    as (l1 & l2 & l3 & b1 & b2 & b3 & c & A & _ & S & V1 & V2 & V3 & ->).
  rewrite A. unfold spelled. simpl. rewrite S.
  pose proof (literal_at_most l1 b1 V1). pose proof (literal_at_most l2 b2 V2).
  pose proof (literal_at_most l3 b3 V3).
  assert (g (Side j c) <= 11 / 100)
    by (apply side_at_most, nth_error_Some; congruence).
  lra.
Qed.

Lemma value_small j w : nth_error f j = Some w -> 0 <= clause_value g pi (j,
  w) <= 6 / 100.
Proof.
  intros E. pose proof (value_at_most j w E) as V.
  assert (spelled truth_of w (spells (pi (Clause j))) <= 1); [|lra].
  assert (L : forall l c, truth truth_of l c <= 1).
  { intros l c. unfold truth. pose proof (truth_range (variable l)).
    destruct (Bool.eqb _ _); lra. }
  unfold spelled. destruct (spells _); try lra.
  destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try lra.
  pose proof (L l1 b1); pose proof (L l2 b2); pose proof (L l3 b3). lra.
Qed.

Lemma values_round : exists a, mean (clause_value g pi) <=
  11 / 200 + 1 / 200 * (1 - IZR (unsatisfied a f) / (3 * W)).
Proof.
  destruct (best_assignment f (fun j => spells (pi (Clause j))) n truth_of) as [a A].
  - apply T.
  - exact truth_range.
  - intros i H. unfold truth_of. rewrite (proj2 (Nat.ltb_ge _ _) H). reflexivity.
  - intros j w b1 b2 b3 E S. destruct (clause_legal p n f y pi j w Q E)
      as (c1 & c2 & c3 & c & K & L).
    rewrite K in S. injection S as <- <- <-. exact L.
  - exists a. pose proof (W0 n f T). fold W in A, H.
    assert (S : mean (fun jw => spelled truth_of (snd jw) (spells (pi (Clause (fst
      jw)))))
      <= 1 - IZR (unsatisfied a f) / (3 * W)).
    { unfold Forced.mean. fold W. apply Rmult_le_reg_r with W; [lra|].
      replace (sum (fun jw => IZR (weight (snd jw)) * spelled truth_of (snd jw)
        (spells (pi (Clause (fst jw))))) (Family.numbered f) / W * W) with
        (spelled_sum truth_of f (fun j => spells (pi (Clause j))))
        by (unfold spelled_sum; field; lra).
      replace ((1 - IZR (unsatisfied a f) / (3 * W)) * W) with
        (W - IZR (unsatisfied a f) / 3) by (field; lra).
      exact A. }
    apply Rle_trans with (mean (fun jw => 11 / 200 +
      1 / 200 * spelled truth_of (snd jw) (spells (pi (Clause (fst jw)))))).
    + apply (mean_le n f T). intros j w E. apply (value_at_most j w E).
    + rewrite mean_plus, (mean_const n f T), mean_scale. lra.
Qed.
End Pair.

(** What behind clauses is true, for any policy. *)
Lemma literal_pays l c : (variable l < n)%nat -> 0 <= pay (literal_state l c) <= 1 /
  100.
Proof.
  intros _. destruct P as ((L0 & L1) & S0 & S & _). unfold Forced.pay, literal_state.
  simpl.
  destruct (Bool.eqb _ (y _)); lra.
Qed.

Lemma value_true q j w : is_policy M q -> nth_error f j = Some w ->
  1 / 20 <= clause_value pay q (j, w) <= 11 / 200.
Proof.
  intros K E.
  destruct (value_is pay q j w K E) as (l1 & l2 & l3 & b1 & b2 & b3 & c & _ & _ & _ & V1
    & V2 & V3 & ->).
  pose proof (literal_pays l1 b1 V1). pose proof (literal_pays l2 b2 V2).
  pose proof (literal_pays l3 b3 V3).
  assert (pay (Side j c) = 1 / 10) by (unfold Forced.pay; simpl; apply tenth). lra.
Qed.

Lemma behind_true q : is_policy M q ->
  9 / 10 * floor + 1 / 200 <= behind pay q <= 9 / 10 * floor + 11 / 2000.
Proof.
  intros K. unfold Forced.behind.
  pose proof (mean_between (1 / 20) (11 / 200) (clause_value pay q)
    (fun j w => value_true q j w K)).
  assert (pay End = floor) by reflexivity. rewrite H0. lra.
Qed.

(** ** The optimum *)

Definition forced_value (u : R) : R := 66 / 1000 + 9 / 10 * floor - u / (6000 * W).

Lemma worth_bound ds g pi : feasible M ds g pi -> incl hard ds ->
  g Start <= 11 / 200 \/ g Start = 131 / 2000 + floor \/
  exists a, g Start <= forced_value (IZR (unsatisfied a f)).
Proof.
  intros F I.
  assert (H : forall d, hard_one n f d -> In d ds)
    by (intros d D; apply I, hard_iff, D).
  pose proof (start_is ds g pi F (H _ (hard_start n f))) as S.
  pose proof (end_is ds g pi F (H _ (hard_end n f))) as E.
  pose proof (rest_is ds g pi F (H _ (hard_rest n f))) as R.
  pose proof (solve_is ds g pi F (H _ (hard_solve n f))) as V.
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k| | |b1 b2 b3 c|]; try discriminate L.
  - left. rewrite S, (try_is ds g pi F k L (H _ (hard_try n f k L))),
      (group_is ds g pi F k L (H _ (hard_group n f k L))).
    destruct k; simpl; lra.
  - right. right. destruct (values_round ds g pi F) as [a A].
    { intros k K. apply H. constructor. exact K. }
    exists a. rewrite S, V. unfold Forced.behind, forced_value. rewrite E.
    pose proof (W0 n f T). fold W in H0.
    replace (IZR (unsatisfied a f) / (6000 * W)) with
      (1 / 2000 * (IZR (unsatisfied a f) / (3 * W))) by (field; lra).
    lra.
  - right. left. rewrite S, R, E. reflexivity.
Qed.

(** *** An assignment's own pair *)

Section Assignment.
Variable a : assignment.

(** The side that [b] holds absorbs the error of its literals; its copy is free. *)
Definition copy (j : nat) : bool :=
  match b (Clause j) with Spell _ _ _ c => c | _ => false end.

Definition literals_only (h : state -> R) (x : state) : R :=
  match x with Lit _ _ => h x | _ => 0 end.

Definition own_literal (x : state) : R :=
  match x with Lit i c => if Bool.eqb c (a i) then 1 / 100 else 0 | _ => 0 end.

Definition own_side (j : nat) (c : bool) : R :=
  if Bool.eqb c (copy j)
  then match nth_error f j with
       | Some w => 1 / 10 + 2 * (clause_value (literals_only pay) b (j, w) -
                                 clause_value own_literal b (j, w))
       | None => 1 / 10
       end
  else 11 / 100.

Definition own_clause (j : nat) : R :=
  match nth_error f j with
  | Some w => 11 / 200 + 1 / 200 * (if clause_true a (body w) then 1 else 2 / 3)
  | None => 0
  end.

Definition own_value (v : R) (x : state) : R :=
  match x with
  | Start => v
  | Try k => group_worth k
  | Clause j => own_clause j
  | Rest | End => floor
  | Lit _ _ => own_literal x
  | Side j c => own_side j c
  | Spare (OfVariable _) => 0
  | Spare (OfSide j c) => 11 / 100 - own_side j c
  end.

Definition own_spelling (w : weighted) (c : bool) : action :=
  match body w with
  | [l1; l2; l3] =>
      if clause_true a (body w)
      then Spell (literal_true a l1) (literal_true a l2) (literal_true a l3) c
      else Spell false false true c
  | _ => Spell false false true c
  end.

Definition own_policy (x : state) : action :=
  match x with
  | Start => Solve
  | Clause j => match nth_error f j with
                | Some w => own_spelling w (negb (copy j))
                | None => Spell false false true false
                end
  | _ => Go
  end.

Lemma own_policy_legal : is_policy M own_policy.
Proof.
  intros x S. destruct x as [|k|j| |i c|j c|k|]; try reflexivity. simpl.
  destruct (nth_error f j) as [w|]; [|reflexivity].
  unfold own_spelling. destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try reflexivity.
  destruct (clause_true a _) eqn:E; [|reflexivity].
  simpl in E. rewrite orb_false_r, orb_assoc in E. exact E.
Qed.

Lemma own_literal_is l c : own_literal (literal_state l c) =
  if Bool.eqb c (literal_true a l) then 1 / 100 else 0.
Proof.
  unfold literal_state, literal_true. simpl.
  destruct (positive l), c, (a (variable l)); reflexivity.
Qed.

Lemma own_side_range j c : (j < length f)%nat -> 9 / 100 <= own_side j c <= 11 / 100.
Proof.
  intros J. unfold own_side. destruct (Bool.eqb _ _); [|lra].
  destruct (nth_error f j) as [w|] eqn:E; [|lra].
  destruct (value_is (literals_only pay) b j w B E)
    as (l1 & l2 & l3 & b1 & b2 & b3 & d & A & _ & S & V1 & V2 & V3 & ->).
  destruct (value_is own_literal b j w B E)
    as (k1 & k2 & k3 & c1 & c2 & c3 & e & A' & _ & S' & _ & _ & _ & ->).
  rewrite A in A'. injection A' as <- <- <- <-. rewrite S in S'.
  injection S' as <- <- <-.
  rewrite !own_literal_is. simpl (literals_only _ (Side _ _)).
  simpl (own_literal (Side _ _)).
  change (literals_only pay (literal_state l1 b1)) with (pay (literal_state l1 b1)).
  change (literals_only pay (literal_state l2 b2)) with (pay (literal_state l2 b2)).
  change (literals_only pay (literal_state l3 b3)) with (pay (literal_state l3 b3)).
  pose proof (literal_pays l1 b1 V1). pose proof (literal_pays l2 b2 V2).
  pose proof (literal_pays l3 b3 V3).
  destruct (Bool.eqb b1 _), (Bool.eqb b2 _), (Bool.eqb b3 _); lra.
Qed.

Lemma own_clause_is v j w : nth_error f j = Some w ->
  clause_value (own_value v) own_policy (j, w) = own_clause j.
Proof.
  intros E. unfold clause_value, own_clause. cbn [fst snd own_policy]. rewrite E.
  destruct (three_literals n f T j w E) as (l1 & l2 & l3 & S & _).
  assert (FS : own_side j (negb (copy j)) = 11 / 100)
    by (unfold own_side; destruct (copy j); reflexivity).
  assert (L : forall l c, own_value v (literal_state l c) =
    if Bool.eqb c (literal_true a l) then 1 / 100 else 0)
    by (intros l c; rewrite <- own_literal_is; reflexivity).
  unfold own_spelling, clause_transition. rewrite S.
  destruct (clause_true a [l1; l2; l3]) eqn:K; cbn [expect fold_right fst snd];
    rewrite !L, sixth, Q2R_half; cbn [own_value]; rewrite FS.
  - rewrite !eqb_reflx. lra.
  - simpl in K. destruct (literal_true a l1), (literal_true a l2),
      (literal_true a l3); try discriminate K. simpl. lra.
Qed.

Lemma own_held v : behind (own_value v) b = behind pay b.
Proof.
  unfold Forced.behind. f_equal. f_equal. apply mean_ext. intros j w E.
  destruct (value_is (own_value v) b j w B E)
    as (l1 & l2 & l3 & b1 & b2 & b3 & c & A & _ & S & V1 & V2 & V3 & ->).
  unfold clause_value. cbn [fst snd]. rewrite A. unfold clause_transition. rewrite S.
  cbn [expect fold_right fst snd own_value].
  unfold own_side, copy, clause_value, clause_transition. cbn [fst snd].
  rewrite A, eqb_reflx, E, S. cbn [expect fold_right fst snd].
  change (own_value v (literal_state l1 b1)) with (own_literal (literal_state l1 b1)).
  change (own_value v (literal_state l2 b2)) with (own_literal (literal_state l2 b2)).
  change (own_value v (literal_state l3 b3)) with (own_literal (literal_state l3 b3)).
  change (literals_only pay (literal_state l1 b1)) with (pay (literal_state l1 b1)).
  change (literals_only pay (literal_state l2 b2)) with (pay (literal_state l2 b2)).
  change (literals_only pay (literal_state l3 b3)) with (pay (literal_state l3 b3)).
  simpl (literals_only pay (Side j c)). simpl (own_literal (Side j c)).
  replace (pay (Side j c)) with (1 / 10) by (unfold Forced.pay; simpl; rewrite tenth;
    reflexivity).
  rewrite sixth, Q2R_half. field.
Qed.

Lemma own_mean : mean (fun jw => own_clause (fst jw)) =
  11 / 200 + 1 / 200 * (1 - IZR (unsatisfied a f) / (3 * W)).
Proof.
  rewrite (mean_ext _ (fun jw => 11 / 200 + 1 / 200 *
    (if clause_true a (body (snd jw)) then 1 else 2 / 3))).
  2: { intros j w E. unfold own_clause. cbn [fst snd]. rewrite E. reflexivity. }
  rewrite mean_plus, (mean_const n f T), mean_scale. f_equal. f_equal.
  unfold Forced.mean. rewrite (sum_numbered (fun w => IZR (weight w) *
    (if clause_true a (body w) then 1 else 2 / 3)) f), sum_satisfied.
  pose proof (W0 n f T). fold W. fold W in H. field. lra.
Qed.

Lemma own_feasible ds : among ds ->
  0 <= forced_value (IZR (unsatisfied a f)) <= 1 ->
  feasible M ds (own_value (forced_value (IZR (unsatisfied a f)))) own_policy.
Proof.
  intros A V. set (v := forced_value _) in *.
  pose proof own_policy_legal as Q. destruct P as (_ & _ & _ & R0).
  assert (S : 9 / 10 * floor + 1 / 10 * mean (fun jw => own_clause (fst jw)) =
    behind (own_value v) own_policy).
  { unfold Forced.behind. cbn [own_value]. f_equal. f_equal. apply mean_ext.
    intros j w E. rewrite (own_clause_is v j w E). reflexivity. }
  apply feasible_parts; auto.
  - intros x I. destruct x as [|k|j| |i c|j c|k|]; simpl in *; try lra.
    + destruct k; simpl; lra.
    + unfold own_clause. destruct (nth_error f j); [|lra].
      destruct (clause_true _ _); lra.
    + destruct (Bool.eqb _ _); lra.
    + apply Nat.ltb_lt in I. pose proof (own_side_range j c I). lra.
    + destruct k as [i|j c]; [lra|]. simpl in I. apply Nat.ltb_lt in I.
      pose proof (own_side_range j c I). lra.
  - intros _. unfold M. rewrite start_error by exact T. cbn [own_policy own_value].
    rewrite own_mean. unfold v, forced_value.
    pose proof (W0 n f T). fold W in H. field. lra.
  - intros k K _. symmetry. destruct k as [i|j c]; simpl; rewrite ?quarter, Q2R_half.
    + destruct (a i); simpl; lra.
    + lra.
  - intros k K _. destruct k as [i|j c]; simpl; rewrite ?quarter, Q2R_half.
    + destruct (a i); simpl; lra.
    + lra.
  - intros _. apply own_held.
Qed.
End Assignment.

Lemma forced_value_range u : least_unsatisfied f u ->
  131 / 2000 + floor < forced_value (IZR u) <= 1.
Proof.
  intros L. pose proof (Optima.u_range n f u T L) as U. fold W in U.
  destruct P as (_ & _ & _ & R0). pose proof (W0 n f T). fold W in H.
  unfold forced_value.
  replace (IZR u / (6000 * W)) with (1 / 2000 * (IZR u / (3 * W))) by (field; lra).
  lra.
Qed.

(** The optimum: the hard program's, and that with one E_b beside it. *)
Theorem optimum_forced ds u : least_unsatisfied f u ->
  incl hard ds -> among ds -> optimum M ds (forced_value (IZR u)).
Proof.
  intros L I A. pose proof (forced_value_range u L) as V.
  destruct P as (_ & _ & _ & R0). split.
  - intros g pi F. destruct (worth_bound ds g pi F I) as [K|[K|[a K]]]; [lra|lra|].
    apply (Rle_trans _ _ _ K). destruct L as [_ L]. specialize (L a). apply IZR_le in L.
    unfold forced_value. pose proof (W0 n f T). fold W in H.
    assert (IZR u / (6000 * W) <= IZR (unsatisfied a f) / (6000 * W)); [|lra].
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat|]; lra.
  - destruct L as [[a Ha] _]. subst u. eexists _, _.
    split; [apply (own_feasible a ds A); lra|reflexivity].
Qed.
End Forced.
