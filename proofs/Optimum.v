(** Theorem O for every construction at once: its optimum is the larger of what
    [solve] and [try C_j] can be worth. Optima.v has the variants.

    The pair constraints leave the literal values a product of segments, so
    Vertex.v rounds any feasible pair to an assignment; an assignment's own pair
    is feasible. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex.
Import ListNotations.
Open Scope R_scope.

(** What the theorem needs of a construction. *)
Record sound (c : construction) : Prop := Sound {
  top_positive : 0 < Q2R (top c);
  solve_nonnegative : 0 <= Q2R (solve_reward c);
  solve_room : Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) <= Q2R (upper c
    Start);
  try_nonnegative : 0 <= Q2R (clause_reward c) + Q2R (top c);
  try_room : Q2R (clause_reward c) + Q2R (top c) <= Q2R (upper c Start);
  variable_worse :
    Q2R (variable_reward c) + Q2R (top c) / 2 <=
    Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) * (5 / 6);
  clause_room : forall j, Q2R (top c) <= Q2R (upper c (ClauseState j));
  variable_room : forall i, Q2R (top c) / 2 <= Q2R (upper c (VariableState i));
  literal_room : forall i b, Q2R (top c) <= Q2R (upper c (LiteralState i b));
  detour_worthless : diluted c = true -> Q2R (upper c Detour) = 0;
  bottom_room : 0 <= Q2R (upper c Bottom)
}.

Lemma bellman_point M g pi x :
  bellman_error M g pi (point x) =
  g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g).
Proof. unfold bellman_error, point. simpl. rewrite Q2R_1. ring. Qed.

Lemma feasible_more s t c M ds g pi : s <= t ->
  feasible_within s c M ds g pi -> feasible_within t c M ds g pi.
Proof.
  intros L (R & P & Z). split; [exact R|]. split; [exact P|].
  intros d D. specialize (Z d D). lra.
Qed.

Lemma feasible_exact c M ds g pi :
  feasible c M ds g pi <-> feasible_within 0 c M ds g pi.
Proof.
  split; intros (R & P & Z); (split; [exact R|]; split; [exact P|]);
    intros d D; specialize (Z d D); lra.
Qed.

Lemma optimum_exact c M ds v :
  optimum c M ds v <-> optimum_within 0 c M ds v.
Proof.
  split; (intros [U (g & pi & F & E)]; split;
    [intros h rho H; apply (U h rho), feasible_exact, H|
     exists g, pi; split; [apply feasible_exact, F|exact E]]).
Qed.

Lemma share_positive c : 0 < Q2R (share c).
Proof. unfold share. destruct (diluted c); rewrite ?Q2R_1, ?Q2R_half; lra. Qed.

Lemma solve_expect c f h : (0 < total_weight f)%Z ->
  expect (solve_transition c f) h =
  (if diluted c then h Detour / 2 else 0) +
  Q2R (share c) / IZR (total_weight f) *
  sum (fun jw => IZR (weight (snd jw)) * h (ClauseState (fst jw))) (numbered f).
