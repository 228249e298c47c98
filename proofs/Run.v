(** The adversarial run of [paper] and [normalized]: for every member the same
    rounds, each a maximiser of the program so far that does not make OLIVE stop,
    with positive average Bellman error at the level that is bound; what is bound
    is the hard program. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore.
Import ListNotations.
Open Scope R_scope.

(** One list of rounds serves every member y: no round tells them apart. *)
Definition serves (c : construction) (n : nat) (f : formula)
    (rounds : list round) (ds : list distribution) : Prop :=
  forall y, follows any_positive c (member c n f y) rounds ds.

Section Run.
Variables (c : construction) (n : nat) (f : formula).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.
Hypothesis no_quit : quits c = false.
Hypothesis unit_upper : forall x, Q2R (upper c x) = 1.
Hypothesis top_at_most_1 : Q2R (top c) <= 1.
Hypothesis variable_below_1 : Q2R (variable_reward c) + Q2R (top c) / 2 < 1.
Hypothesis clause_below_1 : Q2R (clause_reward c) + Q2R (top c) < 1.

Let m := length f.
Let top := Q2R (top c).
Let hard := hard_program c n f.

Let top_above_0 : 0 < top := top_positive c C.

Lemma roomy i : Q2R (Family.top c) <= Q2R (upper c (VariableState i)).
Proof. rewrite unit_upper. exact top_at_most_1. Qed.

(** ** What is bound after each part of the run, the last one first *)

Fixpoint clauses_bound (t : nat) : list distribution :=
  match t with
  | O => []
  | S j => point (ClauseState j) :: clauses_bound j
  end.

Fixpoint literals_bound (i : nat) : list distribution :=
  match i with
  | O => clauses_bound m
  | S k =>
      (if layered c then [point (VariableState k)] else []) ++
      pair_of k :: literals_bound k
  end.

Lemma in_clauses d t : In d (clauses_bound t) <->
  exists j, (j < t)%nat /\ d = point (ClauseState j).
Proof.
  induction t as [|t IH]; simpl.
  { split; [intros []|intros (j & J & _); lia]. }
  rewrite IH. split.
  - intros [<-|(j & J & E)]; [exists t; auto|exists j; split; [lia|exact E]].
  - intros (j & J & E). destruct (Nat.eq_dec j t) as [->|N]; [auto|].
    right. exists j. split; [lia|exact E].
Qed.

Lemma in_literals d i : In d (literals_bound i) <->
  (exists j, (j < m)%nat /\ d = point (ClauseState j)) \/
  (exists k, (k < i)%nat /\ d = pair_of k) \/
  (layered c = true /\ exists k, (k < i)%nat /\ d = point (VariableState k)).
Proof.
  induction i as [|i IH]; simpl.
  - rewrite in_clauses. split; [tauto|].
    intros [H|[(k & K & _)|(_ & k & K & _)]]; [exact H|lia|lia].
  - rewrite in_app_iff. simpl. rewrite IH. split.
    + intros [H|[<-|[H|[(k & K & E)|(L & k & K & E)]]]].
      * destruct (layered c); [|destruct H]. destruct H as [<-|[]].
        right; right. split; [reflexivity|]. exists i. split; [lia|reflexivity].
      * right; left. exists i. split; [lia|reflexivity].
      * auto.
      * right; left. exists k. split; [lia|exact E].
      * right; right. split; [exact L|]. exists k. split; [lia|exact E].
    + intros [H|[(k & K & E)|(L & k & K & E)]]; [auto| |].
      * destruct (Nat.eq_dec k i) as [->|N]; [subst; auto|].
        right; right; right; left. exists k. split; [lia|exact E].
      * destruct (Nat.eq_dec k i) as [->|N].
        -- left. rewrite L. simpl. auto.
        -- right; right; right; right. split; [exact L|].
           exists k. split; [lia|exact E].
Qed.

Lemma literals_in_hard i : (i <= n)%nat -> incl (literals_bound i) hard.
Proof.
  intros L d D. apply in_literals in D as [(j & J & ->)|[(k & K & ->)|(Y & k & K & ->)]].
  - apply in_hard_clause, J.
  - apply in_hard_pair. lia.
  - apply in_hard_variable; [exact Y|lia].
Qed.

Lemma clauses_in_hard t : (t <= m)%nat -> incl (clauses_bound t) hard.
Proof.
  intros L d D. apply in_clauses in D as (j & J & ->). apply in_hard_clause.
  fold m. lia.
Qed.

(** ** Rounds *)

Definition tries (start : action) : Prop :=
  match start with TryVariable i => (i < n)%nat | TryClause j => (j < m)%nat | _ => False end.

Lemma literal_reward (y : assignment) i b :
  0 <= Q2R (if Bool.eqb b (y i) then Family.top c else 0) <= top.
Proof. destruct (Bool.eqb b (y i)); rewrite ?Q2R_0; unfold top in *; lra. Qed.

(** All policies of the run are worth less than 1. *)
Lemma tries_below_1 (y : assignment) start : tries start ->
  policy_value (member c n f y) (explore_policy start) < 1.
Proof.
  intros S. unfold policy_value, reward_at.
  destruct start as [i | j | | | |]; try exact (False_ind _ S).
  - fold top in variable_below_1. simpl.
    destruct (layered c); simpl; destruct (y i); simpl;
      rewrite ?Q2R_mult, ?Q2R_1, ?Q2R_0, ?Q2R_half; fold top; lra.
  - destruct (nth_error_below f j S) as [w E].
    destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & B & _).
    simpl. rewrite E. unfold clause_transition, literal_state. rewrite B. simpl.
    pose proof (literal_reward y (variable l1) (Bool.eqb (positive l1) true)).
    pose proof (literal_reward y (variable l2) (Bool.eqb (positive l2) true)).
    pose proof (literal_reward y (variable l3) (Bool.eqb (positive l3) true)).
    rewrite ?Q2R_mult, ?Q2R_1, ?Q2R_third, ?Q2R_0. fold top in clause_below_1. lra.
