(** Theorem R: over the forced family every run, whatever its maximisers, comes to a
    program that holds the hard one and at most one distribution E_b behind clauses,
    and never stops before; its optimum is the hard program's. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Sums StrictWorth Forced ForcedOptimum ForcedRounds.
From Olivine Require Family.
Import ListNotations.
Open Scope R_scope.

Record round := Round { values : state -> R; policy : state -> action; level : nat }.

(** As in Explore.v: a round binds one level that the rule allows; *)
Inductive follows (r : rule) (M : mdp) : list round -> list distribution -> Prop :=
  | follows_none : follows r M [] []
  | follows_round rounds ds g pi h :
      follows r M rounds ds -> maximiser M ds g pi ->
      0 < error_sum M g pi -> r M g pi h ->
      follows r M (Round g pi h :: rounds) (roll_in M pi h :: ds).

(** here it binds all three. *)
Inductive follows_all (M : mdp) : list round -> list distribution -> Prop :=
  | all_none : follows_all M [] []
  | all_round rounds ds g pi h :
      follows_all M rounds ds -> maximiser M ds g pi ->
      0 < error_sum M g pi -> any_positive M g pi h ->
      follows_all M (Round g pi h :: rounds)
        (roll_in M pi 1 :: roll_in M pi 2 :: roll_in M pi 3 :: ds).

Section Forced.
Variables (p : pays) (n : nat) (f : formula) (y : assignment).
Hypothesis P : sound p.
Hypothesis T : Family.three_sat_form n f.

Let M := member p n f y.
Let hard := hard_program n f.

(** ** The hard program lists each distribution once *)

Lemma groups_NoDup : NoDup (groups n f).
Proof.
  unfold groups. apply NoDup_append.
  - apply NoDup_map_injective; [|apply seq_NoDup]. intros x z E. injection E. auto.
  - generalize (seq_NoDup (length f) 0). induction (seq 0 (length f)) as [|j l IH];
      intros N; simpl; [constructor|].
    inversion N as [|x k O N' E]. subst.
    assert (O' : forall c, ~ In (OfSide j c)
        (flat_map (fun j => [OfSide j false; OfSide j true]) l)).
    { intros c I. apply in_flat_map in I as (z & Z & [K|[K|[]]]);
        injection K as <- _; contradiction. }
    constructor; [|constructor; [apply O'|apply IH, N']].
    intros [K|K]; [discriminate K|exact (O' _ K)].
  - intros k I J. apply in_map_iff in I as (i & <- & _).
    apply in_flat_map in J as (z & _ & [K|[K|[]]]); discriminate K.
Qed.

Lemma groups_length : length (groups n f) = (n + 2 * length f)%nat.
Proof.
  assert (E : forall m s, length (flat_map (fun j => [OfSide j false; OfSide j true])
    (seq s m)) = (2 * m)%nat).
  { induction m as [|m IH]; intros s; [reflexivity|]. simpl. rewrite IH. lia. }
  unfold groups. rewrite app_length, map_length, seq_length, E. reflexivity.
Qed.

Lemma hard_length : length hard = (2 * (n + 2 * length f) + 4)%nat.
Proof.
  unfold hard, hard_program. simpl. rewrite app_length, !map_length, groups_length. lia.
Qed.

Lemma hard_NoDup : NoDup hard.
Proof.
  assert (E : forall d, In d (map (fun k => point (Try k)) (groups n f) ++
      map group_transition (groups n f)) ->
    (exists k, d = point (Try k)) \/ exists k, d = group_transition k).
  { intros d I. apply in_app_or in I as [I|I]; apply in_map_iff in I as (k & <- & _);
      eauto. }
  unfold hard, hard_program.
  repeat (apply NoDup_cons; [intros I; simpl in I;
    repeat match type of I with
      | _ \/ _ => destruct I as [I|I]; [try discriminate I|]
      end;
    destruct (E _ I) as [[[k|k c] K]|[[k|k c] K]]; discriminate K|]).
  apply NoDup_append.
  - apply NoDup_map_injective; [|apply groups_NoDup]. intros k l K. injection K. auto.
  - apply NoDup_map_injective; [|apply groups_NoDup].
    intros [i|j c] [k|l d] K; injection K; intros; congruence.
  - intros d I J. apply in_map_iff in I as (k & <- & _).
    apply in_map_iff in J as ([i|j c] & K & _); discriminate K.
Qed.

(** ** One level a round *)

(** Lemma 0: with all ranges [0,1] an E_b cannot be kept out. In its first round, under
    [lowest], OLIVE may bind what lies behind clauses for any policy that solves. *)
Theorem lemma_0 b : is_policy M b -> b Start = Solve -> exists g,
  follows lowest M [Round g b 3] [roll_in M b 3].
Proof.
  intros Q S. pose proof P as (_ & _ & _ & R0).
  set (g := fun x => match x with Start => 1 | _ => 94 / 100 end). exists g.
  assert (F : feasible M [] g b).
  { split; [intros x _; destruct x; simpl; lra|]. split; [exact Q|intros d []]. }
  assert (X : maximiser M [] g b).
  { split; [exact F|]. intros h rho (I & _). apply (I Start eq_refl). }
  assert (V : forall j w, nth_error f j = Some w -> clause_value g b (j, w) = 94 / 100).
  { intros j w E. destruct (clause_value_is p n f y T g b j w Q E)
      as (l1 & l2 & l3 & b1 & b2 & b3 & c & _ & _ & _ & _ & _ & _ & ->).
    simpl. field. }
  assert (E : behind f g b = 94 / 100).
  { unfold behind. rewrite (mean_ext n f T _ (fun _ => 94 / 100)) by exact V.
    rewrite (mean_const n f T). simpl. field. }
  pose proof (first_error p n f y T g b) as E1. rewrite S in E1.
  destruct (solve_errors p n f y T [] g b X S) as [E2 E3]. fold M in E1, E2, E3.
  simpl (g Rest) in E1, E2. change (fun jw : nat * weighted => g (Clause (fst jw))) with
    (fun _ : nat * weighted => 94 / 100) in E1, E2.
  rewrite (mean_const n f T) in E1, E2. rewrite E in E2, E3. simpl in E1.
  pose proof (behind_true p n f y P T b Q).
  constructor; [constructor|exact X| |].
  - unfold error_sum. lra.
  - split; [split; [lia|lra]|]. intros [|[|[|k]]] K; try lia; lra.
Qed.

(** Part of the hard program, and perhaps one distribution behind clauses. *)
Definition on_its_way (ds : list distribution) : Prop :=
  NoDup ds /\ exists e, behind_clauses M e /\
  forall d, In d ds -> In d hard \/ d = e.

Lemma some_behind : exists e, behind_clauses M e.
Proof.
  exists (roll_in M (plain Solve) 3), (plain Solve).
  split; [apply plain_solve|split; reflexivity].
Qed.

(** The rounds up to the hard program, [early], bind each distribution once. *)
Theorem forced_run r rounds ds : r = lowest \/ r = largest -> follows r M rounds ds ->
  exists late early, ds = late ++ early /\ on_its_way early /\
    (late = [] \/ incl hard early).
Proof.
  intros R F. induction F as [|rounds ds g pi h F (late & early & E & W & C) X _ H].
  - exists [], []. split; [reflexivity|]. split; [|auto]. split; [constructor|].
    destruct some_behind as [e B]. exists e. split; [exact B|intros d []].
  - destruct (incl_or_one hard early) as [I|(d & D & N)].
    { exists (roll_in M pi h :: late), early. rewrite E. auto. }
    destruct C as [->|C]; [|exfalso; apply N, C, D]. simpl in E. subst early.
    exists [], (roll_in M pi h :: ds). split; [reflexivity|]. split; [|auto].
    destruct W as [U (e & (b & B & S & ->) & A)].
    destruct (forced_round p n f y P T b B S ds g pi A X r R) as (_ & _ & K).
    { intros I. apply N, I, D. }
    destruct (K h H) as [New [J|[J O]]].
    + split; [constructor; assumption|]. exists (roll_in M b 3).
      split; [exists b; auto|]. intros d' [<-|D']; auto.
    + split; [constructor; assumption|]. exists (roll_in M pi h). split; [exact J|].
      intros d' [<-|D']; [auto|]. destruct (A d' D') as [G| ->]; [auto|contradiction].
Qed.

(** Before the hard program is bound OLIVE does not stop,
  and the rule allows a level. *)
Theorem forced_run_goes_on r rounds ds : r = lowest \/ r = largest ->
  follows r M rounds ds -> ~ incl hard ds ->
  forall g pi, maximiser M ds g pi -> 0 < error_sum M g pi /\ exists h, r M g pi h.
Proof.
  intros R F N g pi X. destruct (forced_run r rounds ds R F) as (late & early & E & W &
    C).
  assert (L : ds = early).
  { destruct C as [->|C]; [exact E|]. exfalso. apply N. intros d D. rewrite E.
    apply in_or_app. right. apply C, D. }
  destruct W as [U (e & (b & B & S & ->) & A)]. rewrite <- L in A.
  destruct (forced_round p n f y P T b B S ds g pi A X r R N) as (E0 & H & _). auto.
Qed.

(** Theorem R, one level a round: after 2(n + 2m) + 4 rounds or one more. *)
Theorem theorem_R r rounds ds u : r = lowest \/ r = largest ->
  follows r M rounds ds -> length rounds = (2 * (n + 2 * length f) + 5)%nat ->
  least_unsatisfied f u ->
  exists late early, ds = late ++ early /\ incl hard early /\ on_its_way early /\
    (length early = 2 * (n + 2 * length f) + 4 \/
     length early = 2 * (n + 2 * length f) + 5)%nat /\
    optimum M early (66 / 1000 + 9 / 10 * Q2R (rho p) -
                     IZR u / (6000 * IZR (total_weight f))).
Proof.
  intros R F L U. assert (LD : length ds = length rounds).
  { clear - F. induction F; simpl; congruence. }
  destruct (forced_run r rounds ds R F) as (late & early & E & W & C).
  exists late, early. split; [exact E|].
  destruct W as [N (e & BC & A)].
  assert (AE : incl early (e :: hard)).
  { intros d D. destruct (A d D) as [I| ->]; simpl; auto. }
  pose proof (NoDup_incl_length N AE) as Long. cbn [length] in Long.
  rewrite hard_length in Long.
  assert (I : incl hard early).
  { destruct C as [->|C]; [|exact C]. simpl in E. subst early. intros d D.
    refine (NoDup_length_incl (l' := e :: hard) N _ AE d (or_intror D)).
    cbn [length]. rewrite hard_length. lia. }
  split; [exact I|]. split; [split; [exact N|exists e; auto]|].
  pose proof (NoDup_incl_length hard_NoDup I) as Short. rewrite hard_length in Short.
  split; [lia|]. destruct BC as (b & B & S & ->).
  apply (optimum_forced p n f y P T b B S early u U I A).
Qed.

(** ** All levels a round *)

Definition played (rounds : list round) : list action :=
  map (fun x => policy x Start) rounds.

Definition start_actions : list action := Solve :: Pause :: map Enter (groups n f).

(** What has been bound is what the actions of s0 that were played lead to. *)
Definition bound_by (acts : list action) (b : state -> action)
    (ds : list distribution) : Prop :=
  (forall d, In d ds -> d = point Start \/
     (exists k, In (Enter k) acts /\ (d = point (Try k) \/ d = group_transition k)) \/
     In Solve acts /\ (d = behind_solve f \/ d = roll_in M b 3) \/
     In Pause acts /\ (d = point Rest \/ d = point End)) /\
  (forall a, In a acts -> In a start_actions /\ In (point Start) ds /\
     match a with
     | Enter k => In (point (Try k)) ds /\ In (group_transition k) ds
     | Solve => In (behind_solve f) ds /\ In (roll_in M b 3) ds
     | _ => In (point Rest) ds /\ In (point End) ds
     end).

Lemma enter_allowed k : In (Enter k) start_actions <-> group_of n f k = true.
Proof.
  rewrite <- groups_iff. unfold start_actions. simpl. rewrite in_map_iff. split.
  - intros [E|[E|(l & E & I)]]; try discriminate E. injection E as <-. exact I.
  - intros I. right; right. exists k. auto.
Qed.

Lemma start_allowed pi : is_policy M pi -> In (pi Start) start_actions.
Proof.
  intros Q. specialize (Q Start eq_refl). destruct (pi Start) eqn:S; try discriminate Q.
  - apply enter_allowed, Q.
  - left. reflexivity.
  - right. left. reflexivity.
Qed.

Lemma bound_among acts b ds : bound_by acts b ds -> among p n f y b ds.
Proof.
  intros [D A] d I. destruct (D d I) as [->|[(k & K & [->| ->])|[(K & [->| ->])|(K &
    [->| ->])]]];
    try (left; apply hard_iff; constructor); auto;
    apply enter_allowed, (A _ K).
Qed.

(** So while an action was not played something of the hard program is missing. *)
Lemma held_starts b : is_policy M b -> b Start = Solve ->
  exists q l, roll_in M b 3 = (End, q) :: l.
Proof.
  intros Q S. pose proof (goes p n f y b Rest Q eq_refl) as G. simpl in G.
  simpl. rewrite S. simpl. rewrite G. simpl. eauto.
Qed.

Lemma bound_misses acts b ds a : bound_by acts b ds -> is_policy M b -> b Start = Solve
  ->
  In a start_actions -> ~ In a acts -> ~ incl hard ds.
Proof.
  intros [D A] Q S I N C. destruct (held_starts b Q S) as (q & l & E).
  assert (H : forall d, hard_one n f d -> In d ds) by (intros; apply C, hard_iff; auto).
  destruct I as [<-|[<-|I]].
  - destruct (D _ (H _ (hard_solve n f))) as [K|[([i|j c] & _ & [K|K])|[(K & _)|(_ &
      [K|K])]]];
      try discriminate K. contradiction.
  - destruct (D _ (H _ (hard_rest n f))) as [K|[([i|j c] & _ & [K|K])|[(_ & [K|K])|(K &
      _)]]];
      try discriminate K; [rewrite E in K; discriminate K|contradiction].
  - apply in_map_iff in I as (k & <- & I). apply groups_iff in I.
    destruct (D _ (H _ (hard_try n f k I)))
      as [K|[([i|j c] & J & [K|K])|[(_ & [K|K])|(_ & [K|K])]]]; try discriminate K;
      try (injection K as ->; contradiction).
    rewrite E in K. discriminate K.
Qed.

(** (iii a) again: while something is missing no action of s0 is played twice. *)
Lemma new_action acts b ds g pi : bound_by acts b ds -> is_policy M b -> b Start = Solve
  ->
  ~ incl hard ds -> maximiser M ds g pi ->
  0 < error_sum M g pi /\ ~ In (pi Start) acts.
Proof.
  intros BB Q S N X. pose proof (bound_among acts b ds BB) as A.
  destruct (forced_round p n f y P T b Q S ds g pi A X lowest (or_introl eq_refl) N)
    as (E0 & _ & _).
  fold M in E0. split; [exact E0|]. intros I. destruct BB as [_ BB].
  destruct (BB _ I) as (_ & IS & J).
  pose proof (proj1 (proj2 (proj1 X))) as L.
  assert (Z : forall d, In d ds -> bellman_error M g pi d = 0) by apply (proj1 X).
  pose proof (rolls p n f y pi L) as R. fold M in R.
  assert (E1 : level_error M g pi 1 = 0) by exact (Z _ IS).
  destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:SP; try exact (False_ind _ R).
  - destruct R as (_ & R2 & R3). unfold error_sum in E0. rewrite E1 in E0.
    unfold level_error in E0. rewrite R2, R3, !Z in E0 by apply J. lra.
  - apply (no_second p n f y P T b Q S ds g pi A X N (proj2 J) SP).
    pose proof (start_is p n f y T ds g pi (proj1 X) IS) as V. rewrite SP in V.
    rewrite (solve_is p n f y T ds g pi (proj1 X) (proj1 J)) in V.
    pose proof (behind_range p n f y T ds g pi X pi L).
    pose proof (range p n f y ds g pi (proj1 X) End eq_refl). lra.
  - destruct R as [R2 R3]. unfold error_sum in E0. rewrite E1 in E0.
    unfold level_error in E0. rewrite R2, R3, !Z in E0 by apply J. lra.
Qed.

Lemma start_actions_length : length start_actions = (n + 2 * length f + 2)%nat.
Proof. unfold start_actions. simpl. rewrite map_length, groups_length. lia. Qed.

Definition action_eq (a c : action) : {a = c} + {a <> c}.
Proof. decide equality; try apply Bool.bool_dec. apply group_eq. Defined.

Lemma one_unplayed acts : (length acts < n + 2 * length f + 2)%nat ->
  exists a, In a start_actions /\ ~ In a acts.
Proof.
  intros L. assert (N : NoDup start_actions).
  { unfold start_actions. repeat constructor.
    - intros [E|E]; [discriminate E|]. apply in_map_iff in E as (k & E & _).
      discriminate E.
    - intros E. apply in_map_iff in E as (k & E & _). discriminate E.
    - apply NoDup_map_injective; [|apply groups_NoDup]. intros k l E. injection E.
      auto. }
  destruct (Forall_Exists_dec (fun a => In a acts) (fun a => in_dec action_eq a acts)
    start_actions) as [A|E].
  - exfalso. pose proof (NoDup_incl_length N (proj1 (Forall_forall _ _) A)) as K.
    rewrite start_actions_length in K. lia.
  - apply Exists_exists in E as (a & I & K). exists a. auto.
Qed.

(** Each round takes another action of s0. *)
Theorem forced_run_all rounds ds : follows_all M rounds ds ->
  (length rounds <= n + 2 * length f + 2)%nat ->
  NoDup (played rounds) /\
  exists b, is_policy M b /\ b Start = Solve /\ bound_by (played rounds) b ds.
Proof.
  intros F. induction F as [|rounds ds g pi h F IH X E0 _]; intros L; cbn [length] in L.
  - split; [constructor|]. exists (plain Solve). split; [apply plain_solve|].
    split; [reflexivity|]. split; [intros d []|intros a []].
  - destruct IH as (N & b & Q & S & BB); [lia|].
    change (played (Round g pi h :: rounds)) with (pi Start :: played rounds).
    destruct (one_unplayed (played rounds)) as (a & IA & NA).
    { unfold played. rewrite map_length. lia. }
    pose proof (bound_misses _ b ds a BB Q S IA NA) as Miss.
    destruct (new_action _ b ds g pi BB Q S Miss X) as [_ New].
    split; [constructor; assumption|].
    pose proof (proj1 (proj2 (proj1 X))) as QP.
    pose proof (start_allowed pi QP) as SA.
    pose proof (rolls p n f y pi QP) as R. fold M in R.
    set (b' := if action_eq (pi Start) Solve then pi else b).
    exists b'. split; [unfold b'; destruct (action_eq _ _); assumption|].
    split; [unfold b'; destruct (action_eq _ _); assumption|].
    assert (Keep : In Solve (played rounds) -> b' = b).
    { intros I. unfold b'. destruct (action_eq (pi Start) Solve) as [K|];
        [|reflexivity].
      rewrite K in New. contradiction. }
    destruct BB as [D A]. split.
    + intros d [<-|[<-|[<-|I]]]; [left; reflexivity|..].
      * right. destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:SP;
          try exact (False_ind _ R).
        -- left. exists k. split; [left; reflexivity|left; exact (proj1 (proj2 R))].
        -- right; left. split; [left; reflexivity|left; exact R].
        -- right; right. split; [left; reflexivity|left; exact (proj1 R)].
      * right. destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:SP;
          try exact (False_ind _ R).
        -- left. exists k. split; [left; reflexivity|right; exact (proj2 (proj2 R))].
        -- right; left. split; [left; reflexivity|right]. unfold b'.
           destruct (action_eq _ _); [reflexivity|congruence].
        -- right; right. split; [left; reflexivity|right; exact (proj2 R)].
      * destruct (D d I) as [K|[(k & K & J)|[(K & J)|(K & J)]]]; [auto|..]; right.
        -- left. exists k. simpl. auto.
        -- right; left. rewrite (Keep K). simpl. auto.
        -- right; right. simpl. auto.
    + intros a' [<-|I].
      * split; [exact SA|]. split; [left; reflexivity|].
        destruct (pi Start) as [k| | |b1 b2 b3 c|] eqn:SP; try exact (False_ind _ R).
        -- destruct R as (_ & <- & <-). split; [right; left|right; right; left];
             reflexivity.
        -- unfold b'. destruct (action_eq _ _) as [_|K]; [|congruence].
           rewrite <- R. split; [right; left|right; right; left]; reflexivity.
        -- destruct R as [<- <-]. split; [right; left|right; right; left]; reflexivity.
      * destruct (A a' I) as (K & IS & J). split; [exact K|].
        split; [right; right; right; exact IS|].
        destruct a'; try (destruct J; split; right; right; right; assumption).
        rewrite (Keep I). destruct J; split; right; right; right; assumption.
Qed.

(** Before n + 2m + 2 rounds OLIVE does not stop; *)
Theorem forced_run_all_goes_on rounds ds : follows_all M rounds ds ->
  (length rounds < n + 2 * length f + 2)%nat ->
  forall g pi, maximiser M ds g pi -> 0 < error_sum M g pi.
Proof.
  intros F L g pi X. destruct (forced_run_all rounds ds F) as (N & b & Q & S & BB);
    [lia|].
  destruct (one_unplayed (played rounds)) as (a & IA & NA).
  { unfold played. rewrite map_length. exact L. }
  apply (new_action _ b ds g pi BB Q S (bound_misses _ b ds a BB Q S IA NA) X).
Qed.

(** Theorem R, all levels a round: after them it holds the hard program and one E_b. *)
Theorem theorem_R_all rounds ds u : follows_all M rounds ds ->
  length rounds = (n + 2 * length f + 2)%nat -> least_unsatisfied f u ->
  incl hard ds /\
  (exists e, behind_clauses M e /\ forall d, In d ds -> In d hard \/ d = e) /\
  optimum M ds (66 / 1000 + 9 / 10 * Q2R (rho p) -
                IZR u / (6000 * IZR (total_weight f))).
Proof.
  intros F L U. destruct (forced_run_all rounds ds F) as (N & b & Q & S & BB); [lia|].
  pose proof (bound_among _ b ds BB) as A. destruct BB as [_ BB].
  assert (All : incl start_actions (played rounds)).
  { apply (NoDup_length_incl N).
    - unfold played. rewrite map_length, start_actions_length. lia.
    - intros a I. apply (BB a I). }
  assert (I : incl hard ds).
  { intros d D. apply hard_iff in D. destruct D as [| | | |k K|k K].
    - apply (BB Solve), All. left. reflexivity.
    - apply (BB Solve), All. left. reflexivity.
    - apply (BB Pause), All. right. left. reflexivity.
    - apply (BB Pause), All. right. left. reflexivity.
    - apply (BB (Enter k)), All, enter_allowed, K.
    - apply (BB (Enter k)), All, enter_allowed, K. }
  split; [exact I|]. split.
  - exists (roll_in M b 3). split; [exists b; auto|exact A].
  - apply (optimum_forced p n f y P T b Q S ds u U I A).
Qed.
End Forced.
