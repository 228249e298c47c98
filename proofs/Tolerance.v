(** The optimum with a tolerance: constraints hold up to [t]. In [strict] it is
    3/20 - s/60 + (3/2 + s/3) t for s = u/W as long as [solve] is the best action,
    in [gap] 1 + 4t - s (1/4 + 2t/3), but at most 1. Source: the toolkit's own. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima StrictWorth.
Import ListNotations.
Open Scope R_scope.

Section Within.
Variables (c : construction) (n : nat) (f : formula) (y : assignment) (t : R).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.
Hypothesis L : layered c = true.
Hypothesis no_quit : quits c = false.
Hypothesis t0 : 0 <= t.

(** The best two values of a pair of literals. *)
Variables (high low : R).
Hypothesis ordered : 0 <= low < high.
Hypothesis together : high + low = Q2R (top c) + 2 * t.
Hypothesis highest : forall i b, (i < n)%nat ->
  high <= Q2R (upper c (LiteralState i b)) /\
  (low = 0 \/ Q2R (upper c (LiteralState i b)) <= high).

Let M := member c n f y.
Let W := IZR (total_weight f).
Let hard := hard_program c n f.

Definition solve_within (u : R) : R :=
  Q2R (solve_reward c) + t +
  Q2R (share c) * (t + low + (high - low) * (1 - u / (3 * W))).

Section Pair.
Variables (g : state -> R) (pi : state -> action).
Hypothesis F : feasible_within t c M hard g pi.

Lemma pair_within i : (i < n)%nat ->
  0 <= g (LiteralState i false) <= high /\ 0 <= g (LiteralState i true) <= high /\
  g (LiteralState i false) + g (LiteralState i true) <= high + low.
Proof.
  intros H. destruct F as (R & P & Z).
  pose proof (Z _ (in_hard_pair c n f i H)) as K.
  unfold M in K. rewrite pair_error in K by assumption.
  assert (I : forall b, is_state M (LiteralState i b) = true)
    by (intros b; simpl; apply Nat.ltb_lt, H).
  pose proof (R _ (I false)). pose proof (R _ (I true)).
  destruct (highest i false H) as [_ [|]]; destruct (highest i true H) as [_ [|]]; lra.
Qed.

Definition truth_within (i : nat) : R :=
  if (i <? n)%nat
  then Rmax 0 ((g (LiteralState i true) - low) / (high - low)) else 0.

Lemma truth_within_is i : (i < n)%nat -> exists z, truth_within i = z /\ 0 <= z <= 1 /\
  g (LiteralState i true) <= low + (high - low) * z /\
  g (LiteralState i false) <= low + (high - low) * (1 - z).
Proof.
  intros H. exists (truth_within i). split; [reflexivity|].
  destruct (pair_within i H) as (A & B & S).
  unfold truth_within. rewrite (proj2 (Nat.ltb_lt _ _) H).
  set (x := (g (LiteralState i true) - low) / (high - low)).
  assert (X : (high - low) * x = g (LiteralState i true) - low)
    by (unfold x; field; lra).
  assert (x <= 1) by nra.
  unfold Rmax. destruct (Rle_dec 0 x); repeat split; nra.
Qed.

Lemma literal_within l b : (variable l < n)%nat ->
  g (literal_state l b) <= low + (high - low) * truth truth_within l b.
Proof.
  intros H. destruct (truth_within_is _ H) as (z & E & _ & A & B).
  unfold truth, literal_state. rewrite E.
  destruct (Bool.eqb (positive l) b); assumption.
Qed.

Lemma clause_within j w : nth_error f j = Some w ->
  g (ClauseState j) <=
  t + low + (high - low) * spelled truth_within w (pi (ClauseState j)).
Proof.
  intros E. pose proof (nth_error_In _ _ E) as I.
  assert (J : (j < length f)%nat) by (apply nth_error_Some; congruence).
  destruct F as (_ & P & Z). pose proof (Z _ (in_hard_clause c n f j J)) as K.
  unfold M in K. rewrite (clause_error c n f y g pi j w E) in K.
  destruct (three_literals n f T w I) as (l1 & l2 & l3 & S & V1 & V2 & V3).
  specialize (P (ClauseState j)). simpl in P.
  rewrite (proj2 (Nat.ltb_lt _ _) J) in P. specialize (P eq_refl).
  unfold spelled, clause_transition in *. rewrite S in *.
  destruct (pi (ClauseState j)); try discriminate P; [|congruence].
  simpl in K. rewrite Q2R_third in K.
  pose proof (literal_within l1 b1 V1). pose proof (literal_within l2 b2 V2).
  pose proof (literal_within l3 b3 V3). nra.
Qed.

Lemma clause_at_most_high j : (j < length f)%nat -> g (ClauseState j) <= t + high.
Proof.
  intros J. destruct (nth_error_below f j J) as [w E].
  pose proof (clause_within j w E) as K.
  destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & S & V).
  assert (U : forall l b, (variable l < n)%nat -> truth truth_within l b <= 1).
  { intros l b H. destruct (truth_within_is _ H) as (z & Z & B & _).
    unfold truth. rewrite Z. destruct (Bool.eqb _ _); lra. }
  assert (spelled truth_within w (pi (ClauseState j)) <= 1); [|nra].
  unfold spelled. rewrite S. destruct (pi (ClauseState j)); try lra.
  destruct V as (V1 & V2 & V3).
  pose proof (U l1 b1 V1); pose proof (U l2 b2 V2); pose proof (U l3 b3 V3). lra.
