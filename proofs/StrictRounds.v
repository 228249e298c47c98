(** One round of any run in [strict]: each maximiser has one level whose error
    stands out, and what that level binds. Strict.v puts the rounds together. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore StrictWorth.
Import ListNotations.
Open Scope R_scope.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

(** ** One round *)

Definition half (i : nat) (b : bool) : R := 1 / 20.

Definition raise_pair (k i : nat) (b : bool) : R :=
  if Nat.eqb i k then 1 / 10 else 1 / 20.

Lemma roomy_strict i : Q2R (top strict) <= Q2R (upper strict (VariableState i)).
Proof. simpl. rewrite upper_middle, upper_literal. lra. Qed.

Lemma try_variable_feasible ds free raised truth k :
  incl ds hard -> (k < n)%nat ->
  (forall i b, 0 <= truth i b <= 1 / 10) ->
  0 <= raised <= Q2R (upper strict free) -> ~ In (point free) ds ->
  (forall i, (i < n)%nat -> In (pair_of i) ds -> truth i false + truth i true = 1 / 10) ->
  let v := 7 / 100 + explore f free raised truth 0 (VariableState k) in
  v <= 1 -> 0 <= v ->
  feasible strict M ds (explore f free raised truth v) (explore_policy (TryVariable k)).
Proof.
  intros I K R A N P v V0 V1. apply explore_feasible.
  - apply strict_sound.
  - exact T.
  - apply roomy_strict.
  - intros i b. rewrite top_strict. apply R.
  - exact I.
  - simpl. apply Nat.ltb_lt, K.
  - simpl. rewrite Q2R_1. lra.
  - exact A.
  - exact N.
  - intros i H J. rewrite top_strict. apply P; assumption.
  - intros _. unfold M. rewrite start_error by exact T. simpl. rewrite try_strict.
    unfold v. simpl. lra.
Qed.

Lemma try_clause_feasible ds k :
  incl ds hard -> (k < m)%nat -> ~ In (point (ClauseState k)) ds ->
  feasible strict M ds (explore f (ClauseState k) (2 / 5) half (2 / 5))
    (explore_policy (TryClause k)).
Proof.
  intros I K N. apply explore_feasible.
  - apply strict_sound.
  - exact T.
  - apply roomy_strict.
  - intros i b. rewrite top_strict. unfold half. lra.
  - exact I.
  - simpl. apply Nat.ltb_lt, K.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite upper_middle. lra.
  - exact N.
  - intros i H J. rewrite top_strict. unfold half. lra.
  - intros _. unfold M. rewrite start_error by exact T. simpl. rewrite Q2R_0.
    destruct (state_eq _ _); [lra|congruence].
Qed.

(** An unbound X_i makes [try x_i] worth 47/100, *)
Lemma raise_variable ds i :
  incl ds hard -> (i < n)%nat -> ~ In (point (VariableState i)) ds ->
  exists g pi, feasible strict M ds g pi /\ g Start = 47 / 100.
Proof.
  intros I H N.
  exists (explore f (VariableState i) (2 / 5) half
           (7 / 100 + explore f (VariableState i) (2 / 5) half 0 (VariableState i))),
    (explore_policy (TryVariable i)).
  split.
  - apply try_variable_feasible; auto; simpl; unfold half; intros;
      try (destruct (state_eq _ _); [|congruence]); rewrite ?upper_middle; lra.
  - simpl. destruct (state_eq _ _); [lra|congruence].
Qed.

(** and an unbound pair 17/100. *)
Lemma raise_literals ds i :
  incl ds hard -> (i < n)%nat -> ~ In (pair_of i) ds ->
  exists g pi, feasible strict M ds g pi /\ g Start = 17 / 100.
Proof.
  intros I H N.
  exists (explore f Bottom 0 (raise_pair i)
           (7 / 100 + explore f Bottom 0 (raise_pair i) 0 (VariableState i))),
    (explore_policy (TryVariable i)).
  split.
  - apply try_variable_feasible; auto.
    + intros k b. unfold raise_pair. destruct (Nat.eqb k i); lra.
    + simpl. rewrite Q2R_0. lra.
    + intros J. apply I, hard_iff in J. inversion J.
    + intros k K J. unfold raise_pair. destruct (Nat.eqb k i) eqn:E; [|lra].
      apply Nat.eqb_eq in E. subst. contradiction.
    + simpl. destruct (state_eq _ _); [congruence|].
      unfold raise_pair. rewrite Nat.eqb_refl. lra.
    + simpl. destruct (state_eq _ _); [congruence|].
      unfold raise_pair. rewrite Nat.eqb_refl. lra.
  - simpl. destruct (state_eq _ _); [congruence|].
    unfold raise_pair. rewrite Nat.eqb_refl. lra.
Qed.

(** With nothing bound g(s0) = 1 is free. *)
Lemma first_feasible :
  feasible strict M [] (explore f Bottom 0 half 1) (explore_policy Solve).
Proof.
  apply explore_feasible.
  - apply strict_sound.
  - exact T.
  - apply roomy_strict.
  - intros i b. rewrite top_strict. unfold half. lra.
  - intros d [].
  - reflexivity.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite Q2R_0. lra.
  - intros [].
  - intros i _ [].
  - intros [].
Qed.

Lemma roll_in_variable pi k : pi Start = TryVariable k ->
  roll_in M pi 2 = point (VariableState k).
Proof. intros S. simpl. rewrite S. reflexivity. Qed.

Lemma roll_in_clause pi j : pi Start = TryClause j ->
  roll_in M pi 2 = point (ClauseState j).
Proof. intros S. simpl. rewrite S. reflexivity. Qed.

Lemma roll_in_pair pi k : pi Start = TryVariable k -> pi (VariableState k) = Go ->
  roll_in M pi 3 = pair_of k.
Proof. intros S G. simpl. rewrite S. simpl. rewrite G. reflexivity. Qed.

(** A maximiser whose error stands out at a level that binds a distribution of the
    hard program, one that was not bound; and OLIVE does not stop. *)
Definition forced (ds : list distribution) (g : state -> R) (pi : state -> action) : Prop :=
  exists h, stands_out M g pi h /\ 0 < error_sum M g pi /\
    hard_one n f (roll_in M pi h) /\ ~ In (roll_in M pi h) ds /\
    (ds = [] -> roll_in M pi h = point Start).

(** Levels are 1, 2 and 3; [lra] compares their errors. *)
Ltac errors h :=
  exists h; unfold stands_out, any_positive, error_sum;
  repeat split; try lia; try lra; try congruence;
  try (intros [|[|[|[|?]]]]; intros; try lia; lra).

Lemma start_bound ds g pi : feasible strict M ds g pi -> In (point Start) ds ->
  level_error M g pi 1 = 0.
Proof. intros (_ & _ & Z) S. exact (Z _ S). Qed.

(** (a) s0 is bound first. *)
Lemma round_start g pi : maximiser strict M [] g pi -> forced [] g pi.
Proof.
  intros [F X]. pose proof (X _ _ first_feasible) as V. simpl in V.
  pose proof (first_level n f y T [] g pi F) as E1.
  pose proof (second_level n f y T [] g pi F) as E2.
  pose proof (third_level n f y T [] g pi F) as E3. fold M in E1, E2, E3.
  change (bellman_error M g pi (point Start)) with (level_error M g pi 1) in E1.
  errors 1%nat.
  - constructor.
  - intros [].
Qed.

(** (b) then every X_i, since it makes [try x_i] worth 47/100. *)
Lemma round_variable ds g pi i : incl ds hard -> In (point Start) ds ->
  (i < n)%nat -> ~ In (point (VariableState i)) ds ->
  maximiser strict M ds g pi -> forced ds g pi.
Proof.
  intros I S H N [F X].
  assert (V : 47 / 100 <= g Start).
  { destruct (raise_variable ds i I H N) as (h & rho & G & E).
    rewrite <- E. exact (X h rho G). }
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | j | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T ds g pi F k A) as [K E]. specialize (E S).
    pose proof (range_variable n f y ds g pi F k K).
    pose proof (range_literal n f y ds g pi F k false K).
    pose proof (range_literal n f y ds g pi F k true K).
    pose proof (variable_backup n f y ds g pi F k K) as B. fold M in B.
    pose proof (roll_in_variable pi k A) as R.
    assert (E2 : 3 / 10 <= level_error M g pi 2)
      by (unfold level_error; rewrite R, B; lra).
    pose proof (start_bound ds g pi F S) as E1.
    pose proof (third_level n f y T ds g pi F) as E3. fold M in E3.
    errors 2%nat.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. destruct F as (_ & _ & Z). rewrite (Z _ J) in B. lra.
    + intros ->. destruct S.
  - destruct (try_clause_is n f y T ds g pi F j A) as [J E]. specialize (E S).
    pose proof (range_clause n f y ds g pi F j J). lra.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2); [|lra].
    apply (solve_at_most n f y T ds g pi F); auto. intros j J.
    apply (range_clause n f y ds g pi F j J).
