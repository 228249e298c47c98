(** Theorem T: with the rule [lowest], and with [largest], no tie helps OLIVE. In
    [strict] every run binds the distributions of the hard program one by one,
    whatever maximisers it takes; pairs near the maximum, a tolerance, and estimates
    do not help either while they are small (Theorem T'). Source: the toolkit's own,
    no adversary is needed. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore
  StrictWorth.
From Olivine Require Import StrictRounds Tolerance.
Import ListNotations.
Open Scope R_scope.

(** ** Runs with noise *)

(** A level may be bound if its share of the errors' sum is large enough. *)
Definition eligible (N : noise) (e : nat -> R) (h : nat) : Prop :=
  (1 <= h <= 3)%nat /\ phi N < e h /\ stop N <= 3 * e h.

Definition noisy_rule := noise -> (nat -> R) -> nat -> Prop.

Definition lowest_of : noisy_rule := fun N e h =>
  eligible N e h /\ forall k, (1 <= k < h)%nat -> ~ eligible N e k.

Definition largest_of : noisy_rule := fun N e h =>
  eligible N e h /\ forall k, (1 <= k <= 3)%nat -> e k <= e h.

(** As [follows], by estimates that may differ from round to round. *)
Inductive follows_near (N : noise) (r : noisy_rule) (c : construction) (M : mdp) :
    list round -> list distribution -> Prop :=
  | near_none : follows_near N r c M [] []
  | near_round rounds ds hat g pi e h :
      follows_near N r c M rounds ds -> off_by (eta N) M hat ->
      feasible_by hat (phi N) c M ds g pi ->
      (forall k rho, feasible_by hat (phi N) c M ds k rho ->
         k Start <= g Start + gamma N) ->
      near_errors N M g pi e -> stop N < e 1%nat + e 2%nat + e 3%nat -> r N e h ->
      follows_near N r c M (Round g pi h :: rounds) (roll_in M pi h :: ds).

(** Under [lowest] no level below may be eligible by error alone. *)
Definition fits (N : noise) (r : noisy_rule) : Prop :=
  mild N /\
  (r = largest_of \/
   r = lowest_of /\ (eta N + kappa N = 0 \/ 3 * (phi N + eta N + kappa N) < stop N)).

Lemma follows_near_length N r c M rounds ds : follows_near N r c M rounds ds ->
  length rounds = length ds.
Proof. induction 1; simpl; congruence. Qed.

Lemma near_from_estimates N c M hat ds g pi : off_by (eta N) M hat ->
  feasible_by hat (phi N) c M ds g pi ->
  (forall k rho, feasible_by hat (phi N) c M ds k rho ->
     k Start <= g Start + gamma N) ->
  near_maximiser N c M ds g pi.
Proof.
  intros O F X. split.
  - apply (within_estimates (eta N) (phi N) c M hat ds g pi O), F.
  - intros h rho G. apply (X h rho),
      (within_estimates (eta N) (phi N) c M hat ds h rho O), G.
Qed.

(** ** Without noise *)

Definition exact : noise := Noise 0 0 0 0 0.

Lemma mild_exact : mild exact.
Proof. unfold mild. simpl. lra. Qed.

Lemma exact_near c M ds g pi : maximiser c M ds g pi ->
  near_maximiser exact c M ds g pi /\ near_errors exact M g pi (level_error M g pi).
Proof.
  intros [F X]. split; [split|]; simpl.
  - rewrite Rplus_0_r. apply feasible_exact, F.
  - intros h rho G. rewrite Rminus_0_r in G. apply feasible_exact in G.
    specialize (X h rho G). lra.
  - intros h _. simpl. lra.
Qed.

Definition noisy (r : rule) (q : noisy_rule) : Prop :=
  r = lowest /\ q = lowest_of \/ r = largest /\ q = largest_of.

Lemma exact_rule r q M g pi h : noisy r q ->
  (r M g pi h <-> q exact (level_error M g pi) h).
Proof.
  assert (E : forall k, eligible exact (level_error M g pi) k <-> any_positive M g pi k)
    by (intros k; unfold eligible, any_positive; simpl; split; intros (A & B);
        (split; [exact A|]); lra).
  intros [[-> ->]|[-> ->]].
  - unfold lowest, lowest_of. rewrite E. split; intros (A & B); (split; [exact A|]);
      intros k K; specialize (B k K).
    + rewrite E. unfold any_positive. lra.
    + destruct (Rle_lt_dec (level_error M g pi k) 0); [assumption|].
      exfalso. apply B, E. split; [|assumption]. destruct A as [A _]. lia.
  - unfold largest, largest_of. rewrite E. reflexivity.
Qed.

Lemma exact_fits r q : noisy r q -> fits exact q.
Proof.
  intros Q. split; [exact mild_exact|].
  destruct Q as [[_ ->]|[_ ->]]; [right|left; reflexivity].
  split; [reflexivity|]. left. simpl. lra.
Qed.

Lemma follows_exact r q c M rounds ds : noisy r q -> follows r c M rounds ds ->
  follows_near exact q c M rounds ds.
Proof.
  intros Q R. induction R as [|rounds ds g pi h R IH [F X] P L]; [constructor|].
  assert (B : forall k rho, feasible_by (bellman_error M) 0 c M ds k rho <->
    feasible_within 0 c M ds k rho) by (intros; reflexivity).
  apply (near_round exact q c M rounds ds (bellman_error M) g pi (level_error M g pi)
    h);
    simpl.
  - exact IH.
  - intros k rho d. lra.
  - apply B, feasible_exact, F.
  - intros k rho G. apply B, feasible_exact in G. specialize (X k rho G). lra.
  - intros k _. simpl. lra.
  - exact P.
  - apply (exact_rule r q M g pi h Q), L.
Qed.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

(** (d) until the whole hard program is bound. *)
Lemma round_forced N ds g pi e : mild N ->
  incl ds hard -> (ds = [] \/ In (point Start) ds) ->
  NoDup ds -> (length ds < m + 2 * n + 1)%nat ->
  near_maximiser N strict M ds g pi -> near_errors N M g pi e ->
  forced n f y N ds pi e.
Proof.
  intros Q I S U L X E. destruct S as [D|S].
  { apply (round_start n f y N T Q ds g pi e); assumption. }
  destruct (all_or_one ds (fun i => point (VariableState i)) (seq 0 n))
    as [XB|(i & J & V)].
  2: { apply in_seq in J. apply (round_variable n f y N T Q ds g pi e I X E S i);
       [lia|exact V]. }
  assert (XB' : forall i, (i < n)%nat -> In (point (VariableState i)) ds)
    by (intros i H; apply XB, in_seq; lia).
  destruct (all_or_one ds (fun j => point (ClauseState j)) (seq 0 m))
    as [CB|(j & J & V)].
  2: { apply in_seq in J. apply (round_clause n f y N T Q ds g pi e I X E S XB' j);
       [exact (proj2 J)|exact V]. }
  assert (CB' : forall j, (j < m)%nat -> In (point (ClauseState j)) ds)
    by (intros j H; apply CB, in_seq; lia).
  destruct (all_or_one ds pair_of (seq 0 n)) as [PB|(i & J & V)].
  2: { apply in_seq in J. apply (round_pair n f y N T Q ds g pi e I X E S XB' CB' i);
       [lia|exact V]. }
  exfalso. assert (K : incl hard ds).
  { intros d H. apply hard_iff in H. destruct H as [|j H|i H|i H]; auto.
    apply PB, in_seq. lia. }
  pose proof (NoDup_incl_length (hard_NoDup n f) K) as B.
  unfold hard in B. rewrite hard_length in B. lia.
Qed.

(** Either rule takes that level, and no other. *)
Lemma forced_level N r ds pi e : fits N r -> forced n f y N ds pi e ->
  exists h, (r N e h /\ forall k, r N e k -> k = h) /\
    In (roll_in M pi h) hard /\ ~ In (roll_in M pi h) ds /\
    (ds = [] -> roll_in M pi h = point Start) /\
    (forall i, roll_in M pi h = pair_of i ->
       forall d, hard_one n f d -> In d ds \/ exists k, d = pair_of k).
Proof.
  intros [Q R] (h & B & S & P & Low & Top & H & U & Z). exists h.
  assert (G : eligible N e h).
  { split; [exact B|]. unfold mild in Q. split; [lra|].
    assert (W : forall k, (1 <= k <= 3)%nat -> e k <= e h).
    { intros k K. destruct (Nat.eq_dec k h) as [->|D]; [lra|].
      apply Rlt_le, Top; assumption. }
    pose proof (W 1%nat ltac:(lia)). pose proof (W 2%nat ltac:(lia)).
    pose proof (W 3%nat ltac:(lia)). lra. }
  split; [|split; [apply hard_iff, H|split; [exact U|exact Z]]].
  destruct R as [->|[-> C]].
  - split.
    + split; [exact G|]. intros k K. destruct (Nat.eq_dec k h) as [->|D]; [lra|].
      apply Rlt_le, Top; assumption.
    + intros k [[K _] A]. destruct (Nat.eq_dec k h) as [E|D]; [exact E|].
      pose proof (Top k K D). pose proof (A h B). lra.
  - assert (A : forall k, (1 <= k < h)%nat -> ~ eligible N e k).
    { intros k K (_ & E1 & E2). pose proof (Low k K). unfold mild in Q. lra. }
    split; [split; assumption|].
    intros k [E L]. destruct (Nat.lt_trichotomy h k) as [K|[K|K]].
    + exfalso. apply (L h); [lia|exact G].
    + congruence.
    + exfalso. apply (A k); [destruct E as [E _]; lia|exact E].
Qed.

(** ** Theorem T', for either rule *)

Section Near.
Variables (N : noise) (q : noisy_rule).
Hypothesis fit : fits N q.

(** A run that has not bound the whole hard program holds part of it, s0 first. *)
Theorem near_run_on_its_way rounds ds : follows_near N q strict M rounds ds ->
  (length rounds <= m + 2 * n + 1)%nat ->
  incl ds hard /\ NoDup ds /\ (ds = [] \/ In (point Start) ds).
Proof.
  intros R. induction R as [|rounds ds hat g pi e h R IH O F X E _ L]; simpl; intros B.
  - split; [intros _ []|]. split; [constructor|auto].
  - pose proof (follows_near_length _ _ _ _ _ _ R) as K.
    destruct IH as (I & U & S); [lia|].
    destruct (forced_level N q ds pi e fit) as (k & [_ A] & H & V & Z & _).
    { apply (round_forced N ds g pi e (proj1 fit)); auto; [lia|].
      apply (near_from_estimates N strict M hat); assumption. }
    rewrite (A h L). split; [|split].
    + intros d [<-|D]; auto.
    + constructor; assumption.
    + right. destruct S as [D|S]; [left; auto|right; exact S].
Qed.

(** A pair of literals is bound only when all else is. *)
Lemma pairs_last rounds ds : follows_near N q strict M rounds ds ->
  (length rounds <= m + 2 * n + 1)%nat -> forall i, In (pair_of i) ds ->
  forall d, hard_one n f d -> In d ds \/ exists k, d = pair_of k.
Proof.
  intros R. induction R as [|rounds ds hat g pi e h R IH O F X E _ L]; simpl;
    intros B i D d H; [destruct D|].
  pose proof (follows_near_length _ _ _ _ _ _ R) as K.
  destruct (near_run_on_its_way rounds ds R) as (I & U & S); [lia|].
  destruct (forced_level N q ds pi e fit) as (k & [_ A] & _ & _ & _ & Last).
  { apply (round_forced N ds g pi e (proj1 fit)); auto; [lia|].
    apply (near_from_estimates N strict M hat); assumption. }
  rewrite (A h L) in D. destruct D as [D|D].
  - destruct (Last i D d H); auto.
  - destruct (IH ltac:(lia) i D d H); auto.
Qed.

(** Before that OLIVE does not stop, whatever pair near the maximum it takes and
    whatever it estimates, and the rule allows exactly one level. *)
Theorem near_run_goes_on rounds ds : follows_near N q strict M rounds ds ->
  (length rounds < m + 2 * n + 1)%nat ->
  forall g pi e, near_maximiser N strict M ds g pi -> near_errors N M g pi e ->
  stop N < e 1%nat + e 2%nat + e 3%nat /\
  exists h, q N e h /\ forall k, q N e k -> k = h.
Proof.
  intros R B g pi e X E. pose proof (follows_near_length _ _ _ _ _ _ R) as K.
  destruct (near_run_on_its_way rounds ds R) as (I & U & S); [lia|].
  assert (FC : forced n f y N ds pi e)
    by (apply (round_forced N ds g pi e (proj1 fit)); auto; lia).
  split; [destruct FC as (h & _ & P & _); exact P|].
  destruct (forced_level N q ds pi e fit FC) as (h & A & _). exists h. exact A.
Qed.

(** After m + 2n + 1 rounds exactly the hard program is bound. *)
Theorem near_run_meets_hard_program rounds ds : follows_near N q strict M rounds ds ->
  length rounds = (m + 2 * n + 1)%nat ->
  forall d, In d ds <-> In d hard.
Proof.
  intros R B. pose proof (follows_near_length _ _ _ _ _ _ R) as K.
  destruct (near_run_on_its_way rounds ds R) as (I & U & S); [lia|].
  intros d. split; [apply I|].
  apply (NoDup_length_incl U); [|exact I]. unfold hard. rewrite hard_length. lia.
Qed.
End Near.

(** ** Maximisers exist *)

Lemma worth_at_most ds g pi bX bC b : feasible_within 0 strict M ds g pi ->
  In (point Start) ds ->
  (forall i, (i < n)%nat -> g (VariableState i) <= bX) ->
  (forall j, (j < m)%nat -> g (ClauseState j) <= bC) ->
  7 / 100 + bX <= b -> bC <= b -> 1 / 10 + bC / 2 <= b -> g Start <= b.
Proof.
  intros F S BX BC H1 H2 H3. pose proof (proj1 (proj2 F) Start eq_refl) as L.
  pose proof (proj2 (proj2 F) _ S) as Z.
  destruct (pi Start) as [k | k | | | |] eqn:A; try discriminate L.
  - destruct (try_variable_is n f y T 0 ds g pi F k A) as [K E]. fold M in E.
    pose proof (BX k K). lra.
  - destruct (try_clause_is n f y T 0 ds g pi F k A) as [K E]. fold M in E.
    pose proof (BC k K). lra.
  - pose proof (solve_at_most n f y T 0 ds g pi F bC BC A S). lra.
Qed.

Lemma bound_variable ds g pi i : feasible_within 0 strict M ds g pi -> (i < n)%nat ->
  In (point (VariableState i)) ds -> g (VariableState i) <= 1 / 10.
Proof.
  intros F K I. pose proof (variable_backup n f y 0 ds g pi F i K) as B.
  pose proof (range_literal n f y 0 ds g pi F i false K).
  pose proof (range_literal n f y 0 ds g pi F i true K).
  fold M in B. pose proof (proj2 (proj2 F) _ I). lra.
Qed.

Lemma maximiser_of ds b : (exists g pi, feasible strict M ds g pi /\ g Start = b) ->
  (forall g pi, feasible strict M ds g pi -> g Start <= b) ->
  exists g pi, maximiser strict M ds g pi.
Proof.
  intros (g & pi & F & E) B. exists g, pi. split; [exact F|]. rewrite E. exact B.
Qed.

Lemma attained ds v : (exists g pi,
    feasible_within (phi exact - eta exact) strict M ds g pi /\
    g Start = v + (phi exact - eta exact)) ->
  exists g pi, feasible strict M ds g pi /\ g Start = v.
Proof.
  simpl. rewrite Rminus_0_r. intros (g & pi & F & E). exists g, pi.
  split; [apply feasible_exact, F|lra].
Qed.

(** While something is unbound: 1, then 47/100, 2/5 and 17/100. *)
Lemma maximiser_exists ds : incl ds hard -> (ds = [] \/ In (point Start) ds) ->
  NoDup ds -> (length ds < m + 2 * n + 1)%nat ->
  exists g pi, maximiser strict M ds g pi.
Proof.
  intros I [->|S] N L.
  { apply (maximiser_of _ 1).
    - apply attained. eexists _, _. split;
        [apply (raise_start n f y exact T mild_exact)|].
      simpl. ring.
    - intros g pi (R & _). rewrite <- Q2R_1. apply (R Start eq_refl). }
  destruct (all_or_one ds (fun i => point (VariableState i)) (seq 0 n))
    as [XB|(i & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (47 / 100)).
    - apply attained, (raise_variable n f y exact T mild_exact ds i); auto. lia.
    - intros g pi F. apply feasible_exact in F.
      apply (worth_at_most ds g pi (2 / 5) (2 / 5)); auto; try lra.
      + intros k K. apply (range_variable n f y 0 ds g pi F k K).
      + intros k K. apply (range_clause n f y 0 ds g pi F k K). }
  assert (XB' : forall i, (i < n)%nat -> In (point (VariableState i)) ds)
    by (intros i H; apply XB, in_seq; lia).
  destruct (all_or_one ds (fun j => point (ClauseState j)) (seq 0 m))
    as [CB|(j & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (2 / 5)).
    - apply attained, (raise_clause n f y exact T mild_exact ds j); auto. lia.
    - intros g pi F. apply feasible_exact in F.
      apply (worth_at_most ds g pi (1 / 10) (2 / 5)); auto; try lra.
      + intros k K. apply (bound_variable ds g pi k F K), XB', K.
      + intros k K. apply (range_clause n f y 0 ds g pi F k K). }
  assert (CB' : forall j, (j < m)%nat -> In (point (ClauseState j)) ds)
    by (intros j H; apply CB, in_seq; lia).
  destruct (all_or_one ds pair_of (seq 0 n)) as [PB|(i & J & U)].
  2: { apply in_seq in J. apply (maximiser_of _ (17 / 100)).
    - apply attained. destruct (raise_literals n f y exact T mild_exact ds i) as
        (g & pi & F & E); auto; [lia|].
      exists g, pi. split; [exact F|]. rewrite E. simpl. ring.
    - intros g pi F. apply feasible_exact in F.
      apply (worth_at_most ds g pi (1 / 10) (1 / 10)); auto; try lra.
      + intros k K. apply (bound_variable ds g pi k F K), XB', K.
      + intros k K. pose proof (bound_clause n f y T 0 ds g pi F k K (CB' k K)). lra. }
  exfalso. assert (K : incl hard ds).
  { intros d H. apply hard_iff in H. destruct H as [|j H|i H|i H]; auto.
    apply PB, in_seq. lia. }
  pose proof (NoDup_incl_length (hard_NoDup n f) K) as Q.
  unfold hard in Q; rewrite hard_length in Q. lia.
Qed.

Lemma optimum_within_same t c ds es v : (forall d, In d ds <-> In d es) ->
  optimum_within t c M ds v -> optimum_within t c M es v.
Proof.
  intros E [U (g & pi & (R & P & B) & V)].
  split.
  - intros h rho (R' & P' & B'). apply (U h rho). split; [exact R'|].
    split; [exact P'|].
    intros d D. apply B', E, D.
  - exists g, pi. split; [|exact V]. split; [exact R|]. split; [exact P|].
    intros d D. apply B, E, D.
Qed.

(** ** Theorem T, for either rule *)

Section Rule.
Variable r : rule.
Hypothesis either : r = lowest \/ r = largest.

Let q_exists : exists q, noisy r q.
Proof.
  destruct either as [->| ->]; [exists lowest_of|exists largest_of]; unfold noisy; auto.
Qed.

(** A run that has not bound the whole hard program holds part of it, s0 first. *)
Theorem run_on_its_way rounds ds : follows r strict M rounds ds ->
  (length rounds <= m + 2 * n + 1)%nat ->
  incl ds hard /\ NoDup ds /\ (ds = [] \/ In (point Start) ds).
Proof.
  intros R. destruct q_exists as [q Q].
  apply (near_run_on_its_way exact q (exact_fits r q Q)).
  apply (follows_exact r q strict M rounds ds Q R).
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
  destruct q_exists as [q Q]. destruct (exact_near strict M ds g pi X) as [A G].
  destruct (near_run_goes_on exact q (exact_fits r q Q) rounds ds
    (follows_exact r q strict M rounds ds Q R) B g pi _ A G) as (P & h & H & O).
  split; [exact P|]. exists h. split; [apply (exact_rule r q M g pi h Q), H|].
  intros k K. apply O, (exact_rule r q M g pi k Q), K.
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
Theorem theorem_T rounds ds u : least_unsatisfied f u ->
  follows r strict M rounds ds -> length rounds = (m + 2 * n + 1)%nat ->
  (forall d, In d ds <-> In d hard) /\
  optimum strict M ds (1 / 10 + 1 / 20 * (1 - IZR u / (3 * IZR (total_weight f)))).
Proof.
  intros L R B. destruct q_exists as [q Q].
  pose proof (near_run_meets_hard_program exact q (exact_fits r q Q) rounds ds
    (follows_exact r q strict M rounds ds Q R) B) as E.
  split; [exact E|]. apply optimum_exact, (optimum_within_same 0 _ hard).
  - intros d. symmetry. apply E.
  - apply optimum_exact, (optimum_strict n f y u T L).
Qed.
End Rule.

(** ** Which noise a run bears, and constant accuracy *)

(** Exact expectations, tolerance and threshold 0: pairs within 1/50 of the optimum. *)
Theorem fits_near g q : q = lowest_of \/ q = largest_of -> 0 <= g < 1 / 50 ->
  fits (Noise 0 0 0 g 0) q.
Proof.
  intros [->| ->] G; (split; [unfold mild; simpl; lra|]); simpl; auto.
  right. split; [reflexivity|left; lra].
Qed.

(** Exact expectations, OLIVE's own tolerance and threshold for accuracy [eps]. *)
Theorem fits_own_constants g p eps q : q = lowest_of \/ q = largest_of ->
  0 <= g < 1 / 50 + p / 2 -> 0 <= p <= eps / 36 ->
  g + 5 * eps / 8 < 1 / 20 + 2 * p -> fits (Noise p 0 0 g (5 * eps / 8)) q.
Proof.
  intros [->| ->] G P E; (split; [unfold mild; simpl; lra|]); simpl; auto.
  right. split; [reflexivity|left; lra].
Qed.

(** Samples of OLIVE's own size: constraints off by [p], a round's errors by eps/24. *)
Theorem fits_own_samples g p eps q : q = lowest_of \/ q = largest_of ->
  0 < eps -> 0 <= g -> g + 3 * p < 1 / 50 -> 0 <= p <= eps / 36 ->
  g + 3 * eps / 4 < 1 / 20 -> fits (Noise p p (eps / 24) g (5 * eps / 8)) q.
Proof.
  intros [->| ->] H G B P E; (split; [unfold mild; simpl; lra|]); simpl; auto.
  right. split; [reflexivity|right; lra].
Qed.

(** N1: at constant accuracy, up to 2/25, every run meets the hard program, and its
    optimum is that of a satisfiable formula only if u = 0. *)
Theorem constant_accuracy p eps q rounds ds u : q = lowest_of \/ q = largest_of ->
  0 < p <= eps / 36 -> eps <= 2 / 25 -> least_unsatisfied f u ->
  follows_near (Noise p 0 0 0 (5 * eps / 8)) q strict M rounds ds ->
  length rounds = (m + 2 * n + 1)%nat ->
  let s := IZR u / IZR (total_weight f) in
  (forall d, In d ds <-> In d hard) /\
  optimum_within p strict M ds (3 / 20 + 3 * p / 2 - s * (1 / 60 - p / 3)).
Proof.
  intros Q P E L R B s. pose proof (share_range n f u T L) as S. fold s in S.
  assert (A : forall d, In d ds <-> In d hard).
  { refine (near_run_meets_hard_program _ q _ rounds ds R B).
    apply fits_own_constants; auto; lra. }
  split; [exact A|]. apply (optimum_within_same _ _ hard); [intros d; symmetry;
    apply A|].
  replace (3 / 20 + 3 * p / 2 - s * (1 / 60 - p / 3)) with (strict_within s p)
    by (unfold strict_within; field).
  apply (optimum_strict_within n f y u p T L). fold s. split; [lra|].
  unfold strict_ceiling. apply Rmult_le_reg_r with (50 * (9 - 2 * s)); [lra|].
  replace ((9 - 5 * s) / (50 * (9 - 2 * s)) * (50 * (9 - 2 * s))) with (9 - 5 * s)
    by (field; lra).
  nra.
Qed.
End Strict.