Proof.
  intros W. unfold solve_transition. rewrite expect_app. f_equal.
  - destruct (diluted c); simpl; rewrite ?Q2R_half; lra.
  - unfold expect. fold (sum (A := state * Q)).
    change (sum (fun xq : state * Q => Q2R (snd xq) * h (fst xq))
      (map (fun jw => (ClauseState (fst jw),
         share c * (weight (snd jw) # Z.to_pos (total_weight f)))%Q) (numbered f)) =
      Q2R (share c) / IZR (total_weight f) *
      sum (fun jw => IZR (weight (snd jw)) * h (ClauseState (fst jw))) (numbered f)).
    rewrite sum_map, <- sum_scale. apply sum_ext. intros [j w] _. simpl.
    rewrite Q2R_mult. unfold Q2R at 2. simpl. rewrite Z2Pos.id by exact W.
    unfold Rdiv. ring.
Qed.

(** ** What the constraints say of a feasible pair *)

Section Feasible.
Variables (c : construction) (n : nat) (f : formula) (y : assignment).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.

Let M := member c n f y.
Let W := IZR (total_weight f).

Lemma total_above_0 : (0 < total_weight f)%Z.
Proof. destruct T as (N & P & _). apply total_positive; assumption. Qed.

Lemma W_above_0 : 0 < W.
Proof. apply IZR_lt, total_above_0. Qed.

Lemma three_literals w : In w f -> exists l1 l2 l3, body w = [l1; l2; l3] /\
  (variable l1 < n)%nat /\ (variable l2 < n)%nat /\ (variable l3 < n)%nat.
Proof.
  intros H. destruct T as (_ & _ & B). destruct (B w H) as [L V].
  destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try discriminate L.
  exists l1, l2, l3. repeat split; apply V; simpl; auto.
Qed.

Lemma literal_go (pi : state -> action) i b : is_policy M pi -> (i < n)%nat ->
  pi (LiteralState i b) = Go.
Proof.
  intros P H. specialize (P (LiteralState i b)). simpl in P.
  rewrite (proj2 (Nat.ltb_lt i n) H) in P. specialize (P eq_refl).
  destruct (pi (LiteralState i b)); congruence.
Qed.

Lemma pair_error g pi i : is_policy M pi -> (i < n)%nat ->
  bellman_error M g pi (pair_of i) =
  (g (LiteralState i false) + g (LiteralState i true) - Q2R (top c)) / 2.
Proof.
  intros P H. unfold bellman_error, pair_of. simpl.
  rewrite !literal_go by assumption. simpl. rewrite Q2R_half.
  destruct (y i); simpl; rewrite Q2R_0; lra.
Qed.

Lemma clause_error g pi j w : nth_error f j = Some w ->
  bellman_error M g pi (point (ClauseState j)) =
  g (ClauseState j) -
  match pi (ClauseState j) with
  | Spell b1 b2 b3 => expect (clause_transition w b1 b2 b3) g
  | Quit => g Bottom
  | _ => 0
  end.
Proof.
  intros E. rewrite bellman_point. simpl. rewrite Q2R_0, E.
  destruct (pi (ClauseState j)); simpl; rewrite ?Q2R_1; ring.
Qed.

Lemma variable_error g pi i : is_policy M pi -> layered c = true -> (i < n)%nat ->
  bellman_error M g pi (point (VariableState i)) =
  g (VariableState i) - (g (LiteralState i false) + g (LiteralState i true)) / 2.
Proof.
  intros P L H. rewrite bellman_point.
  assert (G : pi (VariableState i) = Go).
  { specialize (P (VariableState i)). simpl in P.
    rewrite L, (proj2 (Nat.ltb_lt i n) H) in P. specialize (P eq_refl).
    destruct (pi (VariableState i)); congruence. }
  rewrite G. simpl. rewrite Q2R_0, Q2R_half. lra.
Qed.

Lemma start_error g pi :
  bellman_error M g pi (point Start) =
  g Start -
  match pi Start with
  | TryVariable i => Q2R (variable_reward c) +
      (if layered c then g (VariableState i)
       else (g (LiteralState i false) + g (LiteralState i true)) / 2)
  | TryClause j => Q2R (clause_reward c) + g (ClauseState j)
  | Solve => Q2R (solve_reward c) + (if diluted c then g Detour / 2 else 0) +
      Q2R (share c) / W *
      sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw))) (numbered f)
  | _ => 0
  end.
Proof.
  rewrite bellman_point. simpl.
  destruct (pi Start); simpl; rewrite ?Q2R_0; try ring.
  - destruct (layered c); simpl; rewrite ?Q2R_1, ?Q2R_half; lra.
  - rewrite Q2R_1. ring.
  - rewrite (solve_expect c f g total_above_0). unfold W. ring.
Qed.

(** *** The consequences, all constraints of the hard program taken together *)

Section Pair.
Variables (g : state -> R) (pi : state -> action).
Hypothesis F : feasible c M (hard_program c n f) g pi.

Lemma in_hard_start : In (point Start) (hard_program c n f).
Proof. unfold hard_program. simpl. auto. Qed.

Lemma in_hard_clause j : (j < length f)%nat ->
  In (point (ClauseState j)) (hard_program c n f).
Proof.
  intros H. unfold hard_program. apply in_or_app; right. apply in_or_app; left.
  apply (in_map (fun j => point (ClauseState j))), in_seq. lia.
Qed.

Lemma in_hard_variable i : layered c = true -> (i < n)%nat ->
  In (point (VariableState i)) (hard_program c n f).
Proof.
  intros L H. unfold hard_program. rewrite L. do 2 (apply in_or_app; right).
  apply in_or_app; left.
  apply (in_map (fun i => point (VariableState i))), in_seq. lia.
Qed.

Lemma in_hard_pair i : (i < n)%nat -> In (pair_of i) (hard_program c n f).
Proof.
  intros H. unfold hard_program. do 3 (apply in_or_app; right).
  apply in_or_app; left. apply in_map, in_seq. lia.
Qed.

Lemma in_hard_bottom : quits c = true -> In (point Bottom) (hard_program c n f).
Proof.
  intros Q. unfold hard_program. rewrite Q. do 4 (apply in_or_app; right).
  simpl; auto.
Qed.

Lemma pair_sum i : (i < n)%nat ->
  g (LiteralState i false) + g (LiteralState i true) = Q2R (top c).
Proof.
  intros H. destruct F as (_ & P & B). specialize (B _ (in_hard_pair i H)).
  rewrite pair_error in B by assumption. lra.
Qed.

Lemma literal_range i b : (i < n)%nat -> 0 <= g (LiteralState i b).
Proof.
  intros H. destruct F as (I & _). apply (I (LiteralState i b)). simpl.
  apply Nat.ltb_lt, H.
Qed.

Definition truth_of (i : nat) : R :=
  if (i <? n)%nat then g (LiteralState i true) / Q2R (top c) else 0.

Lemma truth_range i : 0 <= truth_of i <= 1.
Proof.
  unfold truth_of. destruct (i <? n)%nat eqn:E; [|lra]. apply Nat.ltb_lt in E.
  pose proof (top_positive c C). pose proof (literal_range i true E).
  pose proof (literal_range i false E). pose proof (pair_sum i E).
  split.
  - apply Rmult_le_pos; [assumption|]. apply Rlt_le, Rinv_0_lt_compat; assumption.
  - apply Rmult_le_reg_r with (Q2R (top c)); [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma literal_value l b : (variable l < n)%nat ->
  g (literal_state l b) = Q2R (top c) * truth truth_of l b.
Proof.
  intros H. pose proof (top_positive c C). pose proof (pair_sum _ H).
  unfold truth, truth_of, literal_state. rewrite (proj2 (Nat.ltb_lt _ _) H).
  destruct (Bool.eqb (positive l) b); field_simplify; lra.
Qed.

Lemma clause_value j w : nth_error f j = Some w ->
  g (ClauseState j) = Q2R (top c) * spelled truth_of w (pi (ClauseState j)).
Proof.
  intros E. pose proof (nth_error_In _ _ E) as I.
  assert (J : (j < length f)%nat) by (apply nth_error_Some; congruence).
  destruct F as (R & P & B). pose proof (B _ (in_hard_clause j J)) as K.
  rewrite (clause_error g pi j w E) in K.
  destruct (three_literals w I) as (l1 & l2 & l3 & S & V1 & V2 & V3).
  specialize (P (ClauseState j)). simpl in P.
  rewrite (proj2 (Nat.ltb_lt _ _) J) in P. specialize (P eq_refl).
  unfold spelled, clause_transition in *. rewrite S in *.
  destruct (pi (ClauseState j)); try discriminate P.
  - simpl in K. rewrite Q2R_third, !literal_value in K by assumption. lra.
  - pose proof (B _ (in_hard_bottom P)) as Z. rewrite bellman_point in Z.
    simpl in Z. replace (match pi Bottom with Go => [] | _ => [] end)
      with (@nil (state * Q)) in Z by (destruct (pi Bottom); reflexivity).
    simpl in Z. rewrite Q2R_0 in Z. lra.
Qed.

Lemma spelled_at_most_1 w a : spelled truth_of w a <= 1.
Proof.
  unfold spelled. destruct a; try lra.
  destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try lra.
  assert (L : forall l b, truth truth_of l b <= 1).
  { intros l b. unfold truth. pose proof (truth_range (variable l)).
    destruct (Bool.eqb _ _); lra. }
  pose proof (L l1 b1); pose proof (L l2 b2); pose proof (L l3 b3). lra.
Qed.

(** The way back: whatever [solve] is worth, some assignment is worth it. *)
Theorem solve_rounds : pi Start = Solve -> exists a,
  g Start <= Q2R (solve_reward c) +
    Q2R (share c) * Q2R (top c) * (1 - IZR (unsatisfied a f) / (3 * W)).
Proof.
  intros S. destruct F as (R & P & B).
  pose proof (B _ in_hard_start) as K. rewrite start_error, S in K.
  assert (D : (if diluted c then g Detour / 2 else 0) = 0).
  { destruct (diluted c) eqn:D; [|reflexivity].
    pose proof (detour_worthless c C D). specialize (R Detour). simpl in R.
    rewrite D in R. specialize (R eq_refl). lra. }
  rewrite D in K.
  set (choice := fun j => pi (ClauseState j)).
  assert (E : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
                  (numbered f) = Q2R (top c) * spelled_sum truth_of f choice).
  { unfold spelled_sum. rewrite <- sum_scale. apply sum_ext. intros [j w] I. simpl.
    apply in_numbered in I. rewrite (clause_value j w I). unfold choice. ring. }
  rewrite E in K.
  destruct (best_assignment f choice n truth_of) as [a Ha].
  { apply T. }
  { exact truth_range. }
  { intros i Hi. unfold truth_of. rewrite (proj2 (Nat.ltb_ge _ _) Hi). reflexivity. }
  { intros j w b1 b2 b3 I Q. specialize (P (ClauseState j)). simpl in P.
    rewrite (proj2 (Nat.ltb_lt j (length f))) in P
      by (apply nth_error_Some; congruence).
    specialize (P eq_refl). unfold choice in Q. rewrite Q in P. exact P. }
  exists a. fold W in Ha.
  pose proof W_above_0 as W0. pose proof (top_positive c C) as T0.
  pose proof (share_positive c) as S0.
  replace (Q2R (share c) * Q2R (top c) * (1 - IZR (unsatisfied a f) / (3 * W)))
    with (Q2R (share c) / W * (Q2R (top c) * (W - IZR (unsatisfied a f) / 3)))
    by (field; lra).
  assert (Q2R (share c) / W * (Q2R (top c) * spelled_sum truth_of f choice) <=
          Q2R (share c) / W * (Q2R (top c) * (W - IZR (unsatisfied a f) / 3))).
  { apply Rmult_le_compat_l.
    - apply Rlt_le, Rdiv_lt_0_compat; assumption.
    - apply Rmult_le_compat_l; lra. }
  lra.
Qed.

Theorem try_clause_at_most j : pi Start = TryClause j ->
  g Start <= Q2R (clause_reward c) + Q2R (top c).
Proof.
  intros S. destruct F as (R & P & B).
  pose proof (B _ in_hard_start) as K. rewrite start_error, S in K.
  specialize (P Start eq_refl). rewrite S in P. simpl in P. apply Nat.ltb_lt in P.
  destruct (nth_error_below f j P) as [w E].
  rewrite (clause_value j w E) in K.
  pose proof (spelled_at_most_1 w (pi (ClauseState j))).
  pose proof (top_positive c C). nra.
Qed.

Theorem try_variable_value i : pi Start = TryVariable i ->
  g Start = Q2R (variable_reward c) + Q2R (top c) / 2.
Proof.
  intros S. destruct F as (R & P & B).
  pose proof (B _ in_hard_start) as K. rewrite start_error, S in K.
  pose proof (P Start eq_refl) as L. rewrite S in L. simpl in L. apply Nat.ltb_lt in L.
  rewrite <- (pair_sum i L).
  destruct (layered c) eqn:Y; [|lra].
  pose proof (B _ (in_hard_variable i Y L)) as X.
  rewrite variable_error in X by assumption. lra.
Qed.
End Pair.

(** ** An assignment's own pair *)

Definition forward_value (a : assignment) (v : R) (x : state) : R :=
  match x with
  | Start => v
  | ClauseState j =>
      match nth_error f j with
      | Some w => Q2R (top c) * (if clause_true a (body w) then 1 else 2 / 3)
      | None => 0
      end
  | VariableState _ => Q2R (top c) / 2
  | LiteralState i b => if Bool.eqb b (a i) then Q2R (top c) else 0
  | Detour | Bottom => 0
  end.

(** A true clause spells its truth values; a false one, worth 2/3, takes 001. *)
Definition spelling (a : assignment) (w : weighted) : action :=
  match body w with
  | [l1; l2; l3] =>
      if clause_true a (body w)
      then Spell (literal_true a l1) (literal_true a l2) (literal_true a l3)
      else Spell false false true
  | _ => Spell false false true
  end.

Definition forward_policy (a : assignment) (start : action) (x : state) : action :=
  match x with
  | Start => start
  | ClauseState j =>
      match nth_error f j with
      | Some w => spelling a w
      | None => Spell false false true
      end
  | _ => Go
  end.

Lemma forward_literal a v l b :
  forward_value a v (literal_state l b) =
  if Bool.eqb b (literal_true a l) then Q2R (top c) else 0.
Proof.
  unfold literal_state, literal_true. simpl.
  destruct (positive l), b, (a (variable l)); reflexivity.
Qed.

Lemma forward_policy_legal a start : legal M Start start = true ->
  is_policy M (forward_policy a start).
Proof.
  intros L [| j | i | i b | |] S; simpl in *; auto.
  destruct (nth_error f j) as [w|]; [|reflexivity].
  unfold spelling. destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try reflexivity.
  destruct (clause_true a _) eqn:E; [|reflexivity].
  simpl in E. rewrite orb_false_r, orb_assoc in E. exact E.
Qed.

Lemma forward_clause a v start j w : nth_error f j = Some w ->
  bellman_error M (forward_value a v) (forward_policy a start)
    (point (ClauseState j)) = 0.
Proof.
  intros E. rewrite (clause_error _ _ j w E). cbn [forward_value forward_policy].
  rewrite E.
  destruct (three_literals w (nth_error_In _ _ E)) as (l1 & l2 & l3 & S & _).
  unfold spelling, clause_transition. rewrite S.
  destruct (clause_true a [l1; l2; l3]) eqn:K; cbn [expect fold_right fst snd];
    rewrite !forward_literal, Q2R_third.
  - rewrite !eqb_reflx. lra.
  - simpl in K. destruct (literal_true a l1), (literal_true a l2),
      (literal_true a l3); try discriminate K. simpl. lra.
Qed.

Lemma forward_range a v : 0 <= v <= Q2R (upper c Start) ->
  in_range c M (forward_value a v).
Proof.
  intros V x S. pose proof (top_positive c C).
  destruct x as [| j | i | i b | |]; simpl in *.
  - exact V.
  - pose proof (clause_room c C j).
    destruct (nth_error f j) as [w|]; [|lra]. destruct (clause_true _ _); lra.
  - pose proof (variable_room c C i). lra.
  - pose proof (literal_room c C i b). destruct (Bool.eqb _ _); lra.
  - rewrite (detour_worthless c C S). lra.
  - pose proof (bottom_room c C). lra.
Qed.

(** Only the value at s0 is left to check. *)
Theorem forward_feasible a v start :
  legal M Start start = true -> 0 <= v <= Q2R (upper c Start) ->
  bellman_error M (forward_value a v) (forward_policy a start) (point Start) = 0 ->
  feasible c M (hard_program c n f) (forward_value a v) (forward_policy a start).
Proof.
  intros L V B. pose proof (forward_policy_legal a start L) as P.
  split; [apply forward_range; exact V|]. split; [exact P|].
  intros d I. unfold hard_program in I.
  apply in_app_or in I as [[<-|[]]|I]; [exact B|].
  apply in_app_or in I as [I|I].
  { apply in_map_iff in I as (j & <- & J). apply in_seq in J.
    destruct (nth_error_below f j) as [w E]; [lia|].
    apply (forward_clause a v start j w E). }
  apply in_app_or in I as [I|I].
  { destruct (layered c) eqn:Y; [|destruct I].
    apply in_map_iff in I as (i & <- & J). apply in_seq in J.
    rewrite variable_error by (assumption || lia). simpl. destruct (a i); simpl; lra. }
  apply in_app_or in I as [I|I].
  { apply in_map_iff in I as (i & <- & J). apply in_seq in J.
    rewrite pair_error by (assumption || lia). simpl. destruct (a i); simpl; lra. }
  destruct (quits c); [|destruct I]. destruct I as [<-|[]].
  rewrite bellman_point. simpl. rewrite Q2R_0. lra.
Qed.

Definition solve_value (u : R) : R :=
  Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) * (1 - u / (3 * W)).

Lemma forward_solve a : 0 <= solve_value (IZR (unsatisfied a f)) <= Q2R (upper c Start)
  ->
  feasible c M (hard_program c n f)
    (forward_value a (solve_value (IZR (unsatisfied a f)))) (forward_policy a Solve).
Proof.
  intros V. apply forward_feasible; [reflexivity|exact V|].
  rewrite start_error. simpl.
  assert (E : sum (fun jw => IZR (weight (snd jw)) *
      match nth_error f (fst jw) with
      | Some w => Q2R (top c) * (if clause_true a (body w) then 1 else 2 / 3)
      | None => 0
      end) (numbered f) =
    Q2R (top c) * (W - IZR (unsatisfied a f) / 3)).
  { unfold W. rewrite <- sum_satisfied, <- sum_scale.
    rewrite <- (sum_numbered (fun w => Q2R (top c) * (IZR (weight w) *
      (if clause_true a (body w) then 1 else 2 / 3))) f).
    apply sum_ext. intros [j w] I. simpl. apply in_numbered in I. rewrite I. ring. }
  rewrite E. unfold solve_value. pose proof W_above_0.
  destruct (diluted c); field; lra.
Qed.

Lemma forward_try a j w : nth_error f j = Some w -> clause_true a (body w) = true ->
  feasible c M (hard_program c n f)
    (forward_value a (Q2R (clause_reward c) + Q2R (top c)))
    (forward_policy a (TryClause j)).
Proof.
  intros E K. apply forward_feasible.
  - simpl. apply Nat.ltb_lt, nth_error_Some. congruence.
  - pose proof (try_nonnegative c C). pose proof (try_room c C). lra.
  - rewrite start_error. simpl. rewrite E, K. lra.
Qed.

(** ** Theorem O *)

Lemma solve_value_bounds u : least_unsatisfied f u ->
  Q2R (solve_reward c) + Q2R (share c) * Q2R (top c) * (5 / 6) <= solve_value (IZR u)
  <= Q2R (solve_reward c) + Q2R (share c) * Q2R (top c).
Proof.
  intros L. destruct T as (_ & P & B).
  assert (H : (2 * u <= total_weight f)%Z).
  { apply least_at_most_half; [exact P| |exact L]. intros w I N.
    destruct (B w I) as [K _]. rewrite N in K. discriminate K. }
  assert (N : (0 <= u)%Z).
  { destruct L as [[a <-] _]. apply unsatisfied_nonnegative, P. }
  apply IZR_le in H. apply IZR_le in N. rewrite mult_IZR in H. fold W in H.
  pose proof W_above_0. pose proof (share_positive c). pose proof (top_positive c C).
  assert (0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat; assumption).
  assert (U : 0 <= IZR u / (3 * W) <= 1 / 6).
  { split.
    - apply Rmult_le_pos; [exact N|]. apply Rlt_le, Rinv_0_lt_compat. lra.
    - apply Rmult_le_reg_r with (3 * W); [lra|].
      unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  unfold solve_value. split; nra.
Qed.

Theorem optimum_general u : least_unsatisfied f u ->
  optimum c M (hard_program c n f)
    (Rmax (solve_value (IZR u)) (Q2R (clause_reward c) + Q2R (top c))).
Proof.
  intros L. pose proof (solve_value_bounds u L) as [LO HI].
  pose proof W_above_0. pose proof (share_positive c). pose proof (top_positive c C).
  assert (ST : 0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat;
    assumption).
  pose proof (solve_nonnegative c C). pose proof (solve_room c C).
  split.
  - intros g pi F. pose proof (Rmax_l (solve_value (IZR u))
      (Q2R (clause_reward c) + Q2R (top c))) as ML.
    pose proof (Rmax_r (solve_value (IZR u))
      (Q2R (clause_reward c) + Q2R (top c))) as MR.
    pose proof (proj1 (proj2 F) Start eq_refl) as A.
    destruct (pi Start) as [i | j | | | |] eqn:S; try discriminate A.
    + rewrite (try_variable_value g pi F i S). pose proof (variable_worse c C). lra.
    + pose proof (try_clause_at_most g pi F j S). lra.
    + destruct (solve_rounds g pi F S) as [a Ha].
      assert (Q : IZR u <= IZR (unsatisfied a f)) by (apply IZR_le, L).
      assert (D : IZR u / (3 * W) <= IZR (unsatisfied a f) / (3 * W)).
      { apply Rmult_le_compat_r; [|exact Q]. apply Rlt_le, Rinv_0_lt_compat. lra. }
      unfold solve_value in *. nra.
  - unfold Rmax. destruct (Rle_dec _ _) as [_|_].
    + assert (J : (0 < length f)%nat).
      { destruct T as (N & _). destruct (length f) eqn:E; [|lia].
        apply length_zero_iff_nil in E. congruence. }
      destruct (nth_error_below f 0 J) as [w E].
      destruct (three_literals w (nth_error_In _ _ E)) as (l1 & l2 & l3 & S & _).
      set (a := fun _ : nat => positive l1).
      exists (forward_value a (Q2R (clause_reward c) + Q2R (top c))),
        (forward_policy a (TryClause 0)).
      split; [|reflexivity]. apply forward_try with (w := w); [exact E|].
      rewrite S. simpl. unfold literal_true at 1, a. rewrite eqb_reflx. reflexivity.
    + destruct L as [[a Ha] _]. subst u.
      exists (forward_value a (solve_value (IZR (unsatisfied a f)))),
        (forward_policy a Solve).
      split; [|reflexivity]. apply forward_solve. split; [|lra].
      assert (0 <= Q2R (share c) * Q2R (top c) * (5 / 6)) by lra. lra.
Qed.
End Feasible.
