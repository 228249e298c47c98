(** Theorem T: with the rule [lowest], and with [largest], no tie helps OLIVE. In
    [strict] every run binds the distributions of the hard program one by one,
    whatever maximisers it takes. Source: the toolkit's own, no adversary is
    needed. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore StrictWorth StrictRounds.
Import ListNotations.
Open Scope R_scope.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

(** (d) until the whole hard program is bound. *)
Lemma round_forced ds g pi : incl ds hard -> (ds = [] \/ In (point Start) ds) ->
  NoDup ds -> (length ds < m + 2 * n + 1)%nat ->
  maximiser strict M ds g pi -> forced n f y ds g pi.
Proof.
  intros I [->|S] N L X; [apply round_start; [exact T|exact X]|].
  destruct (all_or_one ds (fun i => point (VariableState i)) (seq 0 n))
    as [XB|(i & J & U)].
  2: { apply in_seq in J. apply (round_variable n f y T ds g pi i); auto. lia. }
  assert (XB' : forall i, (i < n)%nat -> In (point (VariableState i)) ds)
    by (intros i H; apply XB, in_seq; lia).
  destruct (all_or_one ds (fun j => point (ClauseState j)) (seq 0 m))
    as [CB|(j & J & U)].
  2: { apply in_seq in J. apply (round_clause n f y T ds g pi j); auto. lia. }
  assert (CB' : forall j, (j < m)%nat -> In (point (ClauseState j)) ds)
    by (intros j H; apply CB, in_seq; lia).
  destruct (all_or_one ds pair_of (seq 0 n)) as [PB|(i & J & U)].
  2: { apply in_seq in J. apply (round_pair n f y T ds g pi i); auto. lia. }
  exfalso. assert (K : incl hard ds).
  { intros d H. apply hard_iff in H. destruct H as [|j H|i H|i H]; auto.
    apply PB, in_seq. lia. }
  pose proof (NoDup_incl_length (hard_NoDup n f) K) as Q. unfold hard in Q; rewrite hard_length in Q. lia.
Qed.

Lemma round_binds r ds g pi h : r = lowest \/ r = largest ->
  forced n f y ds g pi -> r M g pi h ->
  In (roll_in M pi h) hard /\ ~ In (roll_in M pi h) ds /\
  (ds = [] -> roll_in M pi h = point Start).
Proof.
  intros R (k & O & _ & H & N & S) L.
  destruct (stands_out_picks r M g pi k R O) as [_ U]. rewrite (U h L).
  split; [|auto]. apply hard_iff, H.
Qed.

(** ** Maximisers exist *)

Lemma worth_at_most ds g pi bX bC b : feasible strict M ds g pi ->
  In (point Start) ds ->
  (forall i, (i < n)%nat -> g (VariableState i) <= bX) ->
  (forall j, (j < m)%nat -> g (ClauseState j) <= bC) ->
  7 / 100 + bX <= b -> bC <= b -> 1 / 10 + bC / 2 <= b -> g Start <= b.
Proof.
  intros F S BX BC H1 H2 H3. pose proof (proj1 (proj2 F) Start eq_refl) as L.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T ds g pi F k A) as [K E].
    rewrite (E S). pose proof (BX k K). lra.
  - destruct (try_clause_is n f y T ds g pi F k A) as [K E].
    rewrite (E S). pose proof (BC k K). lra.
  - pose proof (solve_at_most n f y T ds g pi F bC BC A S). lra.
Qed.

Lemma bound_variable ds g pi i : feasible strict M ds g pi -> (i < n)%nat ->
  In (point (VariableState i)) ds -> g (VariableState i) <= 1 / 10.
Proof.
  intros F K I. pose proof (variable_backup n f y ds g pi F i K) as B.
  pose proof (range_literal n f y ds g pi F i false K).
  pose proof (range_literal n f y ds g pi F i true K).
  fold M in B. destruct F as (_ & _ & Z). rewrite (Z _ I) in B. lra.
Qed.

Lemma maximiser_of ds b : (exists g pi, feasible strict M ds g pi /\ g Start = b) ->
  (forall g pi, feasible strict M ds g pi -> g Start <= b) ->
  exists g pi, maximiser strict M ds g pi.
Proof.
  intros (g & pi & F & E) B. exists g, pi. split; [exact F|]. rewrite E. exact B.
Qed.

(** While something is unbound: 1, then 47/100, 2/5 and 17/100. *)
Lemma maximiser_exists ds : incl ds hard -> (ds = [] \/ In (point Start) ds) ->
  NoDup ds -> (length ds < m + 2 * n + 1)%nat ->
  exists g pi, maximiser strict M ds g pi.
Proof.
  intros I [->|S] N L.
  { apply (maximiser_of _ 1).
    - eexists _, _. split; [apply (first_feasible n f y T)|reflexivity].
    - intros g pi (R & _). rewrite <- Q2R_1. apply (R Start eq_refl). }
  destruct (all_or_one ds (fun i => point (VariableState i)) (seq 0 n))
    as [XB|(i & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (47 / 100)).
    - apply (raise_variable n f y T ds i); auto. lia.
    - intros g pi F. apply (worth_at_most ds g pi (2 / 5) (2 / 5)); auto; try lra.
      + intros k K. apply (range_variable n f y ds g pi F k K).
      + intros k K. apply (range_clause n f y ds g pi F k K). }
  assert (XB' : forall i, (i < n)%nat -> In (point (VariableState i)) ds)
    by (intros i H; apply XB, in_seq; lia).
  destruct (all_or_one ds (fun j => point (ClauseState j)) (seq 0 m))
    as [CB|(j & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (2 / 5)).
    - eexists _, _. split; [apply (try_clause_feasible n f y T ds j); auto; lia|].
      reflexivity.
    - intros g pi F. apply (worth_at_most ds g pi (1 / 10) (2 / 5)); auto; try lra.
      + intros k K. apply (bound_variable ds g pi k F K), XB', K.
      + intros k K. apply (range_clause n f y ds g pi F k K). }
  assert (CB' : forall j, (j < m)%nat -> In (point (ClauseState j)) ds)
    by (intros j H; apply CB, in_seq; lia).
  destruct (all_or_one ds pair_of (seq 0 n)) as [PB|(i & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (17 / 100)).
    - apply (raise_literals n f y T ds i); auto. lia.
    - intros g pi F. apply (worth_at_most ds g pi (1 / 10) (1 / 10)); auto; try lra.
      + intros k K. apply (bound_variable ds g pi k F K), XB', K.
      + intros k K. apply (bound_clause n f y T ds g pi F k K), CB', K. }
  exfalso. assert (K : incl hard ds).
  { intros d H. apply hard_iff in H. destruct H as [|j H|i H|i H]; auto.
    apply PB, in_seq. lia. }
  pose proof (NoDup_incl_length (hard_NoDup n f) K) as Q.
  unfold hard in Q; rewrite hard_length in Q. lia.
Qed.

Lemma optimum_same c ds es v : (forall d, In d ds <-> In d es) ->
  optimum c M ds v -> optimum c M es v.
Proof.
  intros E [U (g & pi & (R & P & B) & V)].
  split.
  - intros h rho (R' & P' & B'). apply (U h rho). split; [exact R'|]. split; [exact P'|].
    intros d D. apply B', E, D.
  - exists g, pi. split; [|exact V]. split; [exact R|]. split; [exact P|].
    intros d D. apply B, E, D.
Qed.

(** ** Theorem T, for either rule *)

Section Rule.
Variable r : rule.
Hypothesis either : r = lowest \/ r = largest.

(** A run that has not bound the whole hard program holds part of it, s0 first. *)
Theorem run_on_its_way rounds ds : follows r strict M rounds ds ->
  (length rounds <= m + 2 * n + 1)%nat ->
  incl ds hard /\ NoDup ds /\ (ds = [] \/ In (point Start) ds).
Proof.
  intros R. induction R as [|rounds ds g pi h R IH X _ L]; simpl; intros B.
  - split; [intros _ []|]. split; [constructor|auto].
  - pose proof (follows_length _ _ _ _ _ R) as E.
    destruct IH as (I & N & S); [lia|].
    assert (FC : forced n f y ds g pi) by (apply round_forced; auto; lia).
    destruct (round_binds r ds g pi h either FC L) as (H & U & Z).
    split; [|split].
    + intros d [<-|D]; auto.
    + constructor; assumption.
    + right. destruct S as [->|S]; [left; auto|right; exact S].
Qed.

(** Before that no run is stuck, and none may stop: there is a maximiser, and for
    each the rule allows exactly one level, and the errors' sum is positive. *)
Theorem run_goes_on rounds ds : follows r strict M rounds ds ->
  (length rounds < m + 2 * n + 1)%nat ->
  (exists g pi, maximiser strict M ds g pi) /\
  forall g pi, maximiser strict M ds g pi -> 0 < error_sum M g pi /\
    exists h, r M g pi h /\ forall k, r M g pi k -> k = h.
Proof.
  intros R B. pose proof (follows_length _ _ _ _ _ R) as E.
  destruct (run_on_its_way rounds ds R) as (I & N & S); [lia|].
  split; [apply maximiser_exists; auto; lia|]. intros g pi X.
  destruct (round_forced ds g pi I S N) as (h & O & P & _); [lia|exact X|].
  split; [exact P|]. exists h. apply stands_out_picks; assumption.
Qed.

(** So there are runs, of every length up to m + 2n + 1. *)
Theorem run_exists k : (k <= m + 2 * n + 1)%nat ->
  exists rounds ds, length rounds = k /\ follows r strict M rounds ds.
Proof.
  induction k as [|k IH]; intros K.
  - exists [], []. split; [reflexivity|constructor].
  - destruct IH as (rounds & ds & E & R); [lia|].
    destruct (run_goes_on rounds ds R) as [(g & pi & X) G]; [lia|].
    destruct (G g pi X) as (P & h & H & _).
    exists (Round g pi h :: rounds), (roll_in M pi h :: ds).
    split; [simpl; congruence|]. constructor; assumption.
Qed.

(** After m + 2n + 1 rounds exactly the hard program is bound. *)
Theorem run_meets_hard_program rounds ds : follows r strict M rounds ds ->
  length rounds = (m + 2 * n + 1)%nat ->
  forall d, In d ds <-> In d hard.
Proof.
  intros R B. pose proof (follows_length _ _ _ _ _ R) as E.
  destruct (run_on_its_way rounds ds R) as (I & N & S); [lia|].
  intros d. split; [apply I|].
  apply (NoDup_length_incl N); [|exact I]. unfold hard; rewrite hard_length. lia.
Qed.

Theorem theorem_T rounds ds u : least_unsatisfied f u ->
  follows r strict M rounds ds -> length rounds = (m + 2 * n + 1)%nat ->
  (forall d, In d ds <-> In d hard) /\
  optimum strict M ds (1 / 10 + 1 / 20 * (1 - IZR u / (3 * IZR (total_weight f)))).
Proof.
  intros L R B. pose proof (run_meets_hard_program rounds ds R B) as E.
  split; [exact E|]. apply (optimum_same _ hard).
  - intros d. symmetry. apply E.
  - apply (optimum_strict n f y u T L).
Qed.
End Rule.
End Strict.
