(** Statements that look like those proved, and are false: each is refuted by a
    formula, so no proof of it can exist. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Brute Tolerance.
Import ListNotations.
Open Scope R_scope.

(** (z z z)(-z -z -z), with weights [v] and [w]: one clause is always false. *)
Definition contradiction (v w : Z) : formula :=
  [Weighted v (repeat (Literal 0 true) 3); Weighted w (repeat (Literal 0 false) 3)].

Lemma contradiction_form v w : (1 <= v)%Z -> (1 <= w)%Z ->
  three_sat_form 1 (contradiction v w).
Proof.
  intros V W. split; [discriminate|]. split.
  - intros x [<-|[<-|[]]]; assumption.
  - intros x [<-|[<-|[]]]; (split; [reflexivity|]);
      intros l [<-|[<-|[<-|[]]]]; simpl; lia.
Qed.

Definition half_penalty : 0 < Q2R (1 # 2) <= 1.
Proof. rationals. lra. Qed.

(** [try x_i] is worth half of the pair's top; not all of it. In [normalized]
    the pair's share is (1 - p)/2, half of what it would be. *)
Theorem whole_pair_is_false : ~ forall n f y g pi i,
  three_sat_form n f ->
  feasible (normalized (1 # 2)) (member (normalized (1 # 2)) n f y)
    (hard_program (normalized (1 # 2)) n f) g pi ->
  pi Start = TryVariable i ->
  g Start = Q2R (variable_reward (normalized (1 # 2))) + Q2R (top (normalized (1 # 2))).
Proof.
  intros H.
  assert (P : 0 < Q2R (1 # 2) < 1) by (rationals; lra).
  pose proof (normalized_sound _ P) as C.
  pose proof (contradiction_form 1 1 (Z.le_refl 1) (Z.le_refl 1)) as T.
  set (y := fun _ : nat => true).
  pose proof (forward_feasible (normalized (1 # 2)) 1 (contradiction 1 1) y C T y (3 /
    4)
    (TryVariable 0) eq_refl) as F.
  assert (V : 0 <= 3 / 4 <= Q2R (upper (normalized (1 # 2)) Start))
    by (simpl; unfold unit_range; rewrite Q2R_1; lra).
  assert (B : bellman_error (member (normalized (1 # 2)) 1 (contradiction 1 1) y)
    (forward_value (normalized (1 # 2)) (contradiction 1 1) y (3 / 4))
    (forward_policy (contradiction 1 1) y (TryVariable 0)) (point Start) = 0)
    by (rewrite start_error by exact T; simpl; rationals; lra).
  pose proof (H _ _ y _ _ 0%nat T (F V B) eq_refl) as E.
  revert E. simpl. rationals. lra.
Qed.

(** An unsatisfied clause is worth 2/3 of the top. Were it 1/2, a unit of u would
    cost 1/(2W) and not 1/(3W). *)
Theorem half_for_an_unsatisfied_clause_is_false : ~ forall n f y u,
  three_sat_form n f -> least_unsatisfied f u ->
  hard_optimum (paper (1 # 2)) n f y
    (1 - Rmin (IZR u / (2 * IZR (total_weight f))) (Q2R (1 # 2))).
Proof.
  intros H. set (y := fun _ : nat => true).
  pose proof (contradiction_form 1 1 (Z.le_refl 1) (Z.le_refl 1)) as T.
  pose proof (least_exists 1 (contradiction 1 1) T) as L.
  pose proof (H _ _ y _ T L) as W.
  pose proof (optimum_paper 1 (contradiction 1 1) y _ T L (1 # 2) half_penalty) as O.
  pose proof (optimum_unique _ _ _ _ _ O W) as E.
  replace (least 1 (contradiction 1 1)) with 1%Z in E by reflexivity.
  replace (total_weight (contradiction 1 1)) with 2%Z in E by reflexivity.
  revert E. rewrite Q2R_half. rewrite !Rmin_left by lra. lra.
Qed.

(** With weights the loss is u over the total weight W, not over their number. *)
Theorem number_for_total_weight_is_false : ~ forall n f y u,
  three_sat_form n f -> least_unsatisfied f u ->
  hard_optimum (paper (1 # 2)) n f y
    (1 - Rmin (IZR u / (3 * INR (length f))) (Q2R (1 # 2))).
Proof.
  intros H. set (y := fun _ : nat => true).
  assert (T : three_sat_form 1 (contradiction 2 5)) by (apply contradiction_form; lia).
  pose proof (least_exists 1 (contradiction 2 5) T) as L.
  pose proof (H _ _ y _ T L) as W.
  pose proof (optimum_paper 1 (contradiction 2 5) y _ T L (1 # 2) half_penalty) as O.
  pose proof (optimum_unique _ _ _ _ _ O W) as E.
  replace (least 1 (contradiction 2 5)) with 2%Z in E by reflexivity.
  replace (total_weight (contradiction 2 5)) with 7%Z in E by reflexivity.
  revert E. rewrite Q2R_half. simpl length. rewrite S_INR, S_INR. simpl INR.
  rewrite !Rmin_left by lra. lra.
Qed.

(** All eight sign patterns over three variables: u/W = 1/8. *)
Definition eight_signs : formula :=
  map (fun v => match v with
                | [a; b; c] => Weighted 1 [Literal 0 a; Literal 1 b; Literal 2 c]
                | _ => Weighted 1 []
                end) (assignments 3).

Lemma eight_signs_form : three_sat_form 3 eight_signs.
Proof.
  split; [discriminate|].
  split; intros w I; repeat (destruct I as [<-|I]; [simpl|]); try destruct I; try lia;
    (split; [reflexivity|]); intros l J;
    repeat (destruct J as [<-|J]; [simpl; lia|]); destruct J.
Qed.

Lemma eight_signs_share : least_unsatisfied eight_signs 1 /\
  IZR 1 / IZR (total_weight eight_signs) = 1 / 8.
Proof. split; [exact (least_exists 3 eight_signs eight_signs_form)|]. simpl. lra. Qed.

(** With tolerance 1/740 they have the optimum of a satisfiable formula without, *)
Theorem critical_tolerance_of_eight_signs y :
  optimum_within (1 / 740) strict (member strict 3 eight_signs y)
    (hard_program strict 3 eight_signs) (3 / 20).
Proof.
  destruct eight_signs_share as [L S].
  replace (3 / 20) with (strict_within (1 / 8) (1 / 740))
    by (unfold strict_within; field).
  rewrite <- S. apply (optimum_strict_within 3 eight_signs y 1 _ eight_signs_form L).
  rewrite S. unfold strict_ceiling. lra.
Qed.

(** and not with 1/739. *)
Theorem one_in_739_is_false y : ~
  optimum_within (1 / 739) strict (member strict 3 eight_signs y)
    (hard_program strict 3 eight_signs) (3 / 20).
Proof.
  intros [H _]. destruct eight_signs_share as [L S].
  assert (O : optimum_within (1 / 739) strict (member strict 3 eight_signs y)
    (hard_program strict 3 eight_signs) (strict_within (1 / 8) (1 / 739))).
  { rewrite <- S. apply (optimum_strict_within 3 eight_signs y 1 _ eight_signs_form L).
    rewrite S. unfold strict_ceiling. lra. }
  destruct O as [_ (g & pi & F & E)]. pose proof (H g pi F) as K. rewrite E in K.
  unfold strict_within in K. lra.
Qed.
