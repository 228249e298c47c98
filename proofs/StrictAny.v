(** Without a level rule ties do help, in [strict] too: on every member some run
    binds in its first round a distribution over literal states behind a clause,
    which tells members apart, and so never meets the hard program. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore.
From Olivine Require Import StrictWorth StrictRounds.
Import ListNotations.
Open Scope R_scope.

(** The same distribution, however it is listed. *)
Definition same (d e : distribution) : Prop := forall h, expect d h = expect e h.

Definition at_state (z x : state) : R := if state_eq x z then 1 else 0.

Section Any.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.

(** [try C_1], an action that leads to a literal state without reward, and all
    literal values at the top. *)
Definition tell_policy (b1 : bool) (x : state) : action :=
  match x with
  | Start => TryClause 0
  | ClauseState _ => Spell b1 true true
  | _ => Go
  end.

Definition tell (x : state) : R :=
  match x with Start => 1 | LiteralState _ _ => 1 / 10 | _ => 0 end.

Lemma tell_maximises b1 : maximiser strict M [] tell (tell_policy b1).
Proof.
  split.
  - split; [|split; [|intros d []]].
    + intros [| j | i | i b | |] _; simpl; rewrite ?Q2R_1, ?Q2R_0, ?upper_middle,
        ?upper_literal; lra.
    + intros [| j | i | i b | |] S; simpl in *; try exact S; try reflexivity.
      * destruct f; [destruct T; congruence|reflexivity].
      * rewrite orb_true_r. reflexivity.
  - intros h rho (R & _). simpl. rewrite <- Q2R_1. apply (R Start eq_refl).
Qed.

Theorem any_level_strays : exists g pi h,
  follows any_positive strict M [Round g pi h] [roll_in M pi h] /\
  forall d, In d (hard_program strict n f) -> ~ same (roll_in M pi h) d.
Proof.
  assert (E : exists w, nth_error f 0 = Some w).
  { destruct f as [|w r]; [destruct T; congruence|]. exists w. reflexivity. }
  destruct E as [w E].
  destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & B & _).
  set (b1 := negb (Bool.eqb (positive l1) (y (variable l1)))).
  exists tell, (tell_policy b1), 3%nat.
  assert (D : roll_in M (tell_policy b1) 3 =
    map (fun xq => (fst xq, (1 * 1 * snd xq)%Q)) (clause_transition w b1 true true)).
  { cbn -[nth_error clause_transition]. rewrite E, app_nil_r. reflexivity. }
  assert (K : Q2R (1 * 1 * (1 # 3)) = 1 / 3) by (rewrite !Q2R_mult, Q2R_1, Q2R_third; lra).
  assert (R1 : Bool.eqb (Bool.eqb (positive l1) b1) (y (variable l1)) = false)
    by (unfold b1; destruct (positive l1), (y (variable l1)); reflexivity).
  assert (R : forall t : bool, 0 <= Q2R (if t then 1 # 10 else 0) <= 1 / 10)
    by (intros []; rewrite ?upper_literal, ?Q2R_0; lra).
  pose proof (R (Bool.eqb (Bool.eqb (positive l2) true) (y (variable l2)))) as R2.
  pose proof (R (Bool.eqb (Bool.eqb (positive l3) true) (y (variable l3)))) as R3.
  split.
  - constructor; [constructor|apply tell_maximises| |].
    + unfold M. rewrite error_sum_shortfall. unfold policy_value, reward_at. fold M.
      rewrite D. cbn -[clause_transition]. unfold clause_transition. rewrite B.
      cbn. rewrite K, R1, Q2R_0. lra.
    + split; [lia|]. unfold level_error, bellman_error. rewrite D.
      unfold clause_transition. rewrite B. cbn. rewrite K, R1, Q2R_0. lra.
  - intros d I S. apply hard_iff in I. rewrite D in S. unfold same in S.
    unfold clause_transition in S. rewrite B in S. cbn in S. rewrite K in S.
    assert (P : forall z x, 0 <= at_state z x)
      by (intros z x; unfold at_state; destruct (state_eq x z); lra).
    destruct I as [|j J|i J|i J].
    1-3: specialize (S (at_state (literal_state l1 b1))); rewrite expect_point in S;
      pose proof (P (literal_state l1 b1) (literal_state l2 true));
      pose proof (P (literal_state l1 b1) (literal_state l3 true));
      unfold at_state at 1 4 in S; destruct (state_eq _ _) as [_|N] in S; [|congruence];
      destruct (state_eq _ _) as [Q|_] in S; [discriminate Q|lra].
    specialize (S (at_state (LiteralState i false))). cbn in S. rewrite Q2R_half in S.
    unfold at_state in S.
    destruct (state_eq (LiteralState i false) _) as [_|N] in S; [|congruence].
    destruct (state_eq (LiteralState i true) _) as [Q|_] in S; [discriminate Q|].
    destruct (state_eq (literal_state l1 b1) _), (state_eq (literal_state l2 true) _),
      (state_eq (literal_state l3 true) _) in S; lra.
Qed.
End Any.