Qed.

Lemma start_within : exists v, g Start <= t + v /\
  v = match pi Start with
  | TryVariable i => Q2R (variable_reward c) + g (VariableState i)
  | TryClause j => Q2R (clause_reward c) + g (ClauseState j)
  | Solve => Q2R (solve_reward c) + Q2R (share c) / W *
      sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw))) (numbered f)
  | _ => 0
  end.
Proof.
  eexists. split; [|reflexivity]. destruct F as (R & P & Z).
  pose proof (Z _ (in_hard_start c n f)) as K.
  unfold M in K. rewrite start_error in K by exact T. rewrite L in K. fold W in K.
  assert (D : (if diluted c then g Detour / 2 else 0) = 0).
  { destruct (diluted c) eqn:D; [|reflexivity].
    pose proof (detour_worthless c C D). specialize (R Detour). simpl in R.
    rewrite D in R. specialize (R eq_refl). lra. }
  rewrite D in K. destruct (pi Start); lra.
Qed.

Lemma solve_rounds_within : pi Start = Solve -> exists a,
  g Start <= solve_within (IZR (unsatisfied a f)).
Proof.
  intros S. destruct start_within as (v & K & V). rewrite S in V. subst v.
  set (choice := fun j => pi (ClauseState j)).
  assert (E : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
      (numbered f) <= W * (t + low) + (high - low) * spelled_sum truth_within f choice).
  { unfold spelled_sum. rewrite <- sum_scale. unfold W.
    rewrite <- sum_weights, <- sum_plus. apply sum_le. intros [j w] I. simpl.
    apply in_numbered in I. pose proof (clause_within j w I).
    assert (0 <= IZR (weight w)).
    { destruct T as (_ & Pos & _). apply IZR_le.
      pose proof (Pos w (nth_error_In _ _ I)). lia. }
    unfold choice. nra. }
  destruct (best_assignment f choice n truth_within) as [a Ha].
  { apply T. }
  { intros i. destruct (Nat.lt_ge_cases i n) as [H|H].
    - destruct (truth_within_is i H) as (z & Z & B & _). rewrite Z. exact B.
    - unfold truth_within. rewrite (proj2 (Nat.ltb_ge _ _) H). lra. }
  { intros i Hi. unfold truth_within. rewrite (proj2 (Nat.ltb_ge _ _) Hi).
    reflexivity. }
  { intros j w b1 b2 b3 I Q. destruct F as (_ & P & _). specialize (P (ClauseState j)).
    simpl in P. rewrite (proj2 (Nat.ltb_lt j (length f))) in P
      by (apply nth_error_Some; congruence).
    specialize (P eq_refl). unfold choice in Q. rewrite Q in P. exact P. }
  exists a. fold W in Ha. pose proof (W_above_0 n f T) as W0. fold W in W0.
  assert (SW : 0 < Q2R (share c) / W)
    by (apply Rdiv_lt_0_compat; [apply share_positive|exact W0]).
  unfold solve_within.
  replace (Q2R (share c) * (t + low + (high - low) * (1 - IZR (unsatisfied a f) / (3 *
    W))))
    with (Q2R (share c) / W * (W * (t + low) + (high - low) * (W - IZR (unsatisfied a f)
      / 3)))
    by (field; lra).
  apply (Rle_trans _ _ _ K).
  assert (sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw))) (numbered f)
    <=
    W * (t + low) + (high - low) * (W - IZR (unsatisfied a f) / 3)) as B by nra.
  apply Rmult_le_compat_l with (r := Q2R (share c) / W) in B; lra.
