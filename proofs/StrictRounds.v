(** One round of any run in [strict]: each pair that OLIVE may take has one level
    whose error stands out, and that level binds something new of the hard program.
    Strict.v puts the rounds together. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore
  StrictWorth.
Import ListNotations.
Open Scope R_scope.

(** What is not exact in a run. Constraints hold up to [phi] and are known up to
    [eta], the errors of a round up to [kappa]; OLIVE takes any pair within [gamma]
    of the optimum and goes on while the errors add up to more than [stop]. *)
Record noise := Noise { phi : R; eta : R; kappa : R; gamma : R; stop : R }.

(** All that matters of the program that OLIVE knows: it holds whatever holds up to
    [phi - eta], and nothing beyond [phi + eta]. *)
Definition near_maximiser (N : noise) (c : construction) (M : mdp)
    (ds : list distribution) (g : state -> R) (pi : state -> action) : Prop :=
  feasible_within (phi N + eta N) c M ds g pi /\
  forall h rho, feasible_within (phi N - eta N) c M ds h rho ->
    h Start <= g Start + gamma N.

(** [e h] estimates the error at level h. *)
Definition near_errors (N : noise) (M : mdp) (g : state -> R) (pi : state -> action)
    (e : nat -> R) : Prop :=
  forall h, (1 <= h <= 3)%nat ->
    - kappa N <= e h - level_error M g pi h <= kappa N.

(** The conditions under which no round goes astray. *)
Definition mild (N : noise) : Prop :=
  0 <= eta N <= phi N /\ 0 <= kappa N /\ 0 <= gamma N /\
  gamma N < 1 / 50 + phi N / 2 - 7 * eta N / 2 /\
  gamma N + stop N < 1 / 20 + 2 * (phi N - eta N) - 3 * kappa N /\
  gamma N + phi N + 5 * eta N + 2 * kappa N < 1 / 20.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment) (N : noise).
Hypothesis T : three_sat_form n f.
Hypothesis mild_N : mild N.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.
Let inner := phi N - eta N.
Let outer := phi N + eta N.

(** ** Pairs that a maximiser cannot fall below *)

Definition half (i : nat) (b : bool) : R := 1 / 20.

Definition raise_pair (k i : nat) (b : bool) : R :=
  if Nat.eqb i k then 1 / 10 else 1 / 20.

Lemma roomy_strict i : Q2R (top strict) <= Q2R (upper strict (VariableState i)).
Proof. simpl. rewrite upper_middle, upper_literal. lra. Qed.

Lemma inner_small : 0 <= inner <= 1 / 20.
Proof. unfold mild, inner in *. lra. Qed.

(** An unbound X_i makes [try x_i] worth 47/100, *)
Lemma raise_variable ds i :
  incl ds hard -> (i < n)%nat -> ~ In (point (VariableState i)) ds ->
  exists g pi, feasible_within inner strict M ds g pi /\ g Start = 47 / 100 + inner.
Proof.
  intros I H U. pose proof inner_small.
  exists (explore f (VariableState i) (2 / 5) half (47 / 100 + inner)),
    (explore_policy (TryVariable i)).
  split; [|reflexivity].
  apply (explore_within strict n f y strict_sound T roomy_strict); auto.
  - intros k b. rewrite top_strict. unfold half. lra.
  - lra.
  - apply Nat.ltb_lt, H.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite upper_middle. lra.
  - contradiction.
  - intros k K J. rewrite top_strict. unfold half. lra.
  - intros _. unfold M. rewrite start_error by exact T. simpl. rewrite try_strict.
    destruct (state_eq _ _); [lra|congruence].
Qed.

(** an unbound C_j makes [try C_j] worth 2/5, *)
Lemma raise_clause ds j :
  incl ds hard -> (j < m)%nat -> ~ In (point (ClauseState j)) ds ->
  exists g pi, feasible_within inner strict M ds g pi /\ g Start = 2 / 5 + inner.
