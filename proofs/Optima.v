(** Theorem O for the variants, and what it says of satisfiability.

    [u] is the least weight of unsatisfied clauses and W the total weight; both
    of a formula in 3-SAT form. The member y is any. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Brute.
Open Scope R_scope.

Definition hard_optimum (c : construction) (n : nat) (f : formula) (y : assignment)
    (v : R) : Prop :=
  optimum c (member c n f y) (hard_program c n f) v.

(** An optimum is unique. *)
Lemma optimum_unique c M constraints v w :
  optimum c M constraints v -> optimum c M constraints w -> v = w.
Proof.
  intros [Lv (g & pi & F & <-)] [Lw (h & rho & G & <-)].
  apply Rle_antisym; [apply (Lw g pi F)|apply (Lv h rho G)].
Qed.

Lemma Rmax_Rmin a b : Rmax (1 - a) (1 - b) = 1 - Rmin a b.
Proof. unfold Rmax, Rmin. destruct (Rle_dec _ _), (Rle_dec a b); lra. Qed.

(** ** The variants are sound constructions *)

Ltac sound_numbers :=
  constructor; intros; simpl in *; try discriminate;
  unfold share, unit_range; simpl; rationals; lra.

Lemma paper_sound p : 0 < Q2R p <= 1 -> sound (paper p).
Proof. intros P. sound_numbers. Qed.

Lemma normalized_sound p : 0 < Q2R p < 1 -> sound (normalized p).
Proof. intros P. sound_numbers. Qed.

Lemma gap_sound : sound gap.
Proof. apply normalized_sound. rationals. lra. Qed.

Lemma all_levels_sound p : 0 < Q2R p < 1 -> sound (all_levels p).
Proof. intros P. sound_numbers. Qed.

Lemma strict_sound : sound strict.
Proof. sound_numbers. Qed.

(** ** Theorem O *)

Section TheoremO.
Variables (n : nat) (f : formula) (y : assignment) (u : Z).
Hypothesis T : three_sat_form n f.
Hypothesis L : least_unsatisfied f u.

Let W := IZR (total_weight f).

Let W_positive : 0 < W := W_above_0 n f T.

Theorem optimum_paper p : 0 < Q2R p <= 1 ->
  hard_optimum (paper p) n f y (1 - Rmin (IZR u / (3 * W)) (Q2R p)).
Proof.
  intros P. pose proof (optimum_general _ n f y (paper_sound p P) T u L) as O.
  unfold solve_value in O. fold W in O. rewrite <- Rmax_Rmin.
  replace (1 - IZR u / (3 * W)) with (Q2R (solve_reward (paper p)) +
    Q2R (share (paper p)) * Q2R (top (paper p)) * (1 - IZR u / (3 * W)))
    by (simpl; unfold share; simpl; rewrite Q2R_0, Q2R_1; ring).
  replace (1 - Q2R p) with (Q2R (clause_reward (paper p)) + Q2R (top (paper p)))
    by (simpl; rewrite Q2R_1, Q2R_opp; ring).
  exact O.
Qed.

(** One value serves every layered variant with penalty p. *)
Lemma layered_value p :
  Rmax (Q2R p + Q2R 1 * Q2R (1 - p) * (1 - IZR u / (3 * W)))
       (Q2R 0 + Q2R (1 - p)) =
  1 - Rmin ((1 - Q2R p) * IZR u / (3 * W)) (Q2R p).
Proof.
  rewrite <- Rmax_Rmin, Q2R_minus, Q2R_0, Q2R_1. f_equal; field; lra.
Qed.

Theorem optimum_normalized p : 0 < Q2R p < 1 ->
  hard_optimum (normalized p) n f y
    (1 - Rmin ((1 - Q2R p) * IZR u / (3 * W)) (Q2R p)).
Proof.
  intros P. pose proof (optimum_general _ n f y (normalized_sound p P) T u L) as O.
  rewrite <- layered_value. exact O.
Qed.

Theorem optimum_all_levels p : 0 < Q2R p < 1 ->
  hard_optimum (all_levels p) n f y
    (1 - Rmin ((1 - Q2R p) * IZR u / (3 * W)) (Q2R p)).
Proof.
  intros P. pose proof (optimum_general _ n f y (all_levels_sound p P) T u L) as O.
  rewrite <- layered_value. exact O.
Qed.

Lemma u_range : 0 <= IZR u / (3 * W) <= 1 / 6.
Proof.
  assert (N : 0 <= IZR u).
  { apply IZR_le. pose proof L as [[a U0] _]. rewrite <- U0.
    apply unsatisfied_nonnegative, (proj1 (proj2 T)). }
  assert (H : 2 * IZR u <= W).
  { unfold W. rewrite <- mult_IZR. apply IZR_le. pose proof T as (_ & P & B).
    apply least_at_most_half; [exact P| |exact L]. intros w I E.
    destruct (B w I) as [K _]. rewrite E in K. discriminate K. }
  split.
  - apply Rmult_le_pos; [exact N|]. apply Rlt_le, Rinv_0_lt_compat. lra.
  - apply Rmult_le_reg_r with (3 * W); [lra|].
    unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** An affine image of MaxSAT: the penalty never caps it. *)