Qed.

Lemma try_clause_within j : pi Start = TryClause j ->
  g Start <= Q2R (clause_reward c) + 2 * t + high.
Proof.
  intros S. destruct start_within as (v & K & V). rewrite S in V. subst v.
  destruct F as (_ & P & _). specialize (P Start eq_refl). rewrite S in P.
  simpl in P. apply Nat.ltb_lt in P. pose proof (clause_at_most_high j P). lra.
Qed.

Lemma try_variable_within i : pi Start = TryVariable i ->
  g Start <= Q2R (variable_reward c) + 3 * t + Q2R (top c) / 2.
Proof.
  intros S. destruct start_within as (v & K & V). rewrite S in V. subst v.
  destruct F as (_ & P & Z). pose proof (P Start eq_refl) as H. rewrite S in H.
  simpl in H. apply Nat.ltb_lt in H.
  pose proof (Z _ (in_hard_variable c n f i L H)) as X.
  unfold M in X. rewrite variable_error in X by assumption.
  pose proof (pair_within i H). lra.
Qed.
End Pair.

(** ** An assignment's own pair, with all errors as large as they may be *)

Definition within_value (a : assignment) (v : R) (x : state) : R :=
  match x with
  | Start => v
  | ClauseState j =>
      match nth_error f j with
      | Some w => t + (if clause_true a (body w) then high else (2 * high + low) / 3)
      | None => 0
      end
  | VariableState _ => (high + low) / 2
  | LiteralState i b => if Bool.eqb b (a i) then high else low
  | Detour | Bottom => 0
  end.

Lemma within_literal a v l b : within_value a v (literal_state l b) =
  if Bool.eqb b (literal_true a l) then high else low.
Proof.
  unfold literal_state, literal_true. simpl.
  destruct (positive l), b, (a (variable l)); reflexivity.
Qed.

Lemma within_clause a v start j w : nth_error f j = Some w ->
  bellman_error M (within_value a v) (forward_policy f a start)
    (point (ClauseState j)) = t.
Proof.
  intros E. unfold M. rewrite (clause_error c n f y _ _ j w E).
  cbn [within_value forward_policy]. rewrite E.
  destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & S & _).
  unfold spelling, clause_transition. rewrite S.
  destruct (clause_true a [l1; l2; l3]) eqn:K; cbn [expect fold_right fst snd];
    rewrite !within_literal, Q2R_third.
  - rewrite !eqb_reflx. lra.
  - simpl in K. destruct (literal_true a l1), (literal_true a l2),
      (literal_true a l3); try discriminate K. simpl. lra.
Qed.

Lemma within_solve a v :
  (forall j, t + high <= Q2R (upper c (ClauseState j))) ->
  (forall i, (high + low) / 2 <= Q2R (upper c (VariableState i))) ->
  v = solve_within (IZR (unsatisfied a f)) -> 0 <= v <= Q2R (upper c Start) ->
  feasible_within t c M hard (within_value a v) (forward_policy f a Solve).