Proof.
  intros I H U. pose proof inner_small.
  exists (explore f (ClauseState j) (2 / 5) half (2 / 5 + inner)),
    (explore_policy (TryClause j)).
  split; [|reflexivity].
  apply (explore_within strict n f y strict_sound T roomy_strict); auto.
  - intros k b. rewrite top_strict. unfold half. lra.
  - lra.
  - apply Nat.ltb_lt, H.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite upper_middle. lra.
  - contradiction.
  - intros k K J. rewrite top_strict. unfold half. lra.
  - intros _. unfold M. rewrite start_error by exact T. simpl. rewrite Q2R_0.
    destruct (state_eq _ _); [lra|congruence].
Qed.

(** an unbound pair makes [try x_i] worth 17/100, *)
Lemma raise_literals ds i :
  incl ds hard -> (i < n)%nat -> ~ In (pair_of i) ds ->
  exists g pi, feasible_within inner strict M ds g pi /\
    g Start = 17 / 100 + 2 * inner.
Proof.
  intros I H U. pose proof inner_small.
  set (g := explore f (VariableState i) (1 / 10 + inner) (raise_pair i)
    (17 / 100 + 2 * inner)).
  exists g, (explore_policy (TryVariable i)). split; [|reflexivity].
  assert (X : g (VariableState i) = 1 / 10 + inner)
    by (simpl; destruct (state_eq _ _); [reflexivity|congruence]).
  apply (explore_within strict n f y strict_sound T roomy_strict); auto.
  - intros k b. rewrite top_strict. unfold raise_pair. destruct (Nat.eqb k i); lra.
  - lra.
  - apply Nat.ltb_lt, H.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite upper_middle. lra.
  - intros _. unfold M. fold g.
    rewrite variable_error; [|apply explore_legal, Nat.ltb_lt, H|reflexivity|exact H].
    rewrite X. simpl. unfold raise_pair. rewrite Nat.eqb_refl. lra.
  - intros k K J. rewrite top_strict. unfold raise_pair. destruct (Nat.eqb_spec k i);
      [subst; contradiction|lra].
  - intros _. unfold M. fold g. rewrite start_error by exact T.
    cbn [explore_policy layered strict]. rewrite X. simpl. rewrite try_strict. lra.
Qed.

(** and with nothing bound g(s0) = 1 is free. *)
Lemma raise_start :
  feasible_within inner strict M [] (explore f Bottom 0 half 1) (explore_policy Solve).
Proof.
  pose proof inner_small.
  apply (explore_within strict n f y strict_sound T roomy_strict); auto;
    try (intros; contradiction).
  - intros k b. rewrite top_strict. unfold half. lra.
  - lra.
  - intros d [].
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite Q2R_0. lra.
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

(** ** One round *)

(** OLIVE goes on, and one level's error is the largest; it is not negligible, those
    below it are; and it binds a distribution of the hard program that was not bound,
    pairs last. *)
Definition forced (ds : list distribution) (pi : state -> action) (e : nat -> R)
    : Prop :=
  exists h, (1 <= h <= 3)%nat /\ stop N < e 1%nat + e 2%nat + e 3%nat /\
    outer + kappa N < e h /\
    (forall k, (1 <= k < h)%nat -> e k <= outer + kappa N) /\
    (forall k, (1 <= k <= 3)%nat -> k <> h -> e k < e h) /\
    hard_one n f (roll_in M pi h) /\ ~ In (roll_in M pi h) ds /\
    (ds = [] -> roll_in M pi h = point Start) /\
    (forall i, roll_in M pi h = pair_of i ->
       forall d, hard_one n f d -> In d ds \/ exists k, d = pair_of k).

Section Round.
Variables (ds : list distribution) (g : state -> R) (pi : state -> action) (e : nat ->
  R).
Hypothesis I : incl ds hard.
Hypothesis X : near_maximiser N strict M ds g pi.
Hypothesis near : near_errors N M g pi e.