Qed.

Lemma serves_round rounds ds d g start h : serves c n f rounds ds -> tries start ->
  let pi := explore_policy start in
  (forall y, feasible c (member c n f y) ds g pi) -> g Start = 1 ->
  (1 <= h <= 3)%nat ->
  (forall y, roll_in (member c n f y) pi h = d) ->
  (forall y, 0 < bellman_error (member c n f y) g pi d) ->
  serves c n f (Round g pi h :: rounds) (d :: ds).
Proof.
  intros S Q pi F G H D P y. rewrite <- (D y). constructor; [apply S| | |].
  - split; [apply F|]. intros k rho (R & _). rewrite G, <- (unit_upper Start).
    apply (R Start eq_refl).
  - rewrite error_sum_shortfall, G. pose proof (tries_below_1 y start Q). unfold pi. lra.
  - split; [exact H|]. unfold level_error. rewrite D. apply P.
Qed.

(** Any pair whose constraints stand is feasible while s0 is unbound. *)
Lemma explores y ds free raised truth start :
  incl ds hard -> legal (member c n f y) Start start = true ->
  0 <= raised <= 1 -> ~ In (point free) ds -> ~ In (point Start) ds ->
  (forall i b, 0 <= truth i b <= top) ->
  (forall i, (i < n)%nat -> In (pair_of i) ds ->
     truth i false + truth i true = top) ->
  feasible c (member c n f y) ds (explore f free raised truth 1)
    (explore_policy start).
Proof.
  intros I L R N S V P. apply explore_feasible; auto.
  - apply roomy.
  - rewrite unit_upper. lra.
  - rewrite unit_upper. exact R.
  - intros K. contradiction.
Qed.

Definition zero (i : nat) (b : bool) : R := 0.
Definition own_top (k i : nat) (b : bool) : R :=
  if (Nat.eqb i k || b)%bool then top else 0.
Definition truth_top (i : nat) (b : bool) : R := if b then top else 0.
Definition halves (i : nat) (b : bool) : R := top / 2.

(** Clause rounds: [try C_t] with g(s0) = g(C_t) = 1 and all literals 0; the
    error at level 2 is 1. *)
Lemma clause_rounds t : (t <= m)%nat ->
  exists rounds, length rounds = t /\ serves c n f rounds (clauses_bound t).
Proof.
  induction t as [|t IH]; intros L.
  - exists []. split; [reflexivity|]. intros y. constructor.
  - destruct IH as (rounds & E & S); [lia|].
    exists (Round (explore f (ClauseState t) 1 zero 1)
                  (explore_policy (TryClause t)) 2 :: rounds).
    split; [simpl; congruence|]. simpl. apply serves_round; try exact S; try exact L; try exact V.
    + intros y. apply explores.
      * apply clauses_in_hard. lia.
      * simpl. apply Nat.ltb_lt. exact L.
      * lra.
      * intros I. apply in_clauses in I as (j & J & Q). injection Q. lia.
      * intros I. apply in_clauses in I as (j & J & Q). discriminate Q.
      * intros i b. unfold zero. lra.
      * intros i _ I. apply in_clauses in I as (j & J & Q). discriminate Q.
    + reflexivity.
    + lia.
    + intros y. reflexivity.
    + intros y. rewrite (explore_clause c n f y T) by exact L. simpl.
      destruct (state_eq _ _) as [_|K]; [|congruence].
      unfold mean_literal. destruct (nth_error f t) as [w|] eqn:N; [|lra].
      destruct (three_literals n f T w (nth_error_In _ _ N)) as (l1 & l2 & l3 & B & _).
      unfold clause_transition, literal_state, zero. rewrite B. simpl. lra.