Proof.
  intros RC RV V B.
  pose proof (forward_policy_legal c n f y a Solve eq_refl) as P.
  split; [|split; [exact P|]].
  - intros x S. destruct x as [| j | i | i b | |]; simpl in *.
    + exact B.
    + specialize (RC j). destruct (nth_error f j) as [w|]; [|lra].
      destruct (clause_true _ _); lra.
    + specialize (RV i). lra.
    + apply Nat.ltb_lt in S. pose proof (highest i b S) as [H _].
      destruct (Bool.eqb b (a i)); lra.
    + rewrite (detour_worthless c C S). lra.
    + pose proof (bottom_room c C). lra.
  - intros d I. unfold hard, hard_program in I. rewrite L, no_quit, app_nil_r in I.
    apply in_app_or in I as [[<-|[]]|I].
    { assert (bellman_error M (within_value a v) (forward_policy f a Solve) (point
        Start)
        = t); [|lra].
      unfold M. rewrite start_error by exact T. cbn [forward_policy].
      assert (E : sum (fun jw => IZR (weight (snd jw)) *
          within_value a v (ClauseState (fst jw))) (numbered f) =
        W * (t + low) + (high - low) * (W - IZR (unsatisfied a f) / 3)).
      { unfold W. rewrite <- sum_satisfied, <- sum_scale.
        rewrite <- (sum_numbered (fun w => (high - low) * (IZR (weight w) *
          (if clause_true a (body w) then 1 else 2 / 3))) f).
        rewrite <- sum_weights, <- sum_plus. apply sum_ext. intros [j w] I. simpl.
        apply in_numbered in I. rewrite I. destruct (clause_true _ _); field. }
      rewrite E. cbn [within_value]. rewrite V. unfold solve_within.
      pose proof (W_above_0 n f T).
      fold W in H |- *. destruct (diluted c); field; lra. }
    apply in_app_or in I as [I|I].
    { apply in_map_iff in I as (j & <- & J). apply in_seq in J.
      destruct (nth_error_below f j) as [w E]; [lia|].
      rewrite (within_clause a v Solve j w E). lra. }
    apply in_app_or in I as [I|I]; apply in_map_iff in I as (i & <- & J);
      apply in_seq in J; unfold M.
    + rewrite variable_error by (assumption || lia). simpl. destruct (a i); simpl; lra.
    + rewrite pair_error by (assumption || lia). simpl. destruct (a i); simpl; lra.
Qed.
End Within.

(** ** [strict] *)

(** What the tolerance may be at most, and the optimum; [s] is u/W. *)
Definition strict_ceiling (s : R) : R := (9 - 5 * s) / (50 * (9 - 2 * s)).

Definition strict_within (s t : R) : R := 3 / 20 - s / 60 + (3 / 2 + s / 3) * t.

Lemma share_range n f u : three_sat_form n f -> least_unsatisfied f u ->
  0 <= IZR u / IZR (total_weight f) <= 1 / 2.
Proof.
  intros T L. pose proof (u_range n f u T L) as B. pose proof (W_above_0 n f T).
  replace (IZR u / IZR (total_weight f)) with (3 * (IZR u / (3 * IZR (total_weight f))))
    by (field; lra).
  lra.
Qed.

Lemma share_least n f u a : three_sat_form n f -> least_unsatisfied f u ->
  IZR u / IZR (total_weight f) <= IZR (unsatisfied a f) / IZR (total_weight f).
Proof.
  intros T [_ U]. apply Rmult_le_compat_r.
  - apply Rlt_le, Rinv_0_lt_compat, (W_above_0 n f T).
  - apply IZR_le, U.
Qed.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment) (u : Z) (t : R).
Hypothesis T : three_sat_form n f.
Hypothesis U : least_unsatisfied f u.

Let s := IZR u / IZR (total_weight f).
Let M := member strict n f y.
Let hard := hard_program strict n f.

Lemma strict_solve r : solve_within strict f t (1 / 10) (2 * t) r =
  strict_within (r / IZR (total_weight f)) t.
Proof.
  unfold solve_within, strict_within, share. simpl.
  rewrite upper_literal, Q2R_half. field.
  pose proof (W_above_0 n f T). lra.
Qed.

Lemma ceiling_small : t <= strict_ceiling s -> t <= 1 / 50 /\
  (3 / 2 - s / 3) * t <= 3 / 100 - s / 60.
Proof.
  intros B. pose proof (share_range n f u T U) as S. fold s in S.
  unfold strict_ceiling in B.
  assert (K : (50 * (9 - 2 * s)) * t <= 9 - 5 * s).
  { apply Rmult_le_compat_l with (r := 50 * (9 - 2 * s)) in B; [|lra].
    replace (50 * (9 - 2 * s) * ((9 - 5 * s) / (50 * (9 - 2 * s)))) with (9 - 5 * s)
      in B by (field; lra). exact B. }
  split; nra.
Qed.

Lemma strict_pairs : 0 <= t <= 1 / 50 -> 0 <= 2 * t < 1 / 10 /\
  1 / 10 + 2 * t = Q2R (top strict) + 2 * t /\
  forall i b, (i < n)%nat -> 1 / 10 <= Q2R (upper strict (LiteralState i b)) /\
    (2 * t = 0 \/ Q2R (upper strict (LiteralState i b)) <= 1 / 10).