Let F : feasible_within outer strict M ds g pi := proj1 X.

(** Levels are 1, 2 and 3; [lra] compares their errors. *)
Ltac errors h :=
  let k := constr:(near) in
  pose proof (k 1%nat ltac:(lia)); pose proof (k 2%nat ltac:(lia));
  pose proof (k 3%nat ltac:(lia));
  unfold forced, mild, inner, outer in *; exists h; repeat split; try lia; try lra;
    try congruence;
  try (intros [|[|[|[|?]]]]; intros; try lia; lra).

Lemma at_least v : (exists h rho, feasible_within inner strict M ds h rho /\
  h Start = v) -> v <= g Start + gamma N.
Proof. intros (h & rho & G & <-). exact (proj2 X h rho G). Qed.

Lemma start_bound : In (point Start) ds ->
  - outer <= level_error M g pi 1 <= outer.
Proof. intros S. destruct F as (_ & _ & Z). exact (Z _ S). Qed.

(** (a) s0 is bound first. *)
Lemma round_start : ds = [] -> forced ds pi e.
Proof.
  intros D. assert (V : 1 <= g Start + gamma N).
  { apply at_least. rewrite D. eexists _, _. split; [exact raise_start|reflexivity]. }
  pose proof (first_level n f y T outer ds g pi F) as B1.
  pose proof (second_level n f y T outer ds g pi F) as B2.
  pose proof (third_level n f y T outer ds g pi F) as B3. fold M in B1, B2, B3.
  change (bellman_error M g pi (point Start)) with (level_error M g pi 1) in B1.
  errors 1%nat.
  - constructor.
  - rewrite D. intros [].
  - intros i E. discriminate E.
Qed.

Hypothesis S : In (point Start) ds.

(** (b) then every X_i, since it makes [try x_i] worth 47/100. *)
Lemma round_variable i : (i < n)%nat -> ~ In (point (VariableState i)) ds ->
  forced ds pi e.
