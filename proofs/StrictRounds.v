(** One round of any run in [strict]: what feasible pairs are worth, and what the
    lowest level with positive error binds. Strict.v puts the rounds together. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore.
Import ListNotations.
Open Scope R_scope.

(** ** The hard program lists each distribution once *)

Lemma NoDup_map_injective {A B} (h : A -> B) l :
  (forall x z, h x = h z -> x = z) -> NoDup l -> NoDup (map h l).
Proof.
  intros I N. induction N as [|x l H N IH]; simpl; constructor; [|exact IH].
  intros K. apply in_map_iff in K as (z & E & Z). apply I in E. congruence.
Qed.

Lemma NoDup_append {A} (l k : list A) :
  NoDup l -> NoDup k -> (forall x, In x l -> ~ In x k) -> NoDup (l ++ k).
Proof.
  intros N K D. induction N as [|x l H N IH]; simpl; [exact K|].
  constructor.
  - intros I. apply in_app_or in I as [I|I]; [contradiction|].
    apply (D x); simpl; auto.
  - apply IH. intros z Z. apply D. simpl; auto.
Qed.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

Lemma hard_length : length hard = (m + 2 * n + 1)%nat.
Proof.
  unfold hard, hard_program. simpl. rewrite !app_length, !map_length, !seq_length.
  simpl. fold m. lia.
Qed.

Inductive hard_one : distribution -> Prop :=
  | hard_start : hard_one (point Start)
  | hard_clause j : (j < m)%nat -> hard_one (point (ClauseState j))
  | hard_variable i : (i < n)%nat -> hard_one (point (VariableState i))
  | hard_pair i : (i < n)%nat -> hard_one (pair_of i).

Lemma hard_iff d : In d hard <-> hard_one d.
Proof.
  split.
  - intros I. unfold hard, hard_program in I. simpl in I.
    destruct I as [<-|I]; [constructor|].
    apply in_app_or in I as [I|I].
    { apply in_map_iff in I as (j & <- & J). apply in_seq in J. constructor. fold m in J. lia. }
    apply in_app_or in I as [I|I].
    { apply in_map_iff in I as (j & <- & J). apply in_seq in J. constructor. lia. }
    rewrite app_nil_r in I.
    apply in_map_iff in I as (j & <- & J). apply in_seq in J. constructor. lia.
  - intros [|j H|i H|i H]; unfold hard.
    + apply in_hard_start.
    + apply in_hard_clause, H.
    + apply in_hard_variable; [reflexivity|exact H].
    + apply in_hard_pair, H.
Qed.

Lemma hard_NoDup : NoDup hard.
Proof.
  assert (D : forall x z, point x = point z -> x = z)
    by (intros x z E; injection E; auto).
  unfold hard, hard_program. simpl. rewrite app_nil_r. constructor.
  - intros I. repeat (apply in_app_or in I as [I|I]);
      apply in_map_iff in I as (z & E & _); discriminate E.
  - repeat apply NoDup_append.
    + apply NoDup_map_injective; [|apply seq_NoDup].
      intros x z E. apply D in E. congruence.
    + apply NoDup_map_injective; [|apply seq_NoDup].
      intros x z E. apply D in E. congruence.
    + apply NoDup_map_injective; [|apply seq_NoDup].
      intros x z E. injection E. auto.
    + intros d I J. apply in_map_iff in I as (x & <- & _).
      apply in_map_iff in J as (z & E & _). discriminate E.
    + intros d I J. apply in_map_iff in I as (x & <- & _).
      apply in_app_or in J as [J|J];
        apply in_map_iff in J as (z & E & _); discriminate E.
Qed.

(** ** Numbers of [strict] *)

Lemma top_strict : Q2R (top strict) = 1 / 10.
Proof. simpl. rationals. lra. Qed.
Lemma upper_middle : Q2R (2 # 5) = 2 / 5.
Proof. rationals. lra. Qed.
Lemma upper_literal : Q2R (1 # 10) = 1 / 10.
Proof. rationals. lra. Qed.
Lemma try_strict : Q2R (7 # 100) = 7 / 100.
Proof. rationals. lra. Qed.

(** ** What a feasible pair can be worth *)

Section Pair.
Variables (ds : list distribution) (g : state -> R) (pi : state -> action).
Hypothesis F : feasible strict M ds g pi.

Lemma range_literal i b : (i < n)%nat -> 0 <= g (LiteralState i b) <= 1 / 10.
Proof.
  intros H. destruct F as (I & _). rewrite <- upper_literal.
  apply (I (LiteralState i b)). simpl. apply Nat.ltb_lt, H.
Qed.

Lemma range_clause j : (j < m)%nat -> 0 <= g (ClauseState j) <= 2 / 5.
Proof.
  intros H. destruct F as (I & _). rewrite <- upper_middle.
  apply (I (ClauseState j)). simpl. apply Nat.ltb_lt, H.
Qed.

Lemma range_variable i : (i < n)%nat -> 0 <= g (VariableState i) <= 2 / 5.
Proof.
  intros H. destruct F as (I & _). rewrite <- upper_middle.
  apply (I (VariableState i)). simpl. apply Nat.ltb_lt, H.
Qed.

Lemma detour_zero : g Detour = 0.
Proof.
  destruct F as (I & _). specialize (I Detour eq_refl).
  simpl in I. rewrite Q2R_0 in I. lra.
Qed.

(** Literals are worth at most 1/10, and so is what a clause state backs up. *)
Lemma clause_backup j : (j < m)%nat ->
  g (ClauseState j) - 1 / 10 <= bellman_error M g pi (point (ClauseState j)).
Proof.
  intros H. destruct (nth_error_below f j H) as [w E].
  unfold M. rewrite (clause_error strict n f y g pi j w E).
  destruct F as (_ & P & _). specialize (P (ClauseState j)). simpl in P.
  rewrite (proj2 (Nat.ltb_lt j (length f)) H) in P. specialize (P eq_refl).
  destruct (pi (ClauseState j)); try discriminate P.
  destruct (three_literals n f T w (nth_error_In _ _ E))
    as (l1 & l2 & l3 & S & V1 & V2 & V3).
  unfold clause_transition, literal_state. rewrite S. simpl. rewrite Q2R_third.
  pose proof (range_literal _ (Bool.eqb (positive l1) b1) V1).
  pose proof (range_literal _ (Bool.eqb (positive l2) b2) V2).
  pose proof (range_literal _ (Bool.eqb (positive l3) b3) V3). lra.
Qed.

Lemma solve_at_most b : (forall j, (j < m)%nat -> g (ClauseState j) <= b) ->
  pi Start = Solve -> In (point Start) ds -> g Start <= 1 / 10 + b / 2.
Proof.
  intros B S I. destruct F as (_ & _ & Z). specialize (Z _ I).
  unfold M in Z. rewrite start_error, S in Z by exact T. simpl in Z.
  rewrite detour_zero, upper_literal in Z. unfold share in Z. simpl in Z.
  rewrite Q2R_half in Z. pose proof (W_above_0 n f T) as W0.
  set (W := IZR (total_weight f)) in *.
  assert (K : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
                  (numbered f) <= W * b).
  { assert (E : W * b = sum (fun jw => IZR (weight (snd jw)) * b) (numbered f)).
    { rewrite (sum_numbered (fun w => IZR (weight w) * b)). unfold W. clear.
      induction f as [|w r IH]; simpl; [lra|]. rewrite plus_IZR, <- IH. ring. }
    rewrite E. apply sum_le. intros [j w] J. simpl. apply in_numbered in J.
    apply Rmult_le_compat_l.
    - apply IZR_le. pose proof T as (_ & P & _).
      pose proof (P w (nth_error_In _ _ J)). lia.
    - apply B. apply nth_error_Some. congruence. }
  assert (1 / 2 / W * sum (fun jw => IZR (weight (snd jw)) *
            g (ClauseState (fst jw))) (numbered f) <= 1 / 2 / W * (W * b)).
  { apply Rmult_le_compat_l; [|exact K]. apply Rlt_le, Rdiv_lt_0_compat; lra. }
  replace (1 / 2 / W * (W * b)) with (b / 2) in H by (field; lra). lra.
Qed.

Lemma try_clause_is j : pi Start = TryClause j -> (j < m)%nat /\
  (In (point Start) ds -> g Start = g (ClauseState j)).
Proof.
  intros S. destruct F as (_ & P & Z). specialize (P Start eq_refl).
  rewrite S in P. simpl in P. apply Nat.ltb_lt in P. split; [exact P|].
  intros I. specialize (Z _ I). unfold M in Z.
  rewrite start_error, S in Z by exact T. simpl in Z. rewrite Q2R_0 in Z. lra.
Qed.

Lemma try_variable_is i : pi Start = TryVariable i -> (i < n)%nat /\
  (In (point Start) ds -> g Start = 7 / 100 + g (VariableState i)).
Proof.
  intros S. destruct F as (_ & P & Z). specialize (P Start eq_refl).
  rewrite S in P. simpl in P. apply Nat.ltb_lt in P. split; [exact P|].
  intros I. specialize (Z _ I). unfold M in Z.
  rewrite start_error, S in Z by exact T. simpl in Z. rewrite try_strict in Z. lra.
Qed.

Lemma bound_clause j : (j < m)%nat -> In (point (ClauseState j)) ds ->
  g (ClauseState j) <= 1 / 10.
Proof.
  intros J I. pose proof (clause_backup j J) as K.
  destruct F as (_ & _ & Z). rewrite (Z _ I) in K. lra.
Qed.

Lemma variable_backup i : (i < n)%nat ->
  bellman_error M g pi (point (VariableState i)) =
  g (VariableState i) - (g (LiteralState i false) + g (LiteralState i true)) / 2.
Proof.
  intros H. destruct F as (_ & P & _). unfold M.
  apply variable_error; [exact P|reflexivity|exact H].
Qed.

Lemma pair_backup i : (i < n)%nat ->
  bellman_error M g pi (pair_of i) =
  (g (LiteralState i false) + g (LiteralState i true) - 1 / 10) / 2.
Proof.
  intros H. destruct F as (_ & P & _). unfold M.
  rewrite pair_error by assumption. rewrite top_strict. reflexivity.
Qed.

Lemma start_backup : 53 / 100 <= g Start - 47 / 100 ->
  0 < bellman_error M g pi (point Start).
Proof.
  intros G. unfold M. rewrite start_error by exact T. simpl.
  destruct F as (I & P & _). specialize (P Start eq_refl).
  destruct (pi Start) as [i | j | | | |] eqn:S; try discriminate P.
  - rewrite try_strict. simpl in P. apply Nat.ltb_lt in P.
    pose proof (range_variable i P). lra.
  - rewrite Q2R_0. simpl in P. apply Nat.ltb_lt in P.
    pose proof (range_clause j P). lra.
  - rewrite detour_zero, upper_literal. unfold share. simpl. rewrite Q2R_half.
    pose proof (W_above_0 n f T) as W0. set (W := IZR (total_weight f)) in *.
    assert (K : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
                    (numbered f) <= W * (2 / 5)).
    { assert (E : W * (2 / 5) = sum (fun jw => IZR (weight (snd jw)) * (2 / 5))
                                    (numbered f)).
      { rewrite (sum_numbered (fun w => IZR (weight w) * (2 / 5))). unfold W. clear.
        induction f as [|w r IH]; simpl; [lra|]. rewrite plus_IZR, <- IH. ring. }
      rewrite E. apply sum_le. intros [j w] J. simpl. apply in_numbered in J.
      apply Rmult_le_compat_l.
      - apply IZR_le. pose proof T as (_ & Q & _).
        pose proof (Q w (nth_error_In _ _ J)). lia.
      - apply range_clause. apply nth_error_Some. congruence. }
    assert (1 / 2 / W * sum (fun jw => IZR (weight (snd jw)) *
              g (ClauseState (fst jw))) (numbered f) <= 1 / 2 / W * (W * (2 / 5))).
    { apply Rmult_le_compat_l; [|exact K]. apply Rlt_le, Rdiv_lt_0_compat; lra. }
    replace (1 / 2 / W * (W * (2 / 5))) with (1 / 5) in H by (field; lra). lra.
Qed.
End Pair.

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
  - reflexivity.
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
  - reflexivity.
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
  - reflexivity.
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

(** What every maximiser's lowest level with positive error is, and that it binds
    a distribution of the hard program that was not bound. *)
Definition forced (ds : list distribution) (g : state -> R) (pi : state -> action) : Prop :=
  exists h, lowest M g pi h /\
    (forall k, lowest M g pi k -> k = h) /\
    hard_one (roll_in M pi h) /\ ~ In (roll_in M pi h) ds /\
    (ds = [] -> roll_in M pi h = point Start).

Lemma lowest_unique g pi h k : lowest M g pi h -> lowest M g pi k -> k = h.
Proof.
  intros [[H PH] LH] [[K PK] LK]. destruct (Nat.lt_trichotomy h k) as [L|[E|L]].
  - specialize (LK h). assert (level_error M g pi h <= 0) by (apply LK; lia). lra.
  - congruence.
  - specialize (LH k). assert (level_error M g pi k <= 0) by (apply LH; lia). lra.
Qed.

Lemma forced_by ds g pi h : lowest M g pi h -> hard_one (roll_in M pi h) ->
  ~ In (roll_in M pi h) ds -> (ds = [] -> roll_in M pi h = point Start) ->
  forced ds g pi.
Proof.
  intros L H N S. exists h. split; [exact L|]. split; [|auto].
  intros k. apply lowest_unique, L.
Qed.

(** (a) s0 is bound first. *)
Lemma round_start g pi : maximiser strict M [] g pi -> forced [] g pi.
Proof.
  intros [F X]. pose proof (X _ _ first_feasible) as V. simpl in V.
  apply (forced_by _ _ _ 1).
  - split; [split; [lia|]|intros; lia].
    apply (start_backup [] g pi F). lra.
  - constructor.
  - intros [].
  - reflexivity.
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
  - destruct (try_variable_is ds g pi F k A) as [K E]. specialize (E S).
    pose proof (range_variable ds g pi F k K).
    pose proof (range_literal ds g pi F k false K).
    pose proof (range_literal ds g pi F k true K).
    pose proof (variable_backup ds g pi F k K) as B.
    pose proof (roll_in_variable pi k A) as R.
    apply (forced_by _ _ _ 2).
    + split; [split; [lia|]|].
      * unfold level_error. rewrite R, B. lra.
      * intros h Hh. replace h with 1%nat by lia. unfold level_error.
        destruct F as (_ & _ & Z). change (roll_in M pi 1) with (point Start).
        rewrite (Z _ S). lra.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. destruct F as (_ & _ & Z). rewrite (Z _ J) in B. lra.
    + intros ->. destruct S.
  - destruct (try_clause_is ds g pi F j A) as [J E]. specialize (E S).
    pose proof (range_clause ds g pi F j J). lra.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2); [|lra].
    apply (solve_at_most ds g pi F); auto. intros j J.
    apply (range_clause ds g pi F j J).
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
  - destruct (try_variable_is ds g pi F k A) as [K E]. specialize (E S).
    pose proof (range_literal ds g pi F k false K).
    pose proof (range_literal ds g pi F k true K).
    pose proof (variable_backup ds g pi F k K) as B.
    destruct F as (_ & _ & Z). rewrite (Z _ (XB k K)) in B. lra.
  - destruct (try_clause_is ds g pi F k A) as [K E]. specialize (E S).
    pose proof (clause_backup ds g pi F k K) as B.
    pose proof (roll_in_clause pi k A) as R.
    apply (forced_by _ _ _ 2).
    + split; [split; [lia|]|].
      * unfold level_error. rewrite R. lra.
      * intros h Hh. replace h with 1%nat by lia. unfold level_error.
        destruct F as (_ & _ & Z). change (roll_in M pi 1) with (point Start).
        rewrite (Z _ S). lra.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. destruct F as (_ & _ & Z). rewrite (Z _ J) in B. lra.
    + intros ->. destruct S.
  - assert (g Start <= 1 / 10 + 2 / 5 / 2); [|lra].
    apply (solve_at_most ds g pi F); auto. intros k K.
    apply (range_clause ds g pi F k K).
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
  - destruct (try_variable_is ds g pi F k A) as [K E]. specialize (E S).
    pose proof (variable_backup ds g pi F k K) as B.
    pose proof (pair_backup ds g pi F k K) as Q.
    pose proof F as (_ & PL & Z). pose proof (Z _ (XB k K)) as BX. rewrite BX in B.
    assert (G : pi (VariableState k) = Go).
    { specialize (PL (VariableState k)). simpl in PL.
      rewrite (proj2 (Nat.ltb_lt k n) K) in PL. specialize (PL eq_refl).
      destruct (pi (VariableState k)); congruence. }
    pose proof (roll_in_pair pi k A G) as R.
    apply (forced_by _ _ _ 3).
    + split; [split; [lia|]|].
      * unfold level_error. rewrite R, Q. lra.
      * intros h Hh. assert (D : h = 1%nat \/ h = 2%nat) by lia.
        unfold level_error. destruct D as [->| ->].
        -- change (roll_in M pi 1) with (point Start). rewrite (Z _ S). lra.
        -- rewrite (roll_in_variable pi k A), BX. lra.
    + rewrite R. constructor. exact K.
    + rewrite R. intros J. rewrite (Z _ J) in Q. lra.
    + intros ->. destruct S.
  - destruct (try_clause_is ds g pi F k A) as [K E]. specialize (E S).
    pose proof (bound_clause ds g pi F k K (CB k K)). lra.
  - assert (g Start <= 1 / 10 + 1 / 10 / 2); [|lra].
    apply (solve_at_most ds g pi F); auto. intros k K.
    apply (bound_clause ds g pi F k K (CB k K)).
Qed.

End Strict.
