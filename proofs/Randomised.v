(** Randomised policies do not help: the optimum of the hard program is the same when
    the policy may draw its actions. Each clause state is bound alone, so that taking
    its best action only raises what s0 can promise. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum.
Import ListNotations.
Open Scope R_scope.

(** Actions with their chances. *)
Definition randomised := state -> list (action * R).

Definition mean_over (l : list (action * R)) (h : action -> R) : R :=
  sum (fun aq => snd aq * h (fst aq)) l.

Definition is_randomised (M : mdp) (pi : randomised) : Prop :=
  forall x, is_state M x = true -> mean_over (pi x) (fun _ => 1) = 1 /\
    forall a q, In (a, q) (pi x) -> 0 <= q /\ legal M x a = true.

Definition backup (M : mdp) (g : state -> R) (x : state) (a : action) : R :=
  Q2R (reward M x a) + expect (transition M x a) g.

Definition randomised_error (M : mdp) (g : state -> R) (pi : randomised)
    (d : distribution) : R :=
  expect d (fun x => g x - mean_over (pi x) (backup M g x)).

Definition randomised_feasible (c : construction) (M : mdp)
    (constraints : list distribution) (g : state -> R) (pi : randomised) : Prop :=
  in_range c M g /\ is_randomised M pi /\
  forall d, In d constraints -> randomised_error M g pi d = 0.

Definition randomised_optimum (c : construction) (M : mdp)
    (constraints : list distribution) (v : R) : Prop :=
  (forall g pi, randomised_feasible c M constraints g pi -> g Start <= v) /\
  (exists g pi, randomised_feasible c M constraints g pi /\ g Start = v).

(** ** The best of the actions drawn *)

Fixpoint best (h : action -> R) (l : list (action * R)) (a : action) : action :=
  match l with
  | [] => a
  | (b, _) :: l => if Rle_dec (h a) (h b) then best h l b else best h l a
  end.

Lemma best_least h l : forall a, h a <= h (best h l a) /\
  forall b q, In (b, q) l -> h b <= h (best h l a).
Proof.
  induction l as [|[b q] l IH]; intros a; simpl; [split; [lra|intros _ _ []]|].
  destruct (Rle_dec (h a) (h b)) as [L|L];
    [destruct (IH b) as [A B]|destruct (IH a) as [A B]];
    (split; [lra|]); intros z s [E|I]; try (injection E as <- <-; lra); apply (B z s I).
Qed.

Lemma best_in h l : forall a, best h l a = a \/ exists q, In (best h l a, q) l.
Proof.
  induction l as [|[b q] l IH]; intros a; simpl; [auto|].
  destruct (Rle_dec (h a) (h b)).
  - destruct (IH b) as [->|[s I]]; right; eauto.
  - destruct (IH a) as [E|[s I]]; [auto|right; eauto].
Qed.

Lemma mean_at_most l h v : mean_over l (fun _ => 1) = 1 ->
  (forall a q, In (a, q) l -> 0 <= q /\ h a <= v) -> mean_over l h <= v.
Proof.
  intros S B. unfold mean_over in *.
  replace v with (v * sum (fun aq : action * R => snd aq * 1) l) by (rewrite S; ring).
  rewrite <- sum_scale. apply sum_le. intros [a q] I. simpl.
  destruct (B a q I). nra.
Qed.

Lemma mean_of_one l h a : mean_over l (fun _ => 1) = 1 ->
  (forall b q, In (b, q) l -> b = a) -> mean_over l h = h a.
Proof.
  intros S B. unfold mean_over in *.
  replace (h a) with (h a * sum (fun aq : action * R => snd aq * 1) l) by (rewrite S;
    ring).
  rewrite <- sum_scale. apply sum_ext. intros [b q] I. simpl. rewrite (B b q I). ring.
Qed.

Lemma expect_ext d h k :
  (forall x q, In (x, q) d -> h x = k x) -> expect d h = expect d k.
Proof.
  unfold expect. induction d as [|[x q] d IH]; simpl; intros E; [reflexivity|].
  rewrite (E x q (or_introl eq_refl)), IH; [reflexivity|].
  intros z s I. apply (E z s). right. exact I.
Qed.

Section Randomised.
Variables (c : construction) (n : nat) (f : formula) (y : assignment).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.

Let M := member c n f y.
Let hard := hard_program c n f.

Section Pair.
Variables (g : state -> R) (pi : randomised).
Hypothesis F : randomised_feasible c M hard g pi.

(** The best action at each clause state, and its value. *)
Definition sharpened_policy (start : action) (x : state) : action :=
  match x with
  | Start => start
  | ClauseState _ => best (backup M g x) (pi x) (fst (hd (Go, 0) (pi x)))
  | _ => Go
  end.

Definition sharpened_clause (x : state) : R :=
  match x with
  | ClauseState j => backup M g x (sharpened_policy Solve x)
  | _ => g x
  end.

Definition sharpened (start : action) (x : state) : R :=
  match x with
  | Start => backup M sharpened_clause Start start
  | _ => sharpened_clause x
  end.

Lemma drawn x : is_state M x = true -> pi x <> [].
Proof.
  intros S E. destruct F as (_ & R & _). destruct (R x S) as [N _].
  rewrite E in N. unfold mean_over in N. simpl in N. lra.
Qed.

Lemma sharpened_drawn x : is_state M x = true ->
  match x with ClauseState _ => True | _ => False end ->
  exists q, In (sharpened_policy Solve x, q) (pi x).
Proof.
  intros S K. destruct x; try destruct K. simpl.
  destruct (best_in (backup M g (ClauseState j)) (pi (ClauseState j))
    (fst (hd (Go, 0) (pi (ClauseState j))))) as [->|E]; [|exact E].
  pose proof (drawn _ S) as N. destruct (pi (ClauseState j)) as [|[a q] l];
    [congruence|].
  exists q. left. reflexivity.
Qed.

Lemma sharpened_legal start : legal M Start start = true ->
  is_policy M (sharpened_policy start).
Proof.
  intros L x S. destruct x as [|j|i|i b| |]; try exact L; try reflexivity.
  destruct (sharpened_drawn (ClauseState j) S I) as [q D]. destruct F as (_ & R & _).
  apply (proj2 (R _ S) _ q D).
Qed.

(** Where only one action is legal nothing is drawn. *)
Lemma only_go x : is_state M x = true ->
  match x with Start | ClauseState _ => False | _ => True end ->
  mean_over (pi x) (backup M g x) = backup M g x Go.
Proof.
  intros S K. destruct F as (_ & R & _). destruct (R x S) as [N A].
  apply mean_of_one; [exact N|]. intros b q D. destruct (A b q D) as [_ L].
  destruct x; try destruct K; destruct b; simpl in L; try discriminate L; reflexivity.
Qed.

Lemma clause_raised j : (j < length f)%nat ->
  g (ClauseState j) <= sharpened_clause (ClauseState j).
Proof.
  intros J. pose proof F as (_ & R & Z).
  pose proof (Z _ (in_hard_clause c n f j J)) as E.
  unfold randomised_error in E. rewrite expect_point in E.
  assert (S : is_state M (ClauseState j) = true) by (apply Nat.ltb_lt, J).
  destruct (R _ S) as [N A].
  assert (mean_over (pi (ClauseState j)) (backup M g (ClauseState j)) <=
    sharpened_clause (ClauseState j)); [|lra].
  apply mean_at_most; [exact N|]. intros a q D. split; [apply (A a q D)|].
  exact (proj2 (best_least (backup M g (ClauseState j)) (pi (ClauseState j)) _) a q D).
Qed.

Lemma pair_holds i : (i < n)%nat ->
  g (LiteralState i false) + g (LiteralState i true) = Q2R (top c).
Proof.
  intros H. pose proof F as (_ & _ & Z). pose proof (Z _ (in_hard_pair c n f i H)) as E.
  unfold randomised_error, pair_of in E. cbn [expect fold_right fst snd] in E.
  rewrite !only_go in E by (exact Logic.I || (simpl; apply Nat.ltb_lt, H)).
  unfold backup in E. simpl in E. rewrite Q2R_half in E.
  destruct (y i); simpl in E; rewrite Q2R_0 in E; lra.
Qed.

Lemma literal_top i b : (i < n)%nat -> 0 <= g (LiteralState i b) <= Q2R (top c).
Proof.
  intros H. pose proof (pair_holds i H). destruct F as (R & _).
  assert (L : forall e, 0 <= g (LiteralState i e))
    by (intros e; apply (R (LiteralState i e)); simpl; apply Nat.ltb_lt, H).
  pose proof (L false). pose proof (L true). destruct b; lra.
Qed.

Lemma bottom_zero : quits c = true -> g Bottom = 0.
Proof.
  intros Q. pose proof F as (_ & _ & Z). pose proof (Z _ (in_hard_bottom c n f Q)) as E.
  unfold randomised_error in E. rewrite expect_point, only_go in E;
    [|simpl; rewrite Q; reflexivity|exact Logic.I].
  unfold backup in E. simpl in E. rewrite Q2R_0 in E. lra.
Qed.

Lemma clause_top j : (j < length f)%nat ->
  0 <= sharpened_clause (ClauseState j) <= Q2R (top c).
Proof.
  intros J. pose proof (top_positive c C) as T0.
  assert (S : is_state M (ClauseState j) = true) by (apply Nat.ltb_lt, J).
  pose proof (sharpened_legal Solve eq_refl (ClauseState j) S) as L.
  destruct (nth_error_below f j J) as [w E].
  destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & K & V1 & V2
    & V3).
  unfold sharpened_clause, backup.
  set (a := sharpened_policy Solve (ClauseState j)) in *.
  clearbody a. simpl. rewrite E, Q2R_0.
  destruct a; simpl in L |- *; try discriminate L.
  - unfold clause_transition, literal_state. rewrite K. simpl. rewrite Q2R_third.
    pose proof (literal_top _ (Bool.eqb (positive l1) b1) V1).
    pose proof (literal_top _ (Bool.eqb (positive l2) b2) V2).
    pose proof (literal_top _ (Bool.eqb (positive l3) b3) V3). lra.
  - rewrite Q2R_1, (bottom_zero L). lra.