Proof.
  intros B. rewrite top_strict. split; [lra|]. split; [reflexivity|].
  intros i b _. simpl. rewrite upper_literal. split; [lra|right; lra].
Qed.

(** L: the optimum with tolerance. *)
Theorem optimum_strict_within : 0 <= t <= strict_ceiling s ->
  optimum_within t strict M hard (strict_within s t).
Proof.
  intros [t0 B]. destruct (ceiling_small B) as [t1 K].
  destruct (strict_pairs (conj t0 t1)) as (O & G & H).
  pose proof (share_range n f u T U) as S. fold s in S. split.
  - intros g pi F. pose proof (proj1 (proj2 F) Start eq_refl) as A.
    destruct (pi Start) as [i | j | | | |] eqn:E; try discriminate A.
    + pose proof (try_variable_within strict n f y t strict_sound T eq_refl
        (1 / 10) (2 * t) G H g pi F i E) as Q.
      simpl in Q. rewrite try_strict, upper_literal in Q. unfold strict_within. nra.
    + pose proof (try_clause_within strict n f y t strict_sound T eq_refl eq_refl
        (1 / 10) (2 * t) O G H g pi F j E) as Q.
      simpl in Q. rewrite Q2R_0 in Q. unfold strict_within. nra.
    + destruct (solve_rounds_within strict n f y t strict_sound T eq_refl eq_refl
        (1 / 10) (2 * t) O G H g pi F E) as [a Q].
      rewrite strict_solve in Q. pose proof (share_least n f u a T U) as X. fold s in X.
      unfold strict_within in *. nra.
  - destruct U as [[a Ha] _].
    exists (within_value f t (1 / 10) (2 * t) a (strict_within s t)),
      (forward_policy f a Solve).
    split; [|reflexivity].
    apply (within_solve strict n f y t strict_sound T eq_refl eq_refl t0); auto.
    + intros j. simpl. rewrite upper_middle. lra.
    + intros i. simpl. rewrite upper_middle. lra.
    + rewrite Ha, strict_solve. reflexivity.
    + simpl. rewrite Q2R_1. unfold strict_within. nra.
Qed.
End Strict.

(** ** [gap] *)

Definition gap_within (s t : R) : R := Rmin 1 (1 + 4 * t - s * (1 / 4 + 2 * t / 3)).

Section Gap.
Variables (n : nat) (f : formula) (y : assignment) (u : Z).
Hypothesis T : three_sat_form n f.
Hypothesis U : least_unsatisfied f u.

Let s := IZR u / IZR (total_weight f).
Let M := member gap n f y.
Let hard := hard_program gap n f.

Let top_gap : Q2R (top gap) = 3 / 4.
Proof. simpl. rationals. lra. Qed.