Qed.

(** With all X_i bound, [try x_i] is worth at most 17/100; an unbound C_j makes
    [try C_j] worth 2/5. *)
Lemma round_clause ds g pi j : incl ds hard -> In (point Start) ds ->
  (forall i, (i < n)%nat -> In (point (VariableState i)) ds) ->
  (j < m)%nat -> ~ In (point (ClauseState j)) ds ->
  maximiser strict M ds g pi -> forced ds g pi.
Proof.
  intros I S XB H N [F X].
  assert (V : 2 / 5 <= g Start) by exact (X _ _ (try_clause_feasible ds j I H N)).
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T ds g pi F k A) as [K E]. specialize (E S).
    pose proof (range_literal n f y ds g pi F k false K).
    pose proof (range_literal n f y ds g pi F k true K).
    pose proof (variable_backup n f y ds g pi F k K) as B. fold M in B.
    destruct F as (_ & _ & Z). rewrite (Z _ (XB k K)) in B. lra.
  - destruct (try_clause_is n f y T ds g pi F k A) as [K E]. specialize (E S).
    pose proof (clause_backup n f y T ds g pi F k K) as B. fold M in B.
    pose proof (roll_in_clause pi k A) as R.
    assert (E2 : 3 / 10 <= level_error M g pi 2)
      by (unfold level_error; rewrite R; lra).
    pose proof (start_bound ds g pi F S) as E1.
    pose proof (third_level n f y T ds g pi F) as E3. fold M in E3.
    errors 2%nat.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. destruct F as (_ & _ & Z). rewrite (Z _ J) in B. lra.
    + intros ->. destruct S.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2); [|lra].
    apply (solve_at_most n f y T ds g pi F); auto. intros k K.
    apply (range_clause n f y ds g pi F k K).