Qed.

Lemma raised x : is_state M x = true -> g x <= sharpened_clause x.
Proof.
  intros S. destruct x; try (simpl; lra). apply clause_raised, Nat.ltb_lt, S.
Qed.

(** With an action of s0 the sharpened pair is feasible, or promises less than 0. *)
Lemma sharpened_feasible start : legal M Start start = true ->
  0 <= sharpened start Start <= Q2R (upper c Start) ->
  feasible c M hard (sharpened start) (sharpened_policy start).
Proof.
  intros L V. pose proof (sharpened_legal start L) as P. pose proof F as (R & _ & Z).
  split; [|split; [exact P|]].
  - intros x S. destruct x as [|j|i|i b| |]; try (apply R, S); [exact V|].
    pose proof (clause_room c C j). apply Nat.ltb_lt in S.
    pose proof (clause_top j S). simpl in *. lra.
  - assert (B : forall d, In d hard ->
      (forall x q, In (x, q) d -> x <> Start /\ (forall j, x <> ClauseState j) /\
         is_state M x = true /\ backup M (sharpened start) x Go = backup M g x Go) ->
      bellman_error M (sharpened start) (sharpened_policy start) d = 0).
    { intros d D H. rewrite <- (Z d D). apply expect_ext. intros x q I.
      destruct (H x q I) as (N1 & N2 & S & E).
      rewrite only_go by (exact S || (destruct x; auto; congruence)).
      rewrite <- E. unfold backup. destruct x; try congruence; reflexivity. }
    intros d D. pose proof D as K. unfold hard, hard_program in K.
    apply in_app_or in K as [[<-|[]]|K].
    { rewrite bellman_point. simpl sharpened_policy.
      change (sharpened start Start) with (backup M sharpened_clause Start start).
      unfold backup. assert (X : forall h k, (forall x, x <> Start -> h x = k x) ->
        expect (transition M Start start) h = expect (transition M Start start) k).
      { intros h k E. destruct start as [i|j| | | |]; try discriminate L; simpl.
        - destruct (layered c); simpl; rewrite !E by discriminate; reflexivity.
        - rewrite !E by discriminate. reflexivity.
        - rewrite !(solve_expect c f) by apply (total_above_0 n f T).
          rewrite E by discriminate. f_equal. f_equal. apply sum_ext. intros jw _.
          rewrite E by discriminate. reflexivity. }
      rewrite (X (sharpened start) sharpened_clause); [ring|].
      intros x N. destruct x; congruence || reflexivity. }
    apply in_app_or in K as [K|K].
    { apply in_map_iff in K as (j & <- & J). apply in_seq in J.
      rewrite bellman_point. simpl (sharpened_policy start _).
      change (sharpened start (ClauseState j)) with (backup M g (ClauseState j)
        (best (backup M g (ClauseState j)) (pi (ClauseState j))
           (fst (hd (Go, 0) (pi (ClauseState j)))))).
      set (a := best _ _ _). unfold backup.
      assert (E : expect (transition M (ClauseState j) a) (sharpened start) =
        expect (transition M (ClauseState j) a) g); [|rewrite E; ring].
      destruct a; simpl; try reflexivity.
      destruct (nth_error f j) as [w|]; [|reflexivity]. unfold clause_transition.
      destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; reflexivity. }
    apply in_app_or in K as [K|K].
    { destruct (layered c) eqn:Y; [|destruct K].
      apply in_map_iff in K as (i & <- & J). apply in_seq in J. apply (B _ D).
      intros x q [E|[]]. injection E as <- <-. repeat split; try discriminate.
      simpl. rewrite Y. apply Nat.ltb_lt. lia. }
    apply in_app_or in K as [K|K].
    { apply in_map_iff in K as (i & <- & J). apply in_seq in J. apply (B _ D).
      intros x q [E|[E|[]]]; injection E as <- <-; repeat split; try discriminate;
        simpl; apply Nat.ltb_lt; lia. }
    destruct (quits c) eqn:Y; [|destruct K]. destruct K as [<-|[]]. apply (B _ D).
    intros x q [E|[]]. injection E as <- <-. repeat split; try discriminate.
    simpl. rewrite Y. reflexivity.