Qed.

(** Literal rounds: [try x_i] with both literals of x_i at the top; then, where
    X_i stands between, [try x_i] with g(X_i) at the top. *)
Lemma literal_rounds i : (i <= n)%nat ->
  exists rounds, length rounds = (m + (if layered c then 2 else 1) * i)%nat /\
    serves c n f rounds (literals_bound i).
Proof.
  induction i as [|i IH]; intros L.
  - destruct (clause_rounds m (le_n m)) as (rounds & E & S). exists rounds.
    split; [destruct (layered c); lia|exact S].
  - destruct IH as (rounds & E & S); [lia|].
    assert (D : In (pair_of i) (literals_bound i) -> False).
    { intros I. apply in_literals in I as [(j & J & Q)|[(k & K & Q)|(Y & k & K & Q)]];
        try discriminate Q. injection Q. lia. }
    set (lifted := Round (explore f Bottom 0 (own_top i) 1)
      (explore_policy (TryVariable i)) (if layered c then 3 else 2)).
    assert (A : serves c n f (lifted :: rounds) (pair_of i :: literals_bound i)).
    { unfold lifted. apply serves_round; try exact S; try exact L; try exact V.
      - intros y. apply explores.
        + apply literals_in_hard. lia.
        + simpl. apply Nat.ltb_lt. exact L.
        + lra.
        + intros I. apply in_literals in I
            as [(j & J & Q)|[(k & K & Q)|(Y & k & K & Q)]]; discriminate Q.
        + intros I. apply in_literals in I
            as [(j & J & Q)|[(k & K & Q)|(Y & k & K & Q)]]; discriminate Q.
        + intros k b. unfold own_top. destruct (_ || _)%bool; lra.
        + intros k K I. unfold own_top. destruct (Nat.eqb k i) eqn:Q.
          * apply Nat.eqb_eq in Q. subst. contradiction.
          * simpl. lra.
      - reflexivity.
      - destruct (layered c); lia.
      - intros y. destruct (layered c) eqn:Y; simpl; rewrite Y; reflexivity.
      - intros y. rewrite pair_error; [|apply explore_legal|exact L].
        + simpl. unfold own_top. rewrite Nat.eqb_refl. simpl. fold top. lra.
        + simpl. apply Nat.ltb_lt. exact L. }
    simpl. destruct (layered c) eqn:Y.
    + exists (Round (explore f (VariableState i) top truth_top 1)
                    (explore_policy (TryVariable i)) 2 :: lifted :: rounds).
      split; [simpl; lia|]. apply serves_round; try exact A; try exact L.
      * intros y. apply explores.
        -- intros d [<-|I]; [apply in_hard_pair; exact L|].
           apply (literals_in_hard i); [lia|exact I].
        -- simpl. apply Nat.ltb_lt. exact L.
        -- split; [lra|exact top_at_most_1].
        -- intros [I|I]; [discriminate I|]. apply in_literals in I
             as [(j & J & Q)|[(k & K & Q)|(_ & k & K & Q)]]; try discriminate Q.
           injection Q. lia.
        -- intros [I|I]; [discriminate I|]. apply in_literals in I
             as [(j & J & Q)|[(k & K & Q)|(_ & k & K & Q)]]; discriminate Q.
        -- intros k b. unfold truth_top. destruct b; lra.
        -- intros k K _. unfold truth_top. lra.
      * reflexivity.
      * lia.
      * intros y. simpl. rewrite Y. reflexivity.
      * intros y. rewrite variable_error; [|apply explore_legal|exact Y|exact L].
        -- simpl. destruct (state_eq _ _) as [_|K]; [|congruence].
           unfold truth_top. lra.
        -- simpl. apply Nat.ltb_lt. exact L.
    + exists (lifted :: rounds). split; [simpl; lia|exact A].
Qed.