Qed.

(** (c) at last the pairs: an unbound one makes [try x_i] worth 17/100. *)
Lemma round_pair ds g pi i : incl ds hard -> In (point Start) ds ->
  (forall i, (i < n)%nat -> In (point (VariableState i)) ds) ->
  (forall j, (j < m)%nat -> In (point (ClauseState j)) ds) ->
  (i < n)%nat -> ~ In (pair_of i) ds ->
  maximiser strict M ds g pi -> forced ds g pi.
Proof.
  intros I S XB CB H N [F X].
  assert (V : 17 / 100 <= g Start).
  { destruct (raise_literals ds i I H N) as (h & rho & G & E).
    rewrite <- E. exact (X h rho G). }
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T ds g pi F k A) as [K E]. specialize (E S).
    pose proof (variable_backup n f y ds g pi F k K) as B. fold M in B.
    pose proof (pair_backup n f y ds g pi F k K) as Q. fold M in Q.
    pose proof F as (_ & PL & Z). pose proof (Z _ (XB k K)) as BX. rewrite BX in B.
    assert (G : pi (VariableState k) = Go).
    { specialize (PL (VariableState k)). simpl in PL.
      rewrite (proj2 (Nat.ltb_lt k n) K) in PL. specialize (PL eq_refl).
      destruct (pi (VariableState k)); congruence. }
    pose proof (roll_in_pair pi k A G) as R.
    pose proof (start_bound ds g pi F S) as E1.
    assert (E2 : level_error M g pi 2 = 0)
      by (unfold level_error; rewrite (roll_in_variable pi k A); exact BX).
    assert (E3 : 0 < level_error M g pi 3) by (unfold level_error; rewrite R, Q; lra).
    errors 3%nat.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. rewrite (Z _ J) in Q. lra.
    + intros ->. destruct S.
  - destruct (try_clause_is n f y T ds g pi F k A) as [K E]. specialize (E S).
    pose proof (bound_clause n f y T ds g pi F k K (CB k K)). lra.
  - assert (g Start <= 1 / 10 + 1 / 10 / 2); [|lra].
    apply (solve_at_most n f y T ds g pi F); auto. intros k K.
    apply (bound_clause n f y T ds g pi F k K (CB k K)).
Qed.

End Strict.
