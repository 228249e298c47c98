(** The forced family: all value functions range over [0,1] at every state, and no
    tie helps OLIVE (Theorem R). Here are the members, what errors amount to, and the
    hard program's optimum; ForcedRuns.v has the runs. Source: the toolkit's own.

    States and actions are others than Family.v's, so the notions of OLIVE's program
    are stated anew for them, in the same words. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Sums Vertex.
From Olivine Require Family Optimum Optima.
Import ListNotations.
Open Scope R_scope.

(** ** States and actions *)

(** What s0 can try: a variable, or a side of clause j, of which there are two. *)
Inductive group := OfVariable (i : nat) | OfSide (j : nat) (c : bool).

Inductive state :=
  | Start
  | Try (k : group)            (* Z_k, level 2 *)
  | Clause (j : nat)           (* C_j *)
  | Rest                       (* bottom, level 2 *)
  | Lit (i : nat) (b : bool)   (* x_i^b, level 3 *)
  | Side (j : nat) (c : bool)  (* sigma_jc *)
  | Spare (k : group)          (* z_k *)
  | End.                       (* bottom', level 3 *)

Inductive action :=
  | Enter (k : group)
  | Solve
  | Pause
  | Spell (b1 b2 b3 c : bool)  (* at a clause; 000 is not allowed *)
  | Go.

(** What level 3 pays at a true and a false literal, at z_i and at bottom'. *)
Record pays := Pays { high : Q; low : Q; spare : Q; rho : Q }.

Definition sound (p : pays) : Prop :=
  0 <= Q2R (low p) <= Q2R (high p) /\ 0 <= Q2R (spare p) /\
  Q2R (high p) + Q2R (low p) + 2 * Q2R (spare p) = 1 / 100 /\
  0 <= Q2R (rho p) < 1 / 240.

(** As few pays as can be; and all policies' values inside (0,1), the toolkit's. *)
Definition basic : pays := Pays (1 # 100) 0 0 0.
Definition inside : pays := Pays (1 # 200) (1 # 400) (1 # 800) (1 # 5000).

Lemma basic_sound : sound basic.
Proof. unfold sound. simpl. rationals. lra. Qed.

Lemma inside_sound : sound inside.
Proof. unfold sound. simpl. rationals. lra. Qed.

(** ** Members *)

Definition distribution := list (state * Q).

Record mdp := MDP {
  is_state : state -> bool;
  legal : state -> action -> bool;
  transition : state -> action -> distribution;
  reward : state -> action -> Q
}.

Definition group_of (n : nat) (f : formula) (k : group) : bool :=
  match k with OfVariable i => i <? n | OfSide j _ => j <? length f end%nat.

Definition group_transition (k : group) : distribution :=
  match k with
  | OfVariable i => [(Lit i false, 1 # 4); (Lit i true, 1 # 4); (Spare k, 1 # 2)]
  | OfSide j c => [(Side j c, 1 # 2); (Spare k, 1 # 2)]
  end.

Definition literal_state (l : literal) (b : bool) : state :=
  Lit (variable l) (Bool.eqb (positive l) b).

Definition clause_transition (j : nat) (w : weighted) (b1 b2 b3 c : bool)
    : distribution :=
  match body w with
  | [l1; l2; l3] =>
      [(literal_state l1 b1, 1 # 6); (literal_state l2 b2, 1 # 6);
       (literal_state l3 b3, 1 # 6); (Side j c, 1 # 2)]
  | _ => []
  end.

Definition solve_transition (f : formula) : distribution :=
  (Rest, 9 # 10) ::
  map (fun jw => (Clause (fst jw),
                  (1 # 10) * (weight (snd jw) # Z.to_pos (total_weight f)))%Q)
      (Family.numbered f).

Definition member (p : pays) (n : nat) (f : formula) (y : assignment) : mdp :=
  {| is_state x :=
       match x with
       | Start | Rest | End => true
       | Try k | Spare k => group_of n f k
       | Clause j | Side j _ => j <? length f
       | Lit i _ => i <? n
       end%nat;
     legal x a :=
       match x, a with
       | Start, Enter k => group_of n f k
       | Start, Solve | Start, Pause => true
       | Clause _, Spell b1 b2 b3 _ => b1 || b2 || b3
       | Start, Go | Clause _, Go => false
       | _, Go => true
       | _, _ => false
       end;
     transition x a :=
       match x, a with
       | Start, Enter k => [(Try k, 1%Q)]
       | Start, Solve => solve_transition f
       | Start, Pause => [(Rest, 1%Q)]
       | Try k, Go => group_transition k
       | Clause j, Spell b1 b2 b3 c =>
           match nth_error f j with
           | Some w => clause_transition j w b1 b2 b3 c
           | None => []
           end
       | Rest, Go => [(End, 1%Q)]
       | _, _ => []
       end;
     reward x a :=
       match x, a with
       | Start, Solve => 6 # 100
       | Start, Pause => 131 # 2000
       | Lit i b, Go => if Bool.eqb b (y i) then high p else low p
       | Side _ _, Go => 1 # 10
       | Spare (OfVariable _), Go => spare p
       | Spare (OfSide _ _), Go => 1 # 100
       | End, Go => rho p
       | _, _ => 0%Q
       end |}.

(** ** OLIVE's program, with tolerance 0 *)

Definition expect (d : distribution) (h : state -> R) : R :=
  fold_right (fun xq total => Q2R (snd xq) * h (fst xq) + total) 0 d.

Definition bellman_error (M : mdp) (g : state -> R) (pi : state -> action)
    (d : distribution) : R :=
  expect d (fun x =>
    g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g)).

(** All functions with values in [0,1]. *)
Definition in_range (M : mdp) (g : state -> R) : Prop :=
  forall x, is_state M x = true -> 0 <= g x <= 1.

Definition is_policy (M : mdp) (pi : state -> action) : Prop :=
  forall x, is_state M x = true -> legal M x (pi x) = true.

Definition feasible (M : mdp) (constraints : list distribution)
    (g : state -> R) (pi : state -> action) : Prop :=
  in_range M g /\ is_policy M pi /\
  forall d, In d constraints -> bellman_error M g pi d = 0.

Definition optimum (M : mdp) (constraints : list distribution) (v : R) : Prop :=
  (forall g pi, feasible M constraints g pi -> g Start <= v) /\
  (exists g pi, feasible M constraints g pi /\ g Start = v).

Definition point (x : state) : distribution := [(x, 1%Q)].

Fixpoint roll_in (M : mdp) (pi : state -> action) (h : nat) : distribution :=
  match h with
  | O => []
  | S O => point Start
  | S k =>
      flat_map (fun xq => map (fun yr => (fst yr, (snd xq * snd yr)%Q))
                              (transition M (fst xq) (pi (fst xq))))
               (roll_in M pi k)
  end.

Definition groups (n : nat) (f : formula) : list group :=
  map OfVariable (seq 0 n) ++
  flat_map (fun j => [OfSide j false; OfSide j true]) (seq 0 (length f)).

(** The states that [solve] leads to, as a roll-in lists them. *)
Definition behind_solve (f : formula) : distribution :=
  map (fun xq => (fst xq, (1 * snd xq)%Q)) (solve_transition f).

Definition hard_program (n : nat) (f : formula) : list distribution :=
  [point Start; behind_solve f; point Rest; point End] ++
  map (fun k => point (Try k)) (groups n f) ++ map group_transition (groups n f).

(** What lies behind clauses at level 3: the only other distributions there are. *)
Definition behind_clauses (M : mdp) (d : distribution) : Prop :=
  exists pi, is_policy M pi /\ pi Start = Solve /\ d = roll_in M pi 3.

(** ** Expectations *)

Lemma expect_app d e h : expect (d ++ e) h = expect d h + expect e h.
Proof. unfold expect. induction d as [|x d IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Lemma expect_point x h : expect (point x) h = h x.
Proof. simpl. rewrite Q2R_1. ring. Qed.

Lemma expect_times q d h :
  expect (map (fun xr => (fst xr, (q * snd xr)%Q)) d) h = Q2R q * expect d h.
Proof.
  unfold expect. induction d as [|[x r] d IH]; simpl; [ring|].
  rewrite IH, Q2R_mult. ring.
Qed.

(** A step further is an expectation over the states before it. *)
Lemma roll_in_next M pi k h : (1 <= k)%nat ->
  expect (roll_in M pi (S k)) h =
  expect (roll_in M pi k) (fun x => expect (transition M x (pi x)) h).
Proof.
  intros K. destruct k as [|k]; [lia|].
  change (roll_in M pi (S (S k))) with
    (flat_map (fun xq => map (fun yr => (fst yr, (snd xq * snd yr)%Q))
                             (transition M (fst xq) (pi (fst xq))))
              (roll_in M pi (S k))).
  generalize (roll_in M pi (S k)) as d. clear K k.
  induction d as [|[x q] d IH]; [reflexivity|].
  change (flat_map ?t ((x, q) :: d)) with (t (x, q) ++ flat_map t d).
  rewrite expect_app, IH. cbn [fst snd]. rewrite expect_times. reflexivity.
Qed.

Section Forced.
Variables (p : pays) (n : nat) (f : formula) (y : assignment).
Hypothesis P : sound p.
Hypothesis T : Family.three_sat_form n f.

Let M := member p n f y.
Let W := IZR (total_weight f).
Let hard := hard_program n f.

Lemma W0 : 0 < W.
Proof. exact (Optimum.W_above_0 n f T). Qed.

(** The mean over the clauses, by weight. *)
Definition mean (h : nat * weighted -> R) : R :=
  sum (fun jw => IZR (weight (snd jw)) * h jw) (Family.numbered f) / W.

Lemma weight_nonnegative j w : In (j, w) (Family.numbered f) -> 0 <= IZR (weight w).
Proof.
  intros I. apply in_numbered, nth_error_In in I. destruct T as (_ & Q & _).
  apply IZR_le. pose proof (Q w I). lia.
Qed.

Lemma mean_le h k :
  (forall j w, nth_error f j = Some w -> h (j, w) <= k (j, w)) -> mean h <= mean k.
Proof.
  intros H. unfold mean.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; exact W0|].
  apply sum_le. intros [j w] I. apply Rmult_le_compat_l.
  - apply (weight_nonnegative j w I).
  - apply H, in_numbered, I.
Qed.

Lemma mean_ext h k :
  (forall j w, nth_error f j = Some w -> h (j, w) = k (j, w)) -> mean h = mean k.
Proof.
  intros H. apply Rle_antisym; apply mean_le; intros j w E; rewrite (H j w E);
    apply Rle_refl.
Qed.

Lemma mean_const b : mean (fun _ => b) = b.
Proof. unfold mean. rewrite sum_weights. pose proof W0. fold W. field. lra. Qed.

Lemma mean_scale q h : mean (fun jw => q * h jw) = q * mean h.
Proof.
  unfold mean, Rdiv. rewrite <- Rmult_assoc. f_equal. rewrite <- sum_scale.
  apply sum_ext. intros. ring.
Qed.

Lemma mean_plus h k : mean (fun jw => h jw + k jw) = mean h + mean k.
Proof.
  unfold mean, Rdiv. rewrite <- Rmult_plus_distr_r. f_equal. rewrite <- sum_plus.
  apply sum_ext. intros. ring.
Qed.

Lemma mean_minus h k : mean (fun jw => h jw - k jw) = mean h - mean k.
Proof.
  replace (mean h - mean k) with (mean h + -1 * mean k) by ring.
  rewrite <- mean_scale, <- mean_plus. apply mean_ext. intros. ring.
Qed.

Lemma mean_between lo hi h :
  (forall j w, nth_error f j = Some w -> lo <= h (j, w) <= hi) -> lo <= mean h <= hi.
Proof.
  intros H. pose proof (mean_le (fun _ => lo) h) as A.
  pose proof (mean_le h (fun _ => hi)) as B. rewrite mean_const in A, B.
  split; [apply A|apply B]; intros j w E; apply (H j w E).
Qed.

Lemma expect_solve h : expect (solve_transition f) h =
  9 / 10 * h Rest + 1 / 10 * mean (fun jw => h (Clause (fst jw))).
Proof.
  unfold solve_transition. cbn [expect fold_right fst snd].
  replace (Q2R (9 # 10)) with (9 / 10) by (rationals; lra). f_equal.
  change (fold_right (fun xq total => Q2R (snd xq) * h (fst xq) + total) 0) with
    (sum (fun xq : state * Q => Q2R (snd xq) * h (fst xq))).
  rewrite sum_map. unfold mean, Rdiv. rewrite Rmult_1_l.
  rewrite (Rmult_comm _ (/ W)), <- Rmult_assoc, <- sum_scale.
  apply sum_ext. intros [j w] _. cbn [fst snd].
  rewrite Q2R_mult. unfold Q2R. cbn [Qnum Qden].
  rewrite Z2Pos.id by exact (Optimum.total_above_0 n f T). pose proof W0. fold W. field.
  lra.
Qed.

(** ** What errors amount to *)

(** What a state of level 3 pays, whatever the policy. *)
Definition pay (x : state) : R := Q2R (reward M x Go).

(** The expectation of [h] behind clause j, by the action that [pi] takes there. *)
Definition clause_value (h : state -> R) (pi : state -> action) (jw : nat * weighted)
    : R :=
  match pi (Clause (fst jw)) with
  | Spell b1 b2 b3 c => expect (clause_transition (fst jw) (snd jw) b1 b2 b3 c) h
  | _ => 0
  end.

Lemma three_literals j w : nth_error f j = Some w -> exists l1 l2 l3,
  body w = [l1; l2; l3] /\
  (variable l1 < n)%nat /\ (variable l2 < n)%nat /\ (variable l3 < n)%nat.
Proof.
  intros E. apply (Optimum.three_literals n f T w (nth_error_In _ _ E)).
Qed.

Lemma sixth : Q2R (1 # 6) = 1 / 6.
Proof. rationals. lra. Qed.
Lemma quarter : Q2R (1 # 4) = 1 / 4.
Proof. rationals. lra. Qed.
Lemma tenth : Q2R (1 # 10) = 1 / 10.
Proof. rationals. lra. Qed.
Lemma hundredth : Q2R (1 # 100) = 1 / 100.
Proof. rationals. lra. Qed.
Lemma solve_pays : Q2R (6 # 100) = 6 / 100.
Proof. rationals. lra. Qed.
Lemma pause_pays : Q2R (131 # 2000) = 131 / 2000.
Proof. rationals. lra. Qed.

Lemma clause_legal pi j w : is_policy M pi -> nth_error f j = Some w ->
  exists b1 b2 b3 c, pi (Clause j) = Spell b1 b2 b3 c /\ b1 || b2 || b3 = true.
Proof.
  intros Q E. specialize (Q (Clause j)). simpl in Q.
  rewrite (proj2 (Nat.ltb_lt j (length f))) in Q
    by (apply nth_error_Some; congruence).
  specialize (Q eq_refl). destruct (pi (Clause j)) as [| | |b1 b2 b3 c|];
    try discriminate Q. exists b1, b2, b3, c. split; [reflexivity|exact Q].
Qed.

(** Three literals and a side. *)
Lemma clause_value_is h pi j w : is_policy M pi -> nth_error f j = Some w ->
  exists l1 l2 l3 b1 b2 b3 c, pi (Clause j) = Spell b1 b2 b3 c /\
    b1 || b2 || b3 = true /\ body w = [l1; l2; l3] /\
    (variable l1 < n)%nat /\ (variable l2 < n)%nat /\ (variable l3 < n)%nat /\
    clause_value h pi (j, w) =
      (h (literal_state l1 b1) + h (literal_state l2 b2) + h (literal_state l3 b3)) / 6
      + h (Side j c) / 2.
Proof.
  intros Q E. destruct (clause_legal pi j w Q E) as (b1 & b2 & b3 & c & A & L).
  destruct (three_literals j w E) as (l1 & l2 & l3 & S & V1 & V2 & V3).
  exists l1, l2, l3, b1, b2, b3, c. repeat split; auto.
  unfold clause_value, clause_transition. simpl. rewrite A, S. simpl.
  rewrite sixth, Q2R_half. field.
Qed.

Lemma clause_value_minus h k pi jw :
  clause_value (fun x => h x - k x) pi jw = clause_value h pi jw - clause_value k pi jw.
Proof.
  unfold clause_value. destruct (pi _); try ring.
  unfold expect. induction (clause_transition _ _ _ _ _ _) as [|x d IH]; simpl; lra.
Qed.

Lemma goes pi x : is_policy M pi -> is_state M x = true ->
  match x with Try _ | Rest | Lit _ _ | Side _ _ | Spare _ | End => pi x = Go
             | _ => True end.
Proof.
  intros Q I. specialize (Q x I).
  destruct x; auto; destruct (pi _); try discriminate Q; reflexivity.
Qed.

Lemma rest_error g pi : is_policy M pi ->
  bellman_error M g pi (point Rest) = g Rest - g End.
Proof.
  intros Q. unfold bellman_error. rewrite expect_point.
  rewrite (goes pi Rest Q eq_refl). simpl. rewrite Q2R_0, Q2R_1. ring.
Qed.

Lemma end_error g pi : is_policy M pi ->
  bellman_error M g pi (point End) = g End - Q2R (rho p).
Proof.
  intros Q. unfold bellman_error. rewrite expect_point.
  rewrite (goes pi End Q eq_refl). simpl. ring.
Qed.

Lemma try_error g pi k : is_policy M pi -> group_of n f k = true ->
  bellman_error M g pi (point (Try k)) = g (Try k) - expect (group_transition k) g.
Proof.
  intros Q K. unfold bellman_error. rewrite expect_point.
  rewrite (goes pi (Try k) Q K). simpl. rewrite Q2R_0. ring.
Qed.

(** What a group is truly worth. *)
Definition group_worth (k : group) : R :=
  match k with OfVariable _ => 1 / 400 | OfSide _ _ => 11 / 200 end.

Lemma group_worth_is k : expect (group_transition k) pay = group_worth k.
Proof.
  destruct P as (_ & _ & S & _). destruct k as [i|j c]; unfold pay; simpl.
  - rewrite quarter, Q2R_half. destruct (y i); simpl; lra.
  - rewrite Q2R_half, tenth, hundredth. lra.
Qed.

Lemma group_error g pi k : is_policy M pi -> group_of n f k = true ->
  bellman_error M g pi (group_transition k) =
  expect (group_transition k) g - group_worth k.
Proof.
  intros Q K. rewrite <- group_worth_is.
  assert (G : forall x, is_state M x = true ->
    match x with Lit _ _ | Side _ _ | Spare _ => True | _ => False end ->
    g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g) = g x - pay x).
  { intros x I L. pose proof (goes pi x Q I) as A.
    destruct x; try destruct L; rewrite A; unfold pay; simpl; ring. }
  unfold bellman_error. destruct k as [i|j c];
    cbn [group_transition expect fold_right fst snd];
    rewrite !G by (exact K || exact Logic.I); ring.
Qed.

Lemma start_error g pi : bellman_error M g pi (point Start) = g Start -
  match pi Start with
  | Enter k => g (Try k)
  | Solve => 6 / 100 + (9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))))
  | Pause => 131 / 2000 + g Rest
  | _ => 0
  end.
Proof.
  unfold bellman_error. rewrite expect_point. cbn [M member reward transition].
  destruct (pi Start); rewrite ?expect_solve, ?solve_pays, ?pause_pays; simpl;
    rewrite ?Q2R_0, ?Q2R_1; ring.
Qed.

(** What the promise amounts to at level 3 behind [solve]. *)
Definition behind (h : state -> R) (pi : state -> action) : R :=
  9 / 10 * h End + 1 / 10 * mean (clause_value h pi).

Lemma behind_minus h k pi :
  behind (fun x => h x - k x) pi = behind h pi - behind k pi.
Proof.
  unfold behind. rewrite (mean_ext _ (fun jw => clause_value h pi jw - clause_value k pi
    jw)).
  - rewrite mean_minus. ring.
  - intros. apply clause_value_minus.
Qed.

Lemma expect_behind_solve h : expect (behind_solve f) h =
  9 / 10 * h Rest + 1 / 10 * mean (fun jw => h (Clause (fst jw))).
Proof. unfold behind_solve. rewrite expect_times, Q2R_1, expect_solve. ring. Qed.

Lemma solve_rolls_in pi : pi Start = Solve -> roll_in M pi 2 = behind_solve f.
Proof. intros S. simpl. rewrite S, app_nil_r. reflexivity. Qed.

Lemma clause_step g pi j w : nth_error f j = Some w -> is_policy M pi ->
  Q2R (reward M (Clause j) (pi (Clause j))) + expect (transition M (Clause j) (pi
    (Clause j))) g
  = clause_value g pi (j, w).
Proof.
  intros E Q. destruct (clause_legal pi j w Q E) as (b1 & b2 & b3 & c & A & _).
  unfold clause_value. simpl. rewrite A, E, Q2R_0. ring.
Qed.

Lemma solve_level_2 g pi : is_policy M pi ->
  bellman_error M g pi (behind_solve f) =
  9 / 10 * g Rest + 1 / 10 * mean (fun jw => g (Clause (fst jw))) - behind g pi.
Proof.
  intros Q. unfold bellman_error. rewrite expect_behind_solve.
  rewrite (goes pi Rest Q eq_refl). simpl (reward M Rest Go).
  simpl (transition M Rest Go).
  rewrite (mean_ext _ (fun jw => g (Clause (fst jw)) - clause_value g pi jw)).
  - rewrite mean_minus. unfold behind. simpl. rewrite Q2R_0, Q2R_1. ring.
  - intros j w E. cbn [fst]. rewrite (clause_step g pi j w E Q). reflexivity.
Qed.

Lemma expect_behind_clauses h pi : is_policy M pi -> pi Start = Solve ->
  expect (roll_in M pi 3) h = behind h pi.
Proof.
  intros Q S. rewrite roll_in_next by lia. rewrite (solve_rolls_in pi S).
  rewrite expect_behind_solve, (goes pi Rest Q eq_refl). unfold behind.
  simpl (transition M Rest Go).
  f_equal.
  - simpl. rewrite Q2R_1. ring.
  - f_equal. apply mean_ext. intros j w E. cbn [fst].
    destruct (clause_legal pi j w Q E) as (b1 & b2 & b3 & c & A & _).
    unfold clause_value. simpl. rewrite A, E. reflexivity.
Qed.

(** An E_b's error does not depend on the policy that it is measured for. *)
Lemma behind_error g pi b : is_policy M pi -> is_policy M b -> b Start = Solve ->
  bellman_error M g pi (roll_in M b 3) = behind g b - behind pay b.
Proof.
  intros Q B S. rewrite <- behind_minus. unfold bellman_error.
  rewrite (expect_behind_clauses _ b B S).
  assert (G : forall x, is_state M x = true ->
    match x with Lit _ _ | Side _ _ | End => True | _ => False end ->
    g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g) = g x - pay x).
  { intros x I L. pose proof (goes pi x Q I) as A.
    destruct x; try destruct L; rewrite A; unfold pay; simpl; ring. }
  unfold behind. rewrite (G End eq_refl Logic.I). f_equal. f_equal.
  apply mean_ext. intros j w E.
  assert (J : (j < length f)%nat) by (apply nth_error_Some; congruence).
  unfold clause_value. cbn [fst snd]. destruct (b (Clause j)); try reflexivity.
  destruct (three_literals j w E) as (l1 & l2 & l3 & K & V1 & V2 & V3).
  unfold clause_transition, literal_state. rewrite K. cbn [expect fold_right fst snd].
  rewrite !G; try exact Logic.I; try reflexivity; simpl; apply Nat.ltb_lt; assumption.
Qed.
End Forced.