Qed.

Lemma sharpened_at_most start : legal M Start start = true ->
  backup M g Start start <= sharpened start Start <= Q2R (upper c Start).
Proof.
  intros L. change (sharpened start Start) with (backup M sharpened_clause Start start).
  pose proof (top_positive c C). pose proof (share_positive c) as S0.
  unfold backup. destruct start as [i|j| | | |]; try discriminate L; simpl in L |- *.
  - apply Nat.ltb_lt in L. pose proof (variable_worse c C). pose proof (solve_room c C).
    assert (0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat; assumption).
    destruct (layered c) eqn:Y; simpl; rewrite ?Q2R_1, ?Q2R_half.
    + pose proof F as (_ & _ & Z). pose proof (Z _ (in_hard_variable c n f i Y L)) as E.
      unfold randomised_error in E. rewrite expect_point, only_go in E;
        [|simpl; rewrite Y; apply Nat.ltb_lt, L|exact Logic.I].
      unfold backup in E. simpl in E. rewrite Q2R_half, Q2R_0 in E.
      pose proof (pair_holds i L). lra.
    + pose proof (pair_holds i L). lra.
  - apply Nat.ltb_lt in L. rewrite Q2R_1. pose proof (try_room c C).
    pose proof (clause_raised j L). pose proof (clause_top j L). simpl in *. lra.
  - rewrite !(solve_expect c f) by apply (total_above_0 n f T).
    pose proof (solve_room c C). pose proof (W_above_0 n f T) as W0.
    set (W := IZR (total_weight f)) in *.
    assert (D : (if diluted c then g Detour / 2 else 0) = 0).
    { destruct (diluted c) eqn:D; [|reflexivity]. destruct F as (R & _).
      pose proof (detour_worthless c C D). specialize (R Detour). simpl in R.
      rewrite D in R. specialize (R eq_refl). lra. }
    change (sharpened_clause Detour) with (g Detour). rewrite D.
    assert (SW : 0 < Q2R (share c) / W) by (apply Rdiv_lt_0_compat; assumption).
    assert (J : forall j w, In (j, w) (numbered f) ->
      (j < length f)%nat /\ 0 <= IZR (weight w)).
    { intros j w I. apply in_numbered in I. split; [apply nth_error_Some; congruence|].
      destruct T as (_ & Pos & _). apply IZR_le.
      pose proof (Pos w (nth_error_In _ _ I)). lia. }
    assert (A : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
      (numbered f)
      <= sum (fun jw => IZR (weight (snd jw)) * sharpened_clause (ClauseState (fst jw)))
           (numbered f)).
    { apply sum_le. intros [j w] I. destruct (J j w I) as [K N].
      apply Rmult_le_compat_l; [exact N|apply clause_raised, K]. }
    assert (B : sum (fun jw => IZR (weight (snd jw)) * sharpened_clause (ClauseState
      (fst jw)))
           (numbered f) <= W * Q2R (top c)).
    { unfold W. rewrite <- sum_weights. apply sum_le. intros [j w] I.
      destruct (J j w I) as [K N].
      apply Rmult_le_compat_l; [exact N|apply clause_top, K]. }
    assert (E : Q2R (share c) / W * (W * Q2R (top c)) = Q2R (share c) * Q2R (top c))
      by (field; lra).
    apply Rmult_le_compat_l with (r := Q2R (share c) / W) in A; [|lra].
    apply Rmult_le_compat_l with (r := Q2R (share c) / W) in B; [|lra].
    simpl in *. lra.
