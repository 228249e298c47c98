(** Runs of OLIVE, and the pairs that keep them going.

    A pair of a run raises the value of one unbound state and holds to all other
    constraints of the hard program. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum.
Import ListNotations.
Open Scope R_scope.

(** ** Runs *)

Definition maximiser (c : construction) (M : mdp) (constraints : list distribution)
    (g : state -> R) (pi : state -> action) : Prop :=
  feasible c M constraints g pi /\
  forall h rho, feasible c M constraints h rho -> h Start <= g Start.

Record round := Round { values : state -> R; policy : state -> action; level : nat }.

(** A rule says which levels OLIVE may bind for a pair. *)
Definition rule := mdp -> (state -> R) -> (state -> action) -> nat -> Prop.

Definition any_positive : rule := fun M g pi h =>
  (1 <= h <= 3)%nat /\ 0 < level_error M g pi h.

Definition lowest : rule := fun M g pi h =>
  any_positive M g pi h /\
  forall k, (1 <= k < h)%nat -> level_error M g pi k <= 0.

Definition largest : rule := fun M g pi h =>
  any_positive M g pi h /\
  forall k, (1 <= k <= 3)%nat -> level_error M g pi k <= level_error M g pi h.

(** One level whose error stands out leaves either rule no choice. *)
Definition stands_out (M : mdp) (g : state -> R) (pi : state -> action) (h : nat) : Prop
  :=
  any_positive M g pi h /\
  (forall k, (1 <= k < h)%nat -> level_error M g pi k <= 0) /\
  (forall k, (1 <= k <= 3)%nat -> k <> h -> level_error M g pi k < level_error M g pi
    h).

Lemma stands_out_picks r M g pi h : r = lowest \/ r = largest ->
  stands_out M g pi h -> r M g pi h /\ forall k, r M g pi k -> k = h.
Proof.
  intros R ([H P] & B & A). destruct R as [->| ->].
  - split; [split; [split|]; assumption|]. intros k [[K PK] LK].
    destruct (Nat.lt_trichotomy h k) as [L|[E|L]].
    + specialize (LK h). assert (level_error M g pi h <= 0) by (apply LK; lia). lra.
    + congruence.
    + specialize (B k). assert (level_error M g pi k <= 0) by (apply B; lia). lra.
  - split.
    + split; [split; assumption|]. intros k K.
      destruct (Nat.eq_dec k h) as [->|N]; [lra|].
      apply Rlt_le, A; assumption.
    + intros k [[K PK] LK]. destruct (Nat.eq_dec k h) as [E|N]; [exact E|].
      pose proof (A k K N). pose proof (LK h H). lra.
Qed.

(** OLIVE stops where the errors of all levels sum up to 0. *)
Definition error_sum (M : mdp) (g : state -> R) (pi : state -> action) : R :=
  level_error M g pi 1 + level_error M g pi 2 + level_error M g pi 3.

(** [follows r c M rounds ds]: OLIVE on M can take these rounds (the last one
    first), each a maximiser of the program so far that does not make it stop,
    and binds [ds]. The loop of [algorithms/olive/loop.py], with exact
    expectations, tolerance and threshold 0. *)
Inductive follows (r : rule) (c : construction) (M : mdp) :
    list round -> list distribution -> Prop :=
  | follows_none : follows r c M [] []
  | follows_round rounds ds g pi h :
      follows r c M rounds ds -> maximiser c M ds g pi ->
      0 < error_sum M g pi -> r M g pi h ->
      follows r c M (Round g pi h :: rounds) (roll_in M pi h :: ds).

Lemma follows_length r c M rounds ds : follows r c M rounds ds ->
  length rounds = length ds.
Proof. induction 1; simpl; congruence. Qed.

(** ** The sum of the errors is the shortfall g(s0) - V^pi *)

Definition reward_at (M : mdp) (pi : state -> action) (h : nat) : R :=
  expect (roll_in M pi h) (fun x => Q2R (reward M x (pi x))).

(** Episodes have three levels. *)
Definition policy_value (M : mdp) (pi : state -> action) : R :=
  reward_at M pi 1 + reward_at M pi 2 + reward_at M pi 3.

Lemma level_error_is M g pi h : (1 <= h)%nat ->
  level_error M g pi h =
  expect (roll_in M pi h) g - reward_at M pi h - expect (roll_in M pi (S h)) g.
Proof.
  intros H. rewrite roll_in_next by exact H.
  unfold level_error, bellman_error, reward_at. generalize (roll_in M pi h) as d.
  unfold expect at 1 3 4 5. induction d as [|[x q] d IH]; simpl; [ring|].
  rewrite IH. ring.
Qed.

Definition depth (x : state) : nat :=
  match x with
  | Start => 1
  | ClauseState _ | VariableState _ | Detour => 2
  | LiteralState _ _ | Bottom => 3
  end.

Lemma step_deeper c n f y x a z q :
  In (z, q) (transition (member c n f y) x a) -> (depth x < depth z)%nat.
Proof.
  assert (P : forall i, In (z, q) (pair_of i) -> depth z = 3%nat).
  { intros i [E|[E|[]]]; injection E as <- <-; reflexivity. }
  destruct x as [| j | i | i b | |], a as [i' | j' | | b1 b2 b3 | |];
    try (intros []; fail); try (intros [E|[]]; injection E as <- <-; simpl; lia).
  - simpl. destruct (layered c); [intros [E|[]]; injection E as <- <-; simpl; lia|].
    intros I. rewrite (P i' I). lia.
  - simpl. intros I. apply in_app_or in I as [I|I].
    + destruct (diluted c); [|destruct I]. destruct I as [E|[]].
      injection E as <- <-. simpl. lia.
    + apply in_map_iff in I as (jw & E & _). injection E as <- <-. simpl. lia.
  - simpl. destruct (nth_error f j) as [w|]; [|intros []].
    unfold clause_transition. destruct (body w) as [|l1 [|l2 [|l3 [|]]]];
      try (intros []; fail).
    intros [E|[E|[E|[]]]]; injection E as <- <-; simpl; lia.
  - simpl. intros I. rewrite (P i I). lia.
Qed.

Lemma roll_in_depth c n f y pi h x q :
  In (x, q) (roll_in (member c n f y) pi h) -> (h <= depth x)%nat.
Proof.
  revert x q. induction h as [|[|h] IH]; intros x q; [intros []| |].
  - intros [E|[]]. injection E as <- <-. simpl. lia.
  - intros I. change (roll_in ?M pi (S (S h))) with
      (flat_map (fun xq => map (fun yr => (fst yr, (snd xq * snd yr)%Q))
                               (transition M (fst xq) (pi (fst xq))))
                (roll_in M pi (S h))) in I.
    apply in_flat_map in I as ([z r] & Z & I).
    apply in_map_iff in I as ([x' r'] & E & I). injection E as <- <-.
    specialize (IH z r Z). apply step_deeper in I. simpl in *. lia.
Qed.

Lemma episode_ends c n f y pi : roll_in (member c n f y) pi 4 = [].
Proof.
  destruct (roll_in _ pi 4) as [|[x q] d] eqn:E; [reflexivity|exfalso].
  assert (I : In (x, q) (roll_in (member c n f y) pi 4)) by (rewrite E; simpl; auto).
  apply roll_in_depth in I. destruct x; simpl in I; lia.
Qed.

(** So OLIVE stops exactly where the value that g promises is attained. *)
Theorem error_sum_shortfall c n f y g pi :
  error_sum (member c n f y) g pi = g Start - policy_value (member c n f y) pi.
Proof.
  unfold error_sum, policy_value. rewrite !level_error_is by lia.
  rewrite episode_ends. change (roll_in _ pi 1) with (point Start) at 1.
  rewrite expect_point. simpl (expect [] g). ring.
Qed.

(** ** Equality of states and of distributions can be decided *)

Definition state_eq (x y : state) : {x = y} + {x <> y}.
Proof. decide equality; try apply Nat.eq_dec; apply Bool.bool_dec. Qed.

Definition rational_eq (p q : Q) : {p = q} + {p <> q}.
Proof. decide equality; [apply Pos.eq_dec|apply Z.eq_dec]. Qed.

Definition distribution_eq (d e : distribution) : {d = e} + {d <> e}.
Proof.
  apply list_eq_dec. intros [x p] [y q].
  destruct (state_eq x y), (rational_eq p q); (left; congruence) || (right; congruence).
Qed.

Lemma all_or_one {A} (ds : list distribution) (h : A -> distribution) (l : list A) :
  (forall x, In x l -> In (h x) ds) \/ exists x, In x l /\ ~ In (h x) ds.
Proof.
  induction l as [|x l IH]; [left; intros _ []|].
  destruct (in_dec distribution_eq (h x) ds) as [I|N];
    [|right; exists x; simpl; auto].
  destruct IH as [IH|(z & Z & N)]; [left|right; exists z; simpl; auto].
  intros z [<-|Z]; auto.
Qed.

Section Explore.
Variables (c : construction) (n : nat) (f : formula) (y : assignment).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.
Hypothesis roomy : forall i, Q2R (top c) <= Q2R (upper c (VariableState i)).

Let M := member c n f y.

Definition literal_only (truth : nat -> bool -> R) (x : state) : R :=
  match x with LiteralState i b => truth i b | _ => 0 end.

(** What action 111 is worth: the mean of the clause's literals. *)
Definition mean_literal (truth : nat -> bool -> R) (j : nat) : R :=
  match nth_error f j with
  | Some w => expect (clause_transition w true true true) (literal_only truth)
  | None => 0
  end.

(** The pair with literal values [truth], and one state raised. *)
Definition explore (free : state) (raised : R) (truth : nat -> bool -> R) (v : R)
    (x : state) : R :=
  match x with
  | Start => v
  | ClauseState j => if state_eq x free then raised else mean_literal truth j
  | VariableState i =>
      if state_eq x free then raised else (truth i false + truth i true) / 2
  | LiteralState i b => truth i b
  | Detour | Bottom => 0
  end.

Definition explore_policy (start : action) (x : state) : action :=
  match x with
  | Start => start
  | ClauseState _ => Spell true true true
  | _ => Go
  end.

Lemma explore_legal start : legal M Start start = true ->
  is_policy M (explore_policy start).
Proof. intros L [| j | i | i b | |] S; simpl in *; auto. Qed.

Section Pair.
Variables (free : state) (raised : R) (truth : nat -> bool -> R) (v : R)
  (start : action).
Let g := explore free raised truth v.
Let pi := explore_policy start.

Lemma clause_spells w b1 b2 b3 : In w f ->
  expect (clause_transition w b1 b2 b3) g =
  expect (clause_transition w b1 b2 b3) (literal_only truth).
Proof.
  intros I. destruct (three_literals n f T w I) as (l1 & l2 & l3 & S & _).
  unfold clause_transition, literal_state. rewrite S. reflexivity.
Qed.

Lemma explore_clause j : (j < length f)%nat ->
  bellman_error M g pi (point (ClauseState j)) =
  g (ClauseState j) - mean_literal truth j.
Proof.
  intros J. destruct (nth_error_below f j J) as [w E].
  unfold M. rewrite (clause_error c n f y g pi j w E). unfold mean_literal. rewrite E.
  rewrite <- clause_spells by (eapply nth_error_In, E). reflexivity.
Qed.

Hypothesis values_in_range : forall i b, 0 <= truth i b <= Q2R (top c).

Lemma mean_range j : 0 <= mean_literal truth j <= Q2R (top c).
Proof.
  pose proof (top_positive c C). unfold mean_literal.
  destruct (nth_error f j) as [w|] eqn:E; [|lra].
  destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & S & _).
  unfold clause_transition, literal_state. rewrite S. simpl. rewrite Q2R_third.
  pose proof (values_in_range (variable l1) (Bool.eqb (positive l1) true)).
  pose proof (values_in_range (variable l2) (Bool.eqb (positive l2) true)).
  pose proof (values_in_range (variable l3) (Bool.eqb (positive l3) true)). lra.
Qed.

Lemma explore_within t ds : 0 <= t ->
  incl ds (hard_program c n f) -> legal M Start start = true ->
  0 <= v <= Q2R (upper c Start) -> 0 <= raised <= Q2R (upper c free) ->
  (In (point free) ds -> - t <= bellman_error M g pi (point free) <= t) ->
  (forall i, (i < n)%nat -> In (pair_of i) ds ->
     - t <= (truth i false + truth i true - Q2R (top c)) / 2 <= t) ->
  (In (point Start) ds -> - t <= bellman_error M g pi (point Start) <= t) ->
  feasible_within t c M ds g pi.
Proof.
  intros t0 I L V R N P B. pose proof (top_positive c C).
  pose proof (explore_legal start L).
  split; [|split; [assumption|]].
  - intros x S. destruct x as [| j | i | i b | |]; unfold g; simpl in *.
    + exact V.
    + pose proof (clause_room c C j). pose proof (mean_range j).
      destruct (state_eq _ _) as [E|]; [rewrite E; exact R|lra].
    + pose proof (roomy i). pose proof (values_in_range i false).
      pose proof (values_in_range i true).
      destruct (state_eq _ _) as [E|]; [rewrite E; exact R|lra].
    + pose proof (literal_room c C i b). pose proof (values_in_range i b). lra.
    + rewrite (detour_worthless c C S). lra.
    + pose proof (bottom_room c C). lra.
  - intros d D. pose proof (I d D) as K. unfold hard_program in K.
    apply in_app_or in K as [[<-|[]]|K]; [exact (B D)|].
    apply in_app_or in K as [K|K].
    { apply in_map_iff in K as (j & <- & J). apply in_seq in J.
      destruct (state_eq (ClauseState j) free) as [<-|E]; [exact (N D)|].
      rewrite explore_clause by lia. unfold g. simpl.
      destruct (state_eq _ _); [contradiction|lra]. }
    apply in_app_or in K as [K|K].
    { destruct (layered c) eqn:Y; [|destruct K].
      apply in_map_iff in K as (i & <- & J). apply in_seq in J.
      destruct (state_eq (VariableState i) free) as [<-|E]; [exact (N D)|].
      unfold M. rewrite variable_error by (assumption || lia). unfold g. simpl.
      destruct (state_eq _ _); [contradiction|lra]. }
    apply in_app_or in K as [K|K].
    { apply in_map_iff in K as (i & <- & J). apply in_seq in J.
      unfold M. rewrite pair_error by (assumption || lia).
      pose proof (P i (proj2 J) D). unfold g. simpl. lra. }
    destruct (quits c); [|destruct K]. destruct K as [<-|[]].
    rewrite bellman_point. simpl. rewrite Q2R_0. lra.
Qed.

Lemma explore_feasible ds :
  incl ds (hard_program c n f) -> legal M Start start = true ->
  0 <= v <= Q2R (upper c Start) -> 0 <= raised <= Q2R (upper c free) ->
  ~ In (point free) ds ->
  (forall i, (i < n)%nat -> In (pair_of i) ds ->
     truth i false + truth i true = Q2R (top c)) ->
  (In (point Start) ds -> bellman_error M g pi (point Start) = 0) ->
  feasible c M ds g pi.
Proof.
  intros I L V R N P B. apply feasible_exact, explore_within; auto; try lra.
  - contradiction.
  - intros i H D. rewrite (P i H D). lra.
  - intros D. rewrite (B D). lra.
Qed.
End Pair.
End Explore.