Proof.
  intros H U. pose proof (at_least _ (raise_variable ds i I H U)) as V.
  pose proof (start_bound S) as B1.
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | j | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T outer ds g pi F k A) as [K E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (range_literal n f y outer ds g pi F k false K).
    pose proof (range_literal n f y outer ds g pi F k true K).
    pose proof (variable_backup n f y outer ds g pi F k K) as B. fold M in B.
    pose proof (roll_in_variable pi k A) as R.
    assert (B2 : 3 / 10 - 2 * eta N - gamma N <= level_error M g pi 2)
      by (unfold level_error at 1; rewrite R, B; unfold outer, inner in *; lra).
    pose proof (third_level n f y T outer ds g pi F) as B3. fold M in B3.
    errors 2%nat.
    + rewrite R. constructor. exact K.
    + intros J. destruct F as (_ & _ & Z). specialize (Z _ J).
      change (bellman_error M g pi (roll_in M pi 2)) with (level_error M g pi 2) in Z.
      lra.
    + intros D. rewrite D in S. destruct S.
    + intros i' E'. rewrite R in E'. discriminate E'.
  - destruct (try_clause_is n f y T outer ds g pi F j A) as [J E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (range_clause n f y outer ds g pi F j J).
    unfold mild, inner, outer in *. lra.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2 + outer).
    { apply (solve_at_most n f y T outer ds g pi F); auto. intros j J.
      apply (range_clause n f y outer ds g pi F j J). }
    unfold mild, inner, outer in *. lra.
Qed.

Hypothesis XB : forall i, (i < n)%nat -> In (point (VariableState i)) ds.

(** With all X_i bound, [try x_i] is worth at most 17/100; an unbound C_j makes
    [try C_j] worth 2/5. *)
Lemma round_clause j : (j < m)%nat -> ~ In (point (ClauseState j)) ds ->
  forced ds pi e.
Proof.
  intros H U. pose proof (at_least _ (raise_clause ds j I H U)) as V.
  pose proof (start_bound S) as B1.
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T outer ds g pi F k A) as [K E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (range_literal n f y outer ds g pi F k false K).
    pose proof (range_literal n f y outer ds g pi F k true K).
    pose proof (variable_backup n f y outer ds g pi F k K) as B. fold M in B.
    destruct F as (_ & _ & Z). specialize (Z _ (XB k K)).
    unfold mild, inner, outer in *. lra.
  - destruct (try_clause_is n f y T outer ds g pi F k A) as [K E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (clause_backup n f y T outer ds g pi F k K) as B. fold M in B.
    pose proof (roll_in_clause pi k A) as R.
    assert (B2 : 3 / 10 - 2 * eta N - gamma N <= level_error M g pi 2)
      by (unfold level_error at 1; rewrite R; unfold inner, outer in *; lra).
    pose proof (third_level n f y T outer ds g pi F) as B3. fold M in B3.
    errors 2%nat.
    + rewrite R. constructor. exact K.
    + intros J. destruct F as (_ & _ & Z). specialize (Z _ J).
      change (bellman_error M g pi (roll_in M pi 2)) with (level_error M g pi 2) in Z.
      lra.
    + intros D. rewrite D in S. destruct S.
    + intros i' E'. rewrite R in E'. discriminate E'.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2 + outer).
    { apply (solve_at_most n f y T outer ds g pi F); auto. intros k K.
      apply (range_clause n f y outer ds g pi F k K). }
    unfold mild, inner, outer in *. lra.
Qed.

Hypothesis CB : forall j, (j < m)%nat -> In (point (ClauseState j)) ds.

(** (c) at last the pairs: an unbound one makes [try x_i] worth 17/100. *)
Lemma round_pair i : (i < n)%nat -> ~ In (pair_of i) ds -> forced ds pi e.
Proof.
  intros H U. pose proof (at_least _ (raise_literals ds i I H U)) as V.
  pose proof (start_bound S) as B1.
  pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T outer ds g pi F k A) as [K E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (variable_backup n f y outer ds g pi F k K) as B. fold M in B.
    pose proof (pair_backup n f y outer ds g pi F k K) as Q. fold M in Q.
    pose proof F as (_ & PL & Z). pose proof (Z _ (XB k K)) as BX.
    assert (G : pi (VariableState k) = Go).
    { specialize (PL (VariableState k)). simpl in PL.
      rewrite (proj2 (Nat.ltb_lt k n) K) in PL. specialize (PL eq_refl).
      destruct (pi (VariableState k)); congruence. }
    pose proof (roll_in_pair pi k A G) as R.
    rewrite <- (roll_in_variable pi k A) in B, BX.
    rewrite <- R in Q.
    change (bellman_error M g pi (roll_in M pi 2)) with (level_error M g pi 2) in B, BX.
    change (bellman_error M g pi (roll_in M pi 3)) with (level_error M g pi 3) in Q.
    errors 3%nat.
    + rewrite R. constructor. exact K.
    + intros J. specialize (Z _ J).
      change (bellman_error M g pi (roll_in M pi 3)) with (level_error M g pi 3) in Z.
      lra.
    + intros D. rewrite D in S. destruct S.
    + intros i' _ d [|j' J'|i'' I'|i'' I']; eauto.
  - destruct (try_clause_is n f y T outer ds g pi F k A) as [K E].
    change (bellman_error _ g pi (point Start)) with (level_error M g pi 1) in E.
    pose proof (bound_clause n f y T outer ds g pi F k K (CB k K)).
    unfold mild, inner, outer in *. lra.
  - assert (g Start <= 1 / 10 + (1 / 10 + outer) / 2 + outer).
    { apply (solve_at_most n f y T outer ds g pi F); auto. intros k K.
      apply (bound_clause n f y T outer ds g pi F k K (CB k K)). }
    unfold mild, inner, outer in *. lra.
Qed.
End Round.
End Strict.