Lemma some_variable : (0 < n)%nat.
Proof.
  pose proof T as (N & _ & B). destruct f as [|w r]; [congruence|].
  destruct (B w (or_introl eq_refl)) as [K V].
  destruct (body w) as [|l k]; [discriminate K|].
  specialize (V l (or_introl eq_refl)). lia.
Qed.

(** The whole run; in the last round [try x_1] with g(s0) = 1 binds s0. *)
Theorem adversarial_run : exists rounds ds,
  length rounds = (m + (if layered c then 2 else 1) * n + 1)%nat /\
  serves c n f rounds ds /\ forall d, In d ds <-> In d hard.
Proof.
  destruct (literal_rounds n (le_n n)) as (rounds & E & S).
  pose proof some_variable as V.
  exists (Round (explore f Bottom 0 halves 1) (explore_policy (TryVariable 0)) 1
          :: rounds), (point Start :: literals_bound n).
  split; [simpl; lia|]. split.
  - apply serves_round; try exact S; try exact L; try exact V.
    + intros y. apply explores.
      * apply literals_in_hard, le_n.
      * simpl. apply Nat.ltb_lt, V.
      * lra.
      * intros I. apply in_literals in I
          as [(j & J & Q)|[(k & K & Q)|(Y & k & K & Q)]]; discriminate Q.
      * intros I. apply in_literals in I
          as [(j & J & Q)|[(k & K & Q)|(Y & k & K & Q)]]; discriminate Q.
      * intros k b. unfold halves. lra.
      * intros k K I. unfold halves. lra.
    + reflexivity.
    + lia.
    + reflexivity.
    + intros y. rewrite start_error by exact T. simpl. unfold halves. fold top in variable_below_1.
      destruct (layered c); [destruct (state_eq _ _) as [K|_]; [congruence|]|]; lra.
  - intros d. split.
    + intros [<-|I]; [apply in_hard_start|]. apply (literals_in_hard n (le_n n) d I).
    + intros I. unfold hard, hard_program in I. rewrite no_quit in I.
      apply in_app_or in I as [[<-|[]]|I]; [left; reflexivity|]. right.
      apply in_literals.
      apply in_app_or in I as [I|I].
      { apply in_map_iff in I as (j & <- & J). apply in_seq in J.
        left. exists j. split; [exact (proj2 J)|reflexivity]. }
      apply in_app_or in I as [I|I].
      { destruct (layered c) eqn:Y; [|destruct I].
        apply in_map_iff in I as (k & <- & K). apply in_seq in K.
        right; right. split; [reflexivity|]. exists k. split; [lia|reflexivity]. }
      apply in_app_or in I as [I|[]].
      apply in_map_iff in I as (k & <- & K). apply in_seq in K.
      right; left. exists k. split; [lia|reflexivity].
Qed.
End Run.

(** ** The variants *)

Theorem run_paper n f p : 0 < Q2R p <= 1 -> three_sat_form n f ->
  exists rounds ds, length rounds = (length f + n + 1)%nat /\
    serves (paper p) n f rounds ds /\
    forall d, In d ds <-> In d (hard_program (paper p) n f).
Proof.
  intros P T.
  destruct (adversarial_run (paper p) n f (paper_sound p P) T eq_refl)
    as (rounds & ds & E & H).
  - intros x. apply Q2R_1.
  - simpl. rewrite Q2R_1. lra.
  - simpl. rewrite Q2R_1, Q2R_0. lra.
  - simpl. rewrite Q2R_1, Q2R_opp. lra.
  - exists rounds, ds. split; [simpl in E; lia|exact H].
Qed.

Theorem run_normalized n f p : 0 < Q2R p < 1 -> three_sat_form n f ->
  exists rounds ds, length rounds = (length f + 2 * n + 1)%nat /\
    serves (normalized p) n f rounds ds /\
    forall d, In d ds <-> In d (hard_program (normalized p) n f).
Proof.
  intros P T.
  destruct (adversarial_run (normalized p) n f (normalized_sound p P) T eq_refl)
    as (rounds & ds & E & H).
  - intros x. apply Q2R_1.
  - simpl. rewrite Q2R_minus, Q2R_1. lra.
  - simpl. rewrite Q2R_minus, Q2R_1. lra.
  - simpl. rewrite Q2R_minus, Q2R_1, Q2R_0. lra.
  - exists rounds, ds. split; [exact E|exact H].
Qed.

Theorem run_gap n f : three_sat_form n f ->
  exists rounds ds, length rounds = (length f + 2 * n + 1)%nat /\
    serves gap n f rounds ds /\ forall d, In d ds <-> In d (hard_program gap n f).
Proof. apply run_normalized. rationals. lra. Qed.
