(** What feasible pairs are worth in [strict], and how large their errors can be.
    StrictRounds.v says from it what a round binds. *)

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
Variables (t : R) (ds : list distribution) (g : state -> R) (pi : state -> action).
Hypothesis F : feasible_within t strict M ds g pi.

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
  pi Start = Solve -> In (point Start) ds -> g Start <= 1 / 10 + b / 2 + t.
Proof.
  intros B S I. destruct F as (_ & _ & Z). specialize (Z _ I).
  unfold M in Z. rewrite start_error, S in Z by exact T. simpl in Z.
  rewrite detour_zero, upper_literal in Z. unfold share in Z. simpl in Z.
  rewrite Q2R_half in Z. pose proof (W_above_0 n f T) as W0.
  set (W := IZR (total_weight f)) in *.
  assert (K : sum (fun jw => IZR (weight (snd jw)) * g (ClauseState (fst jw)))
                  (numbered f) <= W * b).
  { unfold W. rewrite <- sum_weights. apply sum_le.
    intros [j w] J. simpl. apply in_numbered in J.
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
  bellman_error M g pi (point Start) = g Start - g (ClauseState j).
Proof.
  intros S. destruct F as (_ & P & _). specialize (P Start eq_refl).
  rewrite S in P. simpl in P. apply Nat.ltb_lt in P. split; [exact P|].
  unfold M. rewrite start_error, S by exact T. simpl. rewrite Q2R_0. ring.
Qed.

Lemma try_variable_is i : pi Start = TryVariable i -> (i < n)%nat /\
  bellman_error M g pi (point Start) = g Start - (7 / 100 + g (VariableState i)).
Proof.
  intros S. destruct F as (_ & P & _). specialize (P Start eq_refl).
  rewrite S in P. simpl in P. apply Nat.ltb_lt in P. split; [exact P|].
  unfold M. rewrite start_error, S by exact T. simpl. rewrite try_strict. ring.
Qed.

Lemma bound_clause j : (j < m)%nat -> In (point (ClauseState j)) ds ->
  g (ClauseState j) <= 1 / 10 + t.
Proof.
  intros J I. pose proof (clause_backup j J) as K.
  destruct F as (_ & _ & Z). specialize (Z _ I). lra.
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

(** ** Errors at levels 2 and 3 are small, whatever the pair *)

Definition second (x : state) : Prop :=
  match x with
  | ClauseState j => (j < m)%nat
  | VariableState i => (i < n)%nat
  | Detour => True
  | _ => False
  end.

Definition third (x : state) : Prop :=
  match x with LiteralState i _ => (i < n)%nat | Bottom => True | _ => False end.

Lemma legal_at x : is_state M x = true -> legal M x (pi x) = true.
Proof. apply F. Qed.

Lemma second_is_state x : second x -> is_state M x = true.
Proof. destruct x; simpl; try (intros []; fail); auto; apply Nat.ltb_lt. Qed.

Lemma after_start : spread second (transition M Start (pi Start)).
Proof.
  pose proof (legal_at Start eq_refl) as L.
  destruct (pi Start) as [i | j | | | |]; try discriminate L; simpl in L.
  - apply Nat.ltb_lt in L. apply spread_point. exact L.
  - apply Nat.ltb_lt in L. apply spread_point. exact L.
  - pose proof (total_above_0 n f T) as W0.
    pose proof (W_above_0 n f T) as W1. split.
    + intros x q I. simpl in I. destruct I as [E|I].
      * injection E as <- <-. rewrite Q2R_half. simpl. split; [lra|exact I].
      * apply in_map_iff in I as ([j w] & E & J). injection E as <- <-.
        apply in_numbered in J. simpl. split.
        -- rewrite Q2R_mult. unfold share. simpl. rewrite Q2R_half.
           unfold Q2R. simpl. rewrite Z2Pos.id by exact W0.
           apply Rmult_le_pos; [lra|]. apply Rmult_le_pos.
           ++ apply IZR_le. pose proof T as (_ & P & _).
              pose proof (P w (nth_error_In _ _ J)). lia.
           ++ apply Rlt_le, Rinv_0_lt_compat. exact W1.
        -- apply nth_error_Some. congruence.
    + change (expect (solve_transition strict f) (fun _ => 1) <= 1).
      rewrite (solve_expect strict f _ W0). unfold share. simpl. rewrite Q2R_half.
      rewrite sum_weights. apply Req_le. field. lra.
Qed.

Lemma after_second x : second x -> spread third (transition M x (pi x)).
Proof.
  intros S. pose proof (legal_at x (second_is_state x S)) as L.
  destruct x as [| j | i | | |]; try exact (False_ind _ S); simpl in *.
  - destruct (nth_error_below f j S) as [w E]. rewrite E.
    destruct (pi (ClauseState j)); try discriminate L.
    destruct (three_literals n f T w (nth_error_In _ _ E))
      as (l1 & l2 & l3 & B & V1 & V2 & V3).
    unfold clause_transition, literal_state. rewrite B. split.
    + intros z q [K|[K|[K|[]]]]; injection K as <- <-; rewrite Q2R_third; simpl;
        (split; [lra|assumption]).
    + simpl. rewrite Q2R_third. lra.
  - destruct (pi (VariableState i)); try discriminate L. split.
    + intros z q [K|[K|[]]]; injection K as <- <-; rewrite Q2R_half; simpl;
        (split; [lra|assumption]).
    + simpl. rewrite Q2R_half. lra.
  - destruct (pi Detour); try discriminate L. apply spread_point. exact I.
Qed.

Lemma second_range x : second x -> 0 <= g x <= 2 / 5.
Proof.
  intros S. destruct x as [| j | i | | |]; try exact (False_ind _ S).
  - apply range_clause, S.
  - apply range_variable, S.
  - rewrite detour_zero. lra.
Qed.

Lemma third_range x : third x -> 0 <= g x <= 1 / 10.
Proof.
  intros S. destruct x as [| | | i b | |]; try exact (False_ind _ S).
  - apply range_literal, S.
  - destruct F as (I & _). specialize (I Bottom eq_refl).
    simpl in I. rewrite Q2R_0 in I. lra.
Qed.

(** The error at a state, and its range at each level. *)
Let error (x : state) : R :=
  g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g).