Qed.
End Pair.

(** Drawing actions does not raise the optimum. *)
Theorem randomised_policies_do_not_help v :
  optimum c M hard v -> randomised_optimum c M hard v.
Proof.
  intros [U (g0 & pi0 & (R0 & P0 & Z0) & V0)]. split.
  - intros g pi F. pose proof F as (_ & R & Z).
    pose proof (Z _ (in_hard_start c n f)) as E.
    unfold randomised_error in E. rewrite expect_point in E.
    destruct (R Start eq_refl) as [N A].
    assert (mean_over (pi Start) (backup M g Start) <= v); [|lra].
    apply mean_at_most; [exact N|]. intros a q D. destruct (A a q D) as [Q L].
    split; [exact Q|]. destruct (sharpened_at_most g pi F a L) as [B1 B2].
    pose proof (proj1 (R0 Start eq_refl)).
    destruct (Rlt_le_dec (sharpened g pi a Start) 0) as [S|S]; [lra|].
    pose proof (U _ _ (sharpened_feasible g pi F a L (conj S B2))). lra.
  - exists g0, (fun x => [(pi0 x, 1)]). split; [|exact V0]. split; [exact R0|]. split.
    + intros x S. unfold mean_over. simpl. split; [ring|].
      intros a q [E|[]]. injection E as <- <-. split; [lra|apply P0, S].
    + intros d D. rewrite <- (Z0 d D). apply expect_ext. intros x q _.
      unfold mean_over, backup. simpl. ring.
Qed.
End Randomised.