Theorem optimum_gap : hard_optimum gap n f y (1 - IZR u / (4 * W)).
Proof.
  assert (P : 0 < Q2R (1 # 4) < 1) by (rationals; lra).
  pose proof (optimum_normalized _ P) as O.
  replace (1 - IZR u / (4 * W)) with
    (1 - Rmin ((1 - Q2R (1 # 4)) * IZR u / (3 * W)) (Q2R (1 # 4))).
  - exact O.
  - pose proof u_range.
    replace (Q2R (1 # 4)) with (1 / 4) by (rationals; lra).
    replace ((1 - 1 / 4) * IZR u / (3 * W)) with (3 / 4 * (IZR u / (3 * W)))
      by (field; lra).
    rewrite Rmin_left by lra. field. lra.
Qed.

(** LEVELS.md's closed form: [try C_j] and [try x_i] are never as good. *)
Theorem optimum_strict :
  hard_optimum strict n f y (1 / 10 + 1 / 20 * (1 - IZR u / (3 * W))).
Proof.
  pose proof (optimum_general _ n f y strict_sound T u L) as O.
  replace (1 / 10 + 1 / 20 * (1 - IZR u / (3 * W))) with
    (Rmax (solve_value strict f (IZR u))
          (Q2R (clause_reward strict) + Q2R (top strict))).
  - exact O.
  - unfold solve_value, share. fold W. simpl. pose proof u_range.
    replace (Q2R (1 # 10)) with (1 / 10) by (rationals; lra).
    rewrite Q2R_half, Q2R_0. rewrite Rmax_left; lra.
Qed.

(** ** Satisfiable exactly if the optimum is 1 *)

Lemma loss_zero q p : 0 < q -> 0 < p ->
  (satisfiable f <-> 1 - Rmin (q * IZR u / (3 * W)) p = 1).
Proof.
  intros Q P. rewrite (satisfiable_iff f u (proj1 (proj2 T)) L). pose proof u_range.
  replace (q * IZR u / (3 * W)) with (q * (IZR u / (3 * W))) by (field; lra).
  split.
  - intros E. rewrite E. unfold Rdiv. rewrite Rmult_0_l, Rmult_0_r, Rmin_left; lra.
  - intros E. destruct (Z.eq_dec u 0) as [|N]; [assumption|exfalso].
    assert (U : 0 < IZR u / (3 * W)).
    { apply Rdiv_lt_0_compat; [|lra]. apply IZR_lt.
      assert (0 <= u)%Z.
      { pose proof L as [[a U0] _]. rewrite <- U0.
        apply unsatisfied_nonnegative, (proj1 (proj2 T)). }
      lia. }
    assert (0 < q * (IZR u / (3 * W))) by (apply Rmult_lt_0_compat; lra).
    revert E. unfold Rmin. destruct (Rle_dec _ _); lra.
Qed.
End TheoremO.

Section Decides.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Lemma least_exists : least_unsatisfied f (least n f).
Proof.
  pose proof T as (_ & P & B). apply least_correct; [exact P|].
  intros w l I. apply (B w I).
Qed.

Lemma decides c q p : 0 < q -> 0 < p ->
  hard_optimum c n f y
    (1 - Rmin (q * IZR (least n f) / (3 * IZR (total_weight f))) p) ->
  (hard_optimum c n f y 1 <-> satisfiable f).
Proof.
  intros Q P O. rewrite (loss_zero n f _ T least_exists q p Q P). split.
  - intros H. exact (optimum_unique _ _ _ _ _ O H).
  - intros E. rewrite E in O. exact O.
Qed.

Theorem paper_decides p : 0 < Q2R p <= 1 ->
  (hard_optimum (paper p) n f y 1 <-> satisfiable f).
Proof.
  intros P. apply (decides _ 1 (Q2R p)); [lra|lra|].
  rewrite Rmult_1_l. apply optimum_paper; (assumption || apply least_exists).
Qed.

Theorem normalized_decides p : 0 < Q2R p < 1 ->
  (hard_optimum (normalized p) n f y 1 <-> satisfiable f).
Proof.
  intros P. apply (decides _ (1 - Q2R p) (Q2R p)); [lra|lra|].
  apply optimum_normalized; (assumption || apply least_exists).
Qed.

Theorem gap_decides : hard_optimum gap n f y 1 <-> satisfiable f.
Proof. apply normalized_decides. rationals. lra. Qed.

Theorem all_levels_decides p : 0 < Q2R p < 1 ->
  (hard_optimum (all_levels p) n f y 1 <-> satisfiable f).
Proof.
  intros P. apply (decides _ (1 - Q2R p) (Q2R p)); [lra|lra|].
  apply optimum_all_levels; (assumption || apply least_exists).
Qed.
End Decides.