Ltac each_action :=
  simpl; try match goal with |- context [pi ?x] => destruct (pi x) end.

Lemma second_error x : second x -> - (1 / 10) <= error x <= 2 / 5.
Proof.
  intros S. unfold error. pose proof (second_range x S).
  assert (0 <= expect (transition M x (pi x)) g <= 1 / 10).
  { apply (expect_between third); [apply after_second, S|lra|lra|apply third_range]. }
  assert (Q2R (reward M x (pi x)) = 0)
    by (destruct x; try exact (False_ind _ S); each_action; apply Q2R_0).
  lra.
Qed.

Lemma third_error x : third x -> - (1 / 10) <= error x <= 1 / 10.
Proof.
  intros S. unfold error. pose proof (third_range x S).
  assert (0 <= Q2R (reward M x (pi x)) <= 1 / 10).
  { destruct x as [| | | i b | |]; try exact (False_ind _ S); each_action;
      rewrite ?Q2R_0; try lra.
    destruct (Bool.eqb b (y i)); rewrite ?Q2R_0, ?upper_literal; lra. }
  assert (expect (transition M x (pi x)) g = 0)
    by (destruct x; try exact (False_ind _ S); each_action; reflexivity).
  lra.
Qed.

Lemma first_level : 1 / 2 <= 1 - g Start + bellman_error M g pi (point Start).
Proof.
  rewrite bellman_point.
  assert (0 <= expect (transition M Start (pi Start)) g <= 2 / 5).
  { apply (expect_between second); [apply after_start|lra|lra|apply second_range]. }
  assert (Q2R (reward M Start (pi Start)) <= 1 / 10).
  { simpl. destruct (pi Start); rewrite ?try_strict, ?upper_literal, ?Q2R_0; lra. }
  lra.
Qed.

Lemma second_level : - (1 / 10) <= level_error M g pi 2 <= 2 / 5.
Proof.
  unfold level_error, bellman_error. fold error. rewrite roll_in_next by lia.
  change (roll_in M pi 1) with (point Start). rewrite expect_point.
  apply (expect_between second); [apply after_start|lra|lra|apply second_error].
Qed.

Lemma third_level : - (1 / 10) <= level_error M g pi 3 <= 1 / 10.
Proof.
  unfold level_error, bellman_error. fold error. rewrite !roll_in_next by lia.
  change (roll_in M pi 1) with (point Start). rewrite expect_point.
  apply (expect_between second); [apply after_start|lra|lra|].
  intros x S. apply (expect_between third); [apply after_second, S|lra|lra|].
  apply third_error.
Qed.
End Pair.
End Strict.
