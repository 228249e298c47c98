(** 1/50 is sharp: where OLIVE may take any pair within 1/50 of the optimum some run of
    [strict] binds what lies behind clauses, under either rule and on every member. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Explore
  StrictWorth.
From Olivine Require Import StrictRounds Tolerance Strict StrictAny.
Import ListNotations.
Open Scope R_scope.

(** More slack allows more runs. *)
Lemma more_slack g q c M rounds ds : 0 <= g ->
  (q = lowest_of \/ q = largest_of) -> follows_near exact q c M rounds ds ->
  follows_near (Noise 0 0 0 g 0) q c M rounds ds.
Proof.
  intros G Q R. induction R as [|rounds ds hat k pi e h R IH O F X E P L];
    [constructor|].
  apply (near_round (Noise 0 0 0 g 0) q c M rounds ds hat k pi e h); simpl in *; auto.
  - intros l rho H. specialize (X l rho H). lra.
  - destruct Q as [->| ->]; exact L.
Qed.

Section Sharp.
Variables (n : nat) (f : formula) (y : assignment).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

(** Some run binds everything but the pairs. *)
Lemma all_but_pairs q : q = lowest_of \/ q = largest_of -> exists rounds ds,
  follows_near exact q strict M rounds ds /\ length rounds = (m + n + 1)%nat /\
  incl ds hard /\ (forall i, ~ In (pair_of i) ds) /\
  forall d, hard_one n f d -> In d ds \/ exists k, d = pair_of k.
Proof.
  intros Q.
  assert (exists r, noisy r q /\ (r = lowest \/ r = largest)) as (r & N & R).
  { destruct Q as [->| ->]; [exists lowest|exists largest]; unfold noisy; auto. }
  destruct (run_exists n f y T r R (m + n + 1)) as (rounds & ds & L & F);
    [fold m; lia|].
  exists rounds, ds. pose proof (follows_exact r q strict M rounds ds N F) as E.
  pose proof (exact_fits r q N) as X.
  destruct (near_run_on_its_way n f y T exact q X rounds ds E) as (I & U & _);
    [fold m; lia|].
  pose proof (pairs_last n f y T exact q X rounds ds E ltac:(fold m; lia)) as Last.
  pose proof (follows_near_length _ _ _ _ _ _ E) as K.
  set (points := point Start :: map (fun j => point (ClauseState j)) (seq 0 m) ++
    map (fun i => point (VariableState i)) (seq 0 n)).
  assert (PL : length points = (m + n + 1)%nat)
    by (unfold points; simpl; rewrite app_length, !map_length, !seq_length; lia).
  assert (PI : forall d, In d points <-> hard_one n f d /\ ~ exists k, d = pair_of k).
  { intros d. unfold points. simpl. rewrite in_app_iff, !in_map_iff. split.
    - intros [<-|[(j & <- & J)|(i & <- & J)]]; [|apply in_seq in J..];
        (split; [constructor; fold m; lia|intros [k E']; discriminate E']).
    - intros [[|j J|i J|i J] O]; [auto|right; left|right; right|];
        [exists j|exists i|exfalso; apply O; eauto]; (split; [reflexivity|]);
        apply in_seq; fold m in J; lia. }
  assert (None : forall i, ~ In (pair_of i) ds).
  { intros i D. assert (In (pair_of i) points) as H.
    { refine (NoDup_length_incl (l := points) (l' := ds) _ _ _ _ D).
      - assert (PN : NoDup points); [|exact PN].
        unfold points. constructor.
        + intros J. apply in_app_or in J as [J|J]; apply in_map_iff in J as (z & Z & _);
            discriminate Z.
        + apply NoDup_append.
          * apply NoDup_map_injective; [|apply seq_NoDup]. intros a b Z. injection Z.
            auto.
          * apply NoDup_map_injective; [|apply seq_NoDup]. intros a b Z. injection Z.
            auto.
          * intros d J1 J2. apply in_map_iff in J1 as (a & <- & _).
            apply in_map_iff in J2 as (b & Z & _). discriminate Z.
      - lia.
      - intros d J. apply PI in J as [J O].
        destruct (Last i D d J); [assumption|contradiction]. }
    apply PI in H as [_ O]. apply O. eauto. }
  split; [exact E|]. split; [exact L|]. split; [exact I|]. split; [exact None|].
  intros d H. destruct (in_dec distribution_eq d ds) as [J|J]; [auto|right].
  assert (incl points ds).
  { apply (NoDup_length_incl U); [lia|]. intros e J'. pose proof (I e J') as G.
    apply hard_iff in G. apply PI. split; [exact G|]. intros [k ->].
    exact (None k J'). }
  destruct H as [|j H|i H|i H]; [..|eauto]; exfalso; apply J, H0, PI;
    (split; [constructor; exact H || idtac|intros [k Z]; discriminate Z]).
Qed.

(** The pair that strays: all literals at the top,
  at clauses a literal that is false. *)
Definition stray_policy (x : state) : action :=
  match x with
  | Start => Solve
  | ClauseState j =>
      match nth_error f j with
      | Some w => match body w with
                  | l :: _ => Spell (negb (Bool.eqb (positive l) (y (variable l)))) true
                    true
                  | [] => Spell true true true
                  end
      | None => Spell true true true
      end
  | _ => Go
  end.

Definition stray (x : state) : R :=
  match x with
  | Start => 3 / 20
  | Detour | Bottom => 0
  | _ => 1 / 10
  end.

Lemma stray_legal : is_policy M stray_policy.
Proof.
  intros [|j|i|i b| |] S; simpl in *; auto.
  destruct (nth_error f j) as [w|]; [|reflexivity].
  destruct (body w); [reflexivity|]. rewrite orb_true_r. reflexivity.
Qed.

Lemma stray_clause j w : nth_error f j = Some w -> exists l1 l2 l3 b1,
  body w = [l1; l2; l3] /\ stray_policy (ClauseState j) = Spell b1 true true /\
  Bool.eqb (Bool.eqb (positive l1) b1) (y (variable l1)) = false.
Proof.
  intros E. destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & B
    & _).
  eexists l1, l2, l3, _. split; [exact B|]. split; [simpl; rewrite E, B; reflexivity|].
  destruct (positive l1), (y (variable l1)); reflexivity.
Qed.

Lemma stray_feasible ds : incl ds hard -> (forall i, ~ In (pair_of i) ds) ->
  feasible_within 0 strict M ds stray stray_policy.
Proof.
  intros I N. split; [|split; [exact stray_legal|]].
  - intros [|j|i|i b| |] _; simpl; rewrite ?Q2R_1, ?Q2R_0, ?upper_middle,
      ?upper_literal;
      lra.
  - intros d D. pose proof (I d D) as H. apply hard_iff in H.
    assert (bellman_error M stray stray_policy d = 0); [|lra].
    unfold M. destruct H as [|j J|i J|i J]; [| | |destruct (N i D)].
    + rewrite start_error by exact T. simpl. rewrite upper_literal.
      rewrite sum_weights. unfold share. simpl. rewrite Q2R_half.
      pose proof (W_above_0 n f T). field. lra.
    + destruct (nth_error_below f j J) as [w E].
      rewrite (clause_error strict n f y _ _ j w E).
      destruct (stray_clause j w E) as (l1 & l2 & l3 & b1 & B & -> & _).
      unfold clause_transition. rewrite B. simpl. rewrite Q2R_third. lra.
    + rewrite variable_error by (exact stray_legal || reflexivity || exact J). simpl.
      lra.
Qed.

(** Behind [solve]: half to bottom, half through the clauses. *)
Lemma stray_behind h : expect (roll_in M stray_policy 3) h =
  h Bottom / 2 + 1 / 2 / IZR (total_weight f) *
  sum (fun jw => IZR (weight (snd jw)) *
    expect (transition M (ClauseState (fst jw)) (stray_policy (ClauseState (fst jw))))
      h)
    (numbered f).
Proof.
  rewrite !roll_in_next by lia. change (roll_in M stray_policy 1) with (point Start).
  rewrite expect_point. change (transition M Start (stray_policy Start)) with
    (solve_transition strict f).
  rewrite (solve_expect strict f) by apply (total_above_0 n f T).
  change (diluted strict) with true. cbv iota.
  change (transition M Detour (stray_policy Detour)) with [(Bottom, 1%Q)].
  change (share strict) with (1 # 2)%Q. rewrite Q2R_half.
  cbn [expect fold_right fst snd].
  rewrite Q2R_1. f_equal. field.
Qed.

Theorem fiftieth_strays g q : 1 / 50 <= g -> q = lowest_of \/ q = largest_of ->
  exists rounds ds d, follows_near (Noise 0 0 0 g 0) q strict M rounds ds /\
    In d ds /\ forall e, In e hard -> ~ same d e.
Proof.
  intros G Q. destruct (all_but_pairs q Q) as (rounds & ds & F & L & I & N & H).
  assert (S : In (point Start) ds)
    by (destruct (H _ (hard_start n f)) as [|[k E]]; [assumption|discriminate E]).
  pose proof (stray_feasible ds I N) as FS. pose proof (W_above_0 n f T) as W0.
  set (W := IZR (total_weight f)) in *.
  assert (E1 : level_error M stray stray_policy 1 = 0).
  { destruct FS as (_ & _ & Z). pose proof (Z _ S).
    change (level_error M stray stray_policy 1)
      with (bellman_error M stray stray_policy (point Start)). lra. }
  assert (E2 : level_error M stray stray_policy 2 = 0).
  { unfold level_error, bellman_error. rewrite roll_in_next by lia.
    change (roll_in M stray_policy 1) with (point Start). rewrite expect_point.
    change (transition M Start (stray_policy Start)) with (solve_transition strict f).
    rewrite (solve_expect strict f) by apply (total_above_0 n f T).
    replace (sum _ _) with (sum (fun jw => IZR (weight (snd jw)) * 0) (numbered f)).
    - rewrite sum_weights. simpl. rewrite Q2R_0, Q2R_1. lra.
    - apply sum_ext. intros [j w] J. f_equal. cbn [fst snd]. apply in_numbered in J.
      assert (K : (j < length f)%nat) by (apply nth_error_Some; congruence).
      destruct (H _ (hard_clause n f j K)) as [D|[k E]]; [|discriminate E].
      destruct FS as (_ & _ & Z). pose proof (Z _ D) as B. rewrite bellman_point in B.
      fold M in B. lra. }
  assert (E3 : 1 / 60 <= level_error M stray stray_policy 3).
  { unfold level_error, bellman_error. rewrite stray_behind. fold W.
    assert (K : W * (1 / 30) <= sum (fun jw => IZR (weight (snd jw)) *
      expect (transition M (ClauseState (fst jw)) (stray_policy (ClauseState (fst jw))))
        (fun x => stray x - (Q2R (reward M x (stray_policy x)) +
           expect (transition M x (stray_policy x)) stray))) (numbered f)).
    { unfold W. rewrite <- sum_weights. apply sum_le. intros [j w] J. cbn [fst snd].
      apply in_numbered in J. apply Rmult_le_compat_l.
      - destruct T as (_ & Pos & _). apply IZR_le.
        pose proof (Pos w (nth_error_In _ _ J)). lia.
      - destruct (stray_clause j w J) as (l1 & l2 & l3 & b1 & B & -> & V).
        simpl (transition M (ClauseState j) _). rewrite J. unfold clause_transition.
        rewrite B. simpl. rewrite V, Q2R_third, Q2R_0.
        assert (R : forall t : bool, Q2R (if t then 1 # 10 else 0) <= 1 / 10)
          by (intros []; rewrite ?upper_literal, ?Q2R_0; lra).
        pose proof (R (Bool.eqb (Bool.eqb (positive l2) true) (y (variable l2)))).
        pose proof (R (Bool.eqb (Bool.eqb (positive l3) true) (y (variable l3)))).
        lra. }
    apply Rmult_le_compat_l with (r := 1 / 2 / W) in K;
      [|apply Rlt_le, Rdiv_lt_0_compat; lra].
    replace (1 / 2 / W * (W * (1 / 30))) with (1 / 60) in K by (field; lra).
    simpl (stray Bottom). simpl (reward M Bottom _). simpl (transition M Bottom _).
    simpl (expect [] _). rewrite Q2R_0. lra. }
  exists (Round stray stray_policy 3 :: rounds), (roll_in M stray_policy 3 :: ds),
    (roll_in M stray_policy 3).
  split; [|split; [left; reflexivity|]].
  - apply (near_round _ q strict M rounds ds (bellman_error M) stray stray_policy
      (level_error M stray stray_policy) 3); cbn [phi eta kappa gamma stop].
    + apply more_slack; [lra|exact Q|exact F].
    + intros h rho d. lra.
    + exact FS.
    + intros h rho X. assert (h Start <= 17 / 100); [|simpl; lra].
      assert (X' : feasible_within 0 strict M ds h rho) by exact X.
      apply (worth_at_most n f y T ds h rho (1 / 10) (1 / 10)); auto; try lra.
      * intros i K. apply (bound_variable n f y ds h rho i X' K).
        destruct (H _ (hard_variable n f i K)) as [|[k E]]; [assumption|discriminate E].
      * intros j K. destruct (H _ (hard_clause n f j K)) as [D|[k E]];
          [|discriminate E].
        pose proof (bound_clause n f y T 0 ds h rho X' j K D). lra.
    + intros h _. simpl kappa. lra.
    + lra.
    + destruct Q as [->| ->]; (split; [split; [lia|cbn [phi stop]; lra]|]);
        intros [|[|[|[|k]]]] K; try lia; unfold eligible; cbn [phi stop]; lra.
  - intros e D X. specialize (X (at_state Bottom)). rewrite stray_behind in X.
    fold W in X.
    assert (B : at_state Bottom Bottom = 1)
      by (unfold at_state; destruct (state_eq _ _); congruence).
    assert (Z : forall x, x <> Bottom -> at_state Bottom x = 0)
      by (intros x O; unfold at_state; destruct (state_eq _ _); congruence).
    assert (0 <= sum (fun jw => IZR (weight (snd jw)) *
      expect (transition M (ClauseState (fst jw)) (stray_policy (ClauseState (fst jw))))
        (at_state Bottom)) (numbered f)).
    { replace 0 with (W * 0) by ring. unfold W. rewrite <- sum_weights. apply sum_le.
      intros [j w] J. cbn [fst snd]. apply in_numbered in J. apply Rmult_le_compat_l.
      - destruct T as (_ & Pos & _). apply IZR_le.
        pose proof (Pos w (nth_error_In _ _ J)). lia.
      - destruct (stray_clause j w J) as (l1 & l2 & l3 & b1 & K & -> & _).
        simpl (transition M (ClauseState j) _). rewrite J. unfold clause_transition.
        rewrite K. cbn [expect fold_right fst snd]. unfold literal_state.
        rewrite !Z by discriminate. lra. }
    assert (0 <= 1 / 2 / W) by (apply Rlt_le, Rdiv_lt_0_compat; lra).
    assert (expect e (at_state Bottom) = 0).
    { apply hard_iff in D. destruct D; simpl; rewrite !Z by discriminate; ring. }
    rewrite B in X. nra.
Qed.
End Sharp.
