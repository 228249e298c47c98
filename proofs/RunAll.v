(** The run of an OLIVE that binds the distributions of all levels each round, in
    [all_levels]: for every member the same m + n rounds, after which exactly the
    hard program is bound. [quit] keeps the run off the literal states behind a
    clause. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore Run.
Import ListNotations.
Open Scope R_scope.

(** As [follows], but a round binds every level; [level] is one with a positive
    error. *)
Inductive follows_all (c : construction) (M : mdp) :
    list round -> list distribution -> Prop :=
  | all_none : follows_all c M [] []
  | all_round rounds ds g pi h :
      follows_all c M rounds ds -> maximiser c M ds g pi ->
      0 < error_sum M g pi -> any_positive M g pi h ->
      follows_all c M (Round g pi h :: rounds)
        (roll_in M pi 1 :: roll_in M pi 2 :: roll_in M pi 3 :: ds).

Lemma error_ext M g pi rho d : (forall x q, In (x, q) d -> pi x = rho x) ->
  bellman_error M g pi d = bellman_error M g rho d.
Proof.
  intros E. unfold bellman_error, expect. induction d as [|[x q] d IH]; [reflexivity|].
  simpl. rewrite (E x q (or_introl eq_refl)), IH; [reflexivity|].
  intros z r I. apply (E z r). right. exact I.
Qed.

Section RunAll.
Variables (n : nat) (f : formula) (p : Q).
Hypothesis P : 0 < Q2R p < 1.
Hypothesis T : three_sat_form n f.

Let c := all_levels p.
Let m := length f.
Let C : sound c := all_levels_sound p P.

Definition serves_all (rounds : list round) (ds : list distribution) : Prop :=
  forall y, follows_all c (member c n f y) rounds ds.

Lemma top_all : Q2R (top c) = 1 - Q2R p.
Proof. simpl. rewrite Q2R_minus, Q2R_1. reflexivity. Qed.

Lemma upper_all x : Q2R (upper c x) = 1.
Proof. exact Q2R_1. Qed.

(** [try C_j], then [quit]. *)
Definition quit_policy (j : nat) (x : state) : action :=
  match x with
  | ClauseState k => if Nat.eqb k j then Quit else Spell true true true
  | _ => explore_policy (TryClause j) x
  end.

Lemma quit_legal y j : (j < m)%nat -> is_policy (member c n f y) (quit_policy j).
Proof.
  intros J x S. destruct x as [| k | i | i b | |]; simpl in *; auto.
  - apply Nat.ltb_lt, J.
  - destruct (Nat.eqb k j); reflexivity.
Qed.

Lemma quit_worth_0 y j : policy_value (member c n f y) (quit_policy j) = 0.
Proof.
  unfold policy_value, reward_at. simpl. rewrite Nat.eqb_refl. simpl.
  rewrite Q2R_0. ring.
Qed.

Lemma serves_all_round rounds ds g pi h d1 d2 d3 : serves_all rounds ds ->
  (forall y, feasible c (member c n f y) ds g pi) -> g Start = 1 ->
  (forall y, policy_value (member c n f y) pi < 1) ->
  (forall y, map (roll_in (member c n f y) pi) [1; 2; 3]%nat = [d1; d2; d3]) ->
  (forall y, any_positive (member c n f y) g pi h) ->
  serves_all (Round g pi h :: rounds) (d1 :: d2 :: d3 :: ds).
Proof.
  intros S F G V D H y. specialize (D y). injection D as <- <- <-.
  constructor; [apply S| | |apply H].
  - split; [apply F|]. intros k rho (R & _). rewrite G, <- Q2R_1.
    apply (R Start eq_refl).
  - rewrite error_sum_shortfall, G. specialize (V y). lra.
Qed.

(** ** The rounds *)

Definition clauses_met (t : nat) (d : distribution) : Prop :=
  d = point Start \/ d = point Bottom \/
  exists j, (j < t)%nat /\ d = point (ClauseState j).

Definition literals_met (i : nat) (d : distribution) : Prop :=
  clauses_met m d \/
  exists k, (k < i)%nat /\ (d = pair_of k \/ d = point (VariableState k)).

Lemma met_is_hard i d : (i <= n)%nat -> literals_met i d -> In d (hard_program c n f).
Proof.
  intros L [[->|[->|(j & J & ->)]]|(k & K & [->| ->])].
  - apply in_hard_start.
  - apply in_hard_bottom. reflexivity.
  - apply in_hard_clause, J.
  - apply in_hard_pair. lia.
  - apply in_hard_variable; [reflexivity|lia].
Qed.

Definition first_values (x : state) : R :=
  match x with Start | Bottom => 1 | ClauseState 0 => 1 | _ => 0 end.

Lemma first_round : exists rounds ds, length rounds = 1%nat /\ serves_all rounds ds /\
  forall d, In d ds <-> clauses_met 1 d.
Proof.
  assert (M0 : (0 < m)%nat)
    by (unfold m; destruct f; [destruct T; congruence|simpl; lia]).
  exists [Round first_values (quit_policy 0) 3],
    [point Start; point (ClauseState 0); point Bottom].
  split; [reflexivity|]. split.
  - apply serves_all_round.
    + intros y. constructor.
    + intros y. split; [|split; [apply quit_legal, M0|intros d []]].
      intros [| [|j] | i | i b | |] _; simpl; unfold unit_range; rewrite Q2R_1; lra.
    + reflexivity.
    + intros y. rewrite quit_worth_0. lra.
    + intros y. reflexivity.
    + intros y. split; [lia|]. unfold level_error.
      change (roll_in (member c n f y) (quit_policy 0) 3) with (point Bottom).
      rewrite bellman_point. simpl. rewrite Q2R_0. lra.
  - intros d. unfold clauses_met. simpl. split.
    + intros [<-|[<-|[<-|[]]]]; auto. right; right. exists 0%nat. auto.
    + intros [->|[->|(j & J & ->)]]; auto. replace j with 0%nat by lia. auto.
Qed.

(** s0 is bound, but C_t can still be worth 1. *)
Lemma clause_round t rounds ds : (1 <= t < m)%nat -> serves_all rounds ds ->
  (forall d, In d ds <-> clauses_met t d) ->
  exists g pi h, serves_all (Round g pi h :: rounds)
    (point Start :: point (ClauseState t) :: point Bottom :: ds).
Proof.
  intros L S D. set (g := explore f (ClauseState t) 1 zero 1).
  exists g, (quit_policy t), 2%nat. apply serves_all_round.
  - exact S.
  - intros y. assert (F : feasible c (member c n f y) ds g (explore_policy (TryClause t))).
    { apply explore_feasible; auto.
      - intros i. rewrite top_all, upper_all. lra.
      - intros i b. unfold zero. rewrite top_all. lra.
      - intros d I. apply (met_is_hard 0); [lia|]. apply D in I.
        destruct I as [->|[->|(j & J & ->)]]; left; unfold clauses_met; auto.
        right; right. exists j. split; [lia|reflexivity].
      - simpl. apply Nat.ltb_lt. exact (proj2 L).
      - rewrite upper_all. lra.
      - rewrite upper_all. lra.
      - intros I. apply D in I as [E|[E|(j & J & E)]]; try discriminate E.
        injection E. lia.
      - intros i _ I. apply D in I as [E|[E|(j & J & E)]]; discriminate E.
      - intros _. rewrite start_error by exact T. simpl. rewrite Q2R_0.
        destruct (state_eq _ _); [lra|congruence]. }
    destruct F as (R & _ & B). split; [exact R|]. split; [apply quit_legal; lia|].
    intros d I. rewrite <- (B d I). apply error_ext. intros x q X.
    apply D in I as [->|[->|(j & J & ->)]]; destruct X as [E|[]];
      injection E as <- <-; try reflexivity.
    simpl. destruct (Nat.eqb_spec j t); [lia|reflexivity].
  - reflexivity.
  - intros y. rewrite quit_worth_0. lra.
  - intros y. simpl. rewrite Nat.eqb_refl. reflexivity.
  - intros y. split; [lia|]. unfold level_error.
    change (roll_in (member c n f y) (quit_policy t) 2) with (point (ClauseState t)).
    destruct (nth_error_below f t (proj2 L)) as [w W].
    rewrite (clause_error c n f y g _ t w W). simpl. rewrite Nat.eqb_refl.
    destruct (state_eq _ _); [lra|congruence].
Qed.

Lemma clause_rounds t : (1 <= t <= m)%nat -> exists rounds ds, length rounds = t /\
  serves_all rounds ds /\ forall d, In d ds <-> clauses_met t d.
Proof.
  induction t as [|t IH]; [lia|]. intros L. destruct t as [|t]; [apply first_round|].
  destruct IH as (rounds & ds & E & S & D); [lia|].
  destruct (clause_round (Datatypes.S t) rounds ds) as (g & pi & h & S'); [lia|exact S|exact D|].
  eexists _, _. split; [|split; [exact S'|]]; [simpl; congruence|].
  intros d. simpl. rewrite D. unfold clauses_met. split.
  - intros [<-|[<-|[<-|[H|[H|(j & J & H)]]]]]; auto; right; right; eexists;
      (split; [|reflexivity || exact H]); lia.
  - intros [->|[->|(j & J & ->)]]; auto.
    destruct (Nat.eq_dec j (Datatypes.S t)) as [->|N]; [auto|].
    do 3 right. right; right. exists j. split; [lia|reflexivity].
Qed.

(** Both literals of x_i at the top, and X_i with them. *)
Lemma literal_round i rounds ds : (i < n)%nat -> serves_all rounds ds ->
  (forall d, In d ds <-> literals_met i d) ->
  exists g pi h, serves_all (Round g pi h :: rounds)
    (point Start :: point (VariableState i) :: pair_of i :: ds).
Proof.
  intros L S D. set (g := explore f (VariableState i) (1 - Q2R p) (own_top c i) 1).
  exists g, (explore_policy (TryVariable i)), 3%nat. apply serves_all_round.
  - exact S.
  - intros y. apply explore_feasible; auto.
    + intros k. rewrite top_all, upper_all. lra.
    + intros k b. unfold own_top. rewrite top_all. destruct (_ || _)%bool; lra.
    + intros d I. apply (met_is_hard i); [lia|]. apply D, I.
    + simpl. apply Nat.ltb_lt, L.
    + rewrite upper_all. lra.
    + rewrite upper_all. lra.
    + intros I. apply D in I as [[E|[E|(j & J & E)]]|(k & K & [E|E])];
        try discriminate E. injection E. lia.
    + intros k K I. apply D in I as [[E|[E|(j & J & E)]]|(k' & K' & [E|E])];
        try discriminate E. injection E as E. unfold own_top. rewrite top_all.
      destruct (Nat.eqb_spec k i); [lia|]. simpl. lra.
    + intros _. rewrite start_error by exact T. simpl.
      destruct (state_eq _ _); [lra|congruence].
  - reflexivity.
  - intros y. unfold policy_value, reward_at. simpl.
    destruct (y i); simpl;
      rewrite ?Q2R_mult, ?Q2R_minus, ?Q2R_1, ?Q2R_0, ?Q2R_half; lra.
  - intros y. reflexivity.
  - intros y. split; [lia|]. unfold level_error.
    change (roll_in (member c n f y) (explore_policy (TryVariable i)) 3) with (pair_of i).
    rewrite pair_error; [|apply explore_legal|exact L].
    + rewrite top_all. change (0 < (own_top c i i false + own_top c i i true - (1 - Q2R p)) / 2).
      unfold own_top. rewrite Nat.eqb_refl, top_all. simpl. lra.
    + simpl. apply Nat.ltb_lt, L.
Qed.

Lemma literal_rounds i : (i <= n)%nat -> exists rounds ds,
  length rounds = (m + i)%nat /\ serves_all rounds ds /\
  forall d, In d ds <-> literals_met i d.
Proof.
  induction i as [|i IH]; intros L.
  - destruct (clause_rounds m) as (rounds & ds & E & S & D).
    { unfold m. destruct f; [destruct T; congruence|simpl; lia]. }
    exists rounds, ds. split; [lia|]. split; [exact S|]. intros d. rewrite D.
    unfold literals_met. split; [auto|]. intros [H|(k & K & _)]; [exact H|lia].
  - destruct IH as (rounds & ds & E & S & D); [lia|].
    destruct (literal_round i rounds ds) as (g & pi & h & S'); [lia|exact S|exact D|].
    eexists _, _. split; [|split; [exact S'|]]; [simpl; lia|].
    intros d. simpl. rewrite D. unfold literals_met, clauses_met. split.
    + intros [<-|[<-|[<-|[H|(k & K & H)]]]]; auto; right; eexists;
        (split; [|auto; exact H]); lia.
    + intros [H|(k & K & H)]; [auto|].
      destruct (Nat.eq_dec k i) as [->|N].
      * destruct H as [->| ->]; auto.
      * do 4 right. exists k. split; [lia|exact H].
Qed.

Theorem run_all_levels : exists rounds ds, length rounds = (m + n)%nat /\
  serves_all rounds ds /\ forall d, In d ds <-> In d (hard_program c n f).
Proof.
  destruct (literal_rounds n (le_n n)) as (rounds & ds & E & S & D).
  exists rounds, ds. split; [exact E|]. split; [exact S|]. intros d. rewrite D.
  split; [apply met_is_hard, le_n|]. intros I. unfold hard_program in I. simpl in I.
  destruct I as [<-|I]; [left; left; reflexivity|].
  apply in_app_or in I as [I|I].
  { apply in_map_iff in I as (j & <- & J). apply in_seq in J.
    left. right; right. exists j. split; [exact (proj2 J)|reflexivity]. }
  apply in_app_or in I as [I|I].
  { apply in_map_iff in I as (k & <- & K). apply in_seq in K.
    right. exists k. split; [lia|auto]. }
  apply in_app_or in I as [I|[<-|[]]]; [|left; right; left; reflexivity].
  apply in_map_iff in I as (k & <- & K). apply in_seq in K.
  right. exists k. split; [lia|auto].
Qed.
End RunAll.
