(** The way back: a feasible pair promises an assignment.

    In [reduction/witness.py] the assignment is computed; here it exists, for
    every feasible pair with real values. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima.
Open Scope R_scope.

Section Back.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.
Let W := IZR (total_weight f).

Definition hard_feasible (c : construction) (g : state -> R) (pi : state -> action) : Prop :=
  feasible c (member c n f y) (hard_program c n f) g pi.

(** If s0 takes [solve], the assignment leaves no more than the loss says. *)
Theorem back_general c g pi : sound c -> hard_feasible c g pi -> pi Start = Solve ->
  exists a, IZR (unsatisfied a f) <=
    3 * W * (Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) - g Start) /
    (Q2R (share c) * Q2R (top c)).
Proof.
  intros C F S. destruct (solve_rounds c n f y C T g pi F S) as [a Ha]. exists a.
  fold W in Ha. pose proof (W_above_0 n f T) as W0. fold W in W0.
  pose proof (share_positive c). pose proof (top_positive c C).
  assert (P : 0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat; assumption).
  apply Rmult_le_reg_r with (Q2R (share c) * Q2R (top c) / (3 * W)).
  - apply Rdiv_lt_0_compat; lra.
  - replace (3 * W * (Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) - g Start) /
      (Q2R (share c) * Q2R (top c)) * (Q2R (share c) * Q2R (top c) / (3 * W)))
      with (Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) - g Start)
      by (field; lra).
    replace (IZR (unsatisfied a f) * (Q2R (share c) * Q2R (top c) / (3 * W))) with
      (Q2R (share c) * Q2R (top c) * (IZR (unsatisfied a f) / (3 * W)))
      by (field; lra).
    lra.
Qed.

(** A pair worth more than [try C_j] takes [solve]. *)
Lemma takes_solve c g pi : sound c -> hard_feasible c g pi ->
  Q2R (clause_reward c) + Q2R (top c) < g Start ->
  Q2R (variable_reward c) + Q2R (top c) / 2 < g Start -> pi Start = Solve.
Proof.
  intros C F V X. pose proof (proj1 (proj2 F) Start eq_refl) as A.
  destruct (pi Start) as [i | j | | | |] eqn:S; try discriminate A; [| |reflexivity].
  - pose proof (try_variable_value c n f y T g pi F i S). lra.
  - pose proof (try_clause_at_most c n f y C T g pi F j S). lra.
Qed.

Theorem back_paper p g pi : 0 < Q2R p <= 1 -> hard_feasible (paper p) g pi ->
  pi Start = Solve -> exists a, IZR (unsatisfied a f) <= 3 * W * (1 - g Start).
Proof.
  intros P F S. destruct (back_general _ g pi (paper_sound p P) F S) as [a Ha].
  exists a. revert Ha. unfold share. simpl. rewrite Q2R_0, Q2R_1.
  replace (3 * W * (0 + 1 * 1 - g Start) / (1 * 1)) with (3 * W * (1 - g Start))
    by field. auto.
Qed.

Theorem back_normalized p g pi : 0 < Q2R p < 1 -> hard_feasible (normalized p) g pi ->
  pi Start = Solve ->
  exists a, IZR (unsatisfied a f) <= 3 * W * (1 - g Start) / (1 - Q2R p).
Proof.
  intros P F S. destruct (back_general _ g pi (normalized_sound p P) F S) as [a Ha].
  exists a. revert Ha. unfold share. simpl. rewrite Q2R_minus, Q2R_1.
  replace (3 * W * (Q2R p + 1 * (1 - Q2R p) - g Start) / (1 * (1 - Q2R p)))
    with (3 * W * (1 - g Start) / (1 - Q2R p)) by (field; lra). auto.
Qed.

Theorem back_all_levels p g pi : 0 < Q2R p < 1 -> hard_feasible (all_levels p) g pi ->
  pi Start = Solve ->
  exists a, IZR (unsatisfied a f) <= 3 * W * (1 - g Start) / (1 - Q2R p).
Proof.
  intros P F S. destruct (back_general _ g pi (all_levels_sound p P) F S) as [a Ha].
  exists a. revert Ha. unfold share. simpl. rewrite Q2R_minus, Q2R_1.
  replace (3 * W * (Q2R p + 1 * (1 - Q2R p) - g Start) / (1 * (1 - Q2R p)))
    with (3 * W * (1 - g Start) / (1 - Q2R p)) by (field; lra). auto.
Qed.

Theorem back_strict g pi : hard_feasible strict g pi -> pi Start = Solve ->
  exists a, IZR (unsatisfied a f) <= 60 * W * (3 / 20 - g Start).
Proof.
  intros F S. destruct (back_general _ g pi strict_sound F S) as [a Ha].
  exists a. revert Ha. unfold share. simpl. rewrite Q2R_half.
  replace (Q2R (1 # 10)) with (1 / 10) by (rationals; lra).
  replace (3 * W * (1 / 10 + 1 / 2 * (1 / 10) - g Start) / (1 / 2 * (1 / 10)))
    with (60 * W * (3 / 20 - g Start)) by field. auto.
Qed.

(** Value 1 promises a satisfying assignment, whatever s0 takes. *)
Theorem back_satisfying c g pi : sound c -> hard_feasible c g pi ->
  Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) = 1 ->
  Q2R (clause_reward c) + Q2R (top c) < 1 ->
  Q2R (variable_reward c) + Q2R (top c) / 2 < 1 ->
  g Start = 1 -> satisfiable f.
Proof.
  intros C F V K X G.
  assert (S : pi Start = Solve) by (apply (takes_solve c g pi C F); lra).
  destruct (back_general c g pi C F S) as [a Ha]. rewrite V, G in Ha.
  unfold Rdiv in Ha. rewrite Rminus_diag_eq, Rmult_0_r, Rmult_0_l in Ha by reflexivity.
  apply le_IZR in Ha. pose proof T as (_ & P & _).
  pose proof (unsatisfied_nonnegative a f P).
  apply (satisfiable_iff f 0 P); [|reflexivity]. split.
  - exists a. lia.
  - intros b. apply unsatisfied_nonnegative, P.
Qed.

Corollary back_paper_satisfying p g pi : 0 < Q2R p <= 1 ->
  hard_feasible (paper p) g pi -> g Start = 1 -> satisfiable f.
Proof.
  intros P F. apply (back_satisfying _ g pi (paper_sound p P) F);
    simpl; unfold share; simpl; rationals; lra.
Qed.

Corollary back_normalized_satisfying p g pi : 0 < Q2R p < 1 ->
  hard_feasible (normalized p) g pi -> g Start = 1 -> satisfiable f.
Proof.
  intros P F. apply (back_satisfying _ g pi (normalized_sound p P) F);
    simpl; unfold share; simpl; rationals; lra.
Qed.
End Back.