Let reward_gap : Q2R (1 # 4) = 1 / 4.
Proof. rationals. lra. Qed.

Lemma gap_solve t r : solve_within gap f t (3 / 4 + 2 * t) 0 r =
  1 + 4 * t - r / IZR (total_weight f) * (1 / 4 + 2 * t / 3).
Proof.
  unfold solve_within, share. simpl. rewrite reward_gap, Q2R_1. field.
  pose proof (W_above_0 n f T). lra.
Qed.

Lemma gap_pairs t : 0 <= t <= 1 / 8 -> 0 <= 0 < 3 / 4 + 2 * t /\
  3 / 4 + 2 * t + 0 = Q2R (top gap) + 2 * t /\
  forall i b, (i < n)%nat -> 3 / 4 + 2 * t <= Q2R (upper gap (LiteralState i b)) /\
    (0 = 0 \/ Q2R (upper gap (LiteralState i b)) <= 3 / 4 + 2 * t).
Proof.
  intros B. rewrite top_gap. split; [lra|]. split; [ring|].
  intros i b _. simpl. unfold unit_range. rewrite Q2R_1. split; [lra|left; reflexivity].
Qed.

Lemma gap_attained t : 0 <= t <= 1 / 12 -> 1 + 4 * t - s * (1 / 4 + 2 * t / 3) <= 1 ->
  exists g pi, feasible_within t gap M hard g pi /\
    g Start = 1 + 4 * t - s * (1 / 4 + 2 * t / 3).
Proof.
  intros B V. destruct (gap_pairs t) as (O & G & H); [lra|].
  pose proof (share_range n f u T U) as S. fold s in S. destruct U as [[a Ha] _].
  exists (within_value f t (3 / 4 + 2 * t) 0 a (1 + 4 * t - s * (1 / 4 + 2 * t / 3))),
    (forward_policy f a Solve).
  split; [|reflexivity].
  apply (within_solve gap n f y t gap_sound T eq_refl eq_refl (proj1 B)); auto.
  - intros j. simpl. unfold unit_range. rewrite Q2R_1. lra.
  - intros i. simpl. unfold unit_range. rewrite Q2R_1. lra.
  - rewrite Ha, gap_solve. reflexivity.
  - simpl. unfold unit_range. rewrite Q2R_1. nra.
Qed.

Theorem optimum_gap_within t : 0 <= t ->
  optimum_within t gap M hard (gap_within s t).
Proof.
  intros t0. pose proof (share_range n f u T U) as S. fold s in S.
  unfold gap_within. destruct (Rle_lt_dec (1 + 4 * t - s * (1 / 4 + 2 * t / 3)) 1) as
    [V|V].
  - assert (t1 : t <= 1 / 24) by nra. rewrite Rmin_right by exact V. split.
    + destruct (gap_pairs t) as (O & G & H); [lra|].
      intros g pi F. pose proof (proj1 (proj2 F) Start eq_refl) as A.
      destruct (pi Start) as [i | j | | | |] eqn:E; try discriminate A.
      * pose proof (try_variable_within gap n f y t gap_sound T eq_refl
          _ _ G H g pi F i E) as Q.
        rewrite top_gap in Q. simpl in Q. rewrite reward_gap in Q. nra.
      * pose proof (try_clause_within gap n f y t gap_sound T eq_refl eq_refl
          _ _ O G H g pi F j E) as Q.
        simpl in Q. rewrite Q2R_0 in Q. nra.
      * destruct (solve_rounds_within gap n f y t gap_sound T eq_refl eq_refl
          _ _ O G H g pi F E) as [a Q].
        rewrite gap_solve in Q. pose proof (share_least n f u a T U) as X. fold s in X.
        nra.
    + apply gap_attained; [lra|exact V].
  - rewrite Rmin_left by lra. split.
    + intros g pi (R & _). rewrite <- Q2R_1. apply (R Start eq_refl).
    + set (r := (s / 4) / (4 - 2 * s / 3)).
      assert (E : (4 - 2 * s / 3) * r = s / 4) by (unfold r; field; lra).
      assert (B : 0 <= r <= 1 / 12) by (split; nra).
      destruct (gap_attained r B) as (g & pi & F & G); [lra|].
      exists g, pi. split; [|lra]. apply (feasible_more r); [nra|exact F].
Qed.
End Gap.

(** ** Estimates: constraints are known up to [eta] *)

Definition estimate := (state -> R) -> (state -> action) -> distribution -> R.

Definition off_by (eta : R) (M : mdp) (hat : estimate) : Prop :=
  forall g pi d, - eta <= hat g pi d - bellman_error M g pi d <= eta.

Definition feasible_by (hat : estimate) (phi : R) (c : construction) (M : mdp)
    (constraints : list distribution) (g : state -> R) (pi : state -> action) : Prop :=
  in_range c M g /\ is_policy M pi /\
  forall d, In d constraints -> - phi <= hat g pi d <= phi.

Lemma within_estimates eta phi c M hat ds g pi : off_by eta M hat ->
  (feasible_within (phi - eta) c M ds g pi -> feasible_by hat phi c M ds g pi) /\
  (feasible_by hat phi c M ds g pi -> feasible_within (phi + eta) c M ds g pi).
Proof.
  intros O. split; intros (R & P & Z); (split; [exact R|]; split; [exact P|]);
    intros d D; specialize (Z d D); specialize (O g pi d); lra.
Qed.

(** Estimates that shut out as much as they can, and as little. *)
Definition narrow (eta : R) (M : mdp) : estimate := fun g pi d =>
  let e := bellman_error M g pi d in if Rle_dec 0 e then e + eta else e - eta.

Definition wide (eta : R) (M : mdp) : estimate := fun g pi d =>
  let e := bellman_error M g pi d in
  if Rle_dec e (- eta) then e + eta else if Rle_dec eta e then e - eta else 0.

Lemma narrow_is eta phi c M ds g pi : 0 <= eta -> off_by eta M (narrow eta M) /\
  (feasible_by (narrow eta M) phi c M ds g pi -> feasible_within (phi - eta) c M ds g
    pi).
Proof.
  intros H. split.
  - intros h rho d. unfold narrow. destruct (Rle_dec _ _); lra.
  - intros (R & P & Z). split; [exact R|]. split; [exact P|]. intros d D.
    specialize (Z d D). unfold narrow in Z. destruct (Rle_dec _ _); lra.
Qed.

Lemma wide_is eta phi c M ds g pi : 0 <= eta <= phi -> off_by eta M (wide eta M) /\
  (feasible_within (phi + eta) c M ds g pi -> feasible_by (wide eta M) phi c M ds g pi).
Proof.
  intros H. split.
  - intros h rho d. unfold wide. destruct (Rle_dec _ _); [lra|].
    destruct (Rle_dec _ _); lra.
  - intros (R & P & Z). split; [exact R|]. split; [exact P|]. intros d D.
    specialize (Z d D). unfold wide. destruct (Rle_dec _ _); [lra|].
    destruct (Rle_dec _ _); lra.
Qed.

(** Up to the ceiling, the optimum of a satisfiable formula is above that of one with
    u = sW, whatever the estimates, if and only if 3 eta + s (phi + eta) / 3 < s / 60. *)
Theorem estimates_decide n f y k e z u phi eta :
  three_sat_form n f -> satisfiable f ->
  three_sat_form k e -> least_unsatisfied e u ->
  let s := IZR u / IZR (total_weight e) in
  0 <= eta <= phi -> phi + eta <= strict_ceiling s ->
  (forall hat eat,
     off_by eta (member strict n f y) hat -> off_by eta (member strict k e z) eat ->
     exists g pi,
       feasible_by hat phi strict (member strict n f y) (hard_program strict n f) g pi
         /\
       forall h rho,
         feasible_by eat phi strict (member strict k e z) (hard_program strict k e) h
           rho ->
         h Start < g Start) <->
  3 * eta + s * (phi + eta) / 3 < s / 60.
Proof.
  intros TF SF TE UE s B K. pose proof (share_range k e u TE UE) as S. fold s in S.
  assert (UF : least_unsatisfied f 0).
  { pose proof (least_exists n f TF) as X.
    rewrite satisfiable_iff in SF by (apply TF || exact X).
    rewrite <- SF. exact X. }
  pose proof (ceiling_small k e u (phi + eta) TE UE K) as [small _].
  assert (V0 : IZR 0 / IZR (total_weight f) = 0) by (unfold Rdiv; ring).
  assert (OF : optimum_within (phi - eta) strict (member strict n f y)
    (hard_program strict n f) (strict_within 0 (phi - eta))).
  { rewrite <- V0. apply (optimum_strict_within n f y 0 _ TF UF). rewrite V0.
    unfold strict_ceiling. lra. }
  assert (OE : optimum_within (phi + eta) strict (member strict k e z)
    (hard_program strict k e) (strict_within s (phi + eta)))
    by (apply (optimum_strict_within k e z u _ TE UE); fold s; lra).
  assert (A : strict_within s (phi + eta) < strict_within 0 (phi - eta) <->
    3 * eta + s * (phi + eta) / 3 < s / 60) by (unfold strict_within; lra).
  rewrite <- A. split.
  - intros H. destruct OE as [_ (h & rho & G & <-)].
    destruct (narrow_is eta phi strict (member strict n f y) (hard_program strict n f) h
      rho)
      as [N _]; [lra|].
    destruct (wide_is eta phi strict (member strict k e z) (hard_program strict k e) h
      rho)
      as [D E]; [lra|].
    destruct (H _ _ N D) as (g & pi & F & Q).
    apply (Rlt_le_trans _ _ _ (Q h rho (E G))).
    apply (proj1 OF g pi), (narrow_is eta phi); [lra|exact F].
  - intros Q hat eat OH OT. destruct OF as [_ (g & pi & F & G)]. exists g, pi.
    split; [apply (within_estimates eta phi _ _ hat _ g pi OH), F|].
    intros h rho E. rewrite G. apply (Rle_lt_trans _ (strict_within s (phi + eta)));
      [|exact Q].
    apply (proj1 OE h rho), (within_estimates eta phi _ _ eat _ h rho OT), E.
Qed.
