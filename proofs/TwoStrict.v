(** Two actions a state, the rule [lowest]: in [strict] every run binds exactly the
    program of TwoActions.v, node by node. What is bound of it as a whole is a part of
    the original's hard program, with the same maximisers, so Theorem T's rounds
    decide. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Optimum Optima Explore StrictWorth.
From Olivine Require Import StrictRounds Strict TwoActions TwoRuns.
Import ListNotations.
Open Scope R_scope.

Definition nodes_eq (d e : nodes) : {d = e} + {d <> e}.
Proof.
  apply list_eq_dec. intros [[x b] p] [[z c] q].
  destruct (state_eq x z), (list_eq_dec Bool.bool_dec b c), (rational_eq p q);
    (left; congruence) || (right; congruence).
Qed.

(** All nodes of a tree, by the bits that lead to them. *)
Fixpoint inner (t : tree) : list (list bool) :=
  match t with
  | Take _ => []
  | One t => [] :: map (cons false) (inner t)
  | Two l r => [] :: map (cons false) (inner l) ++ map (cons true) (inner r)
  end.

Lemma in_inner t : forall b, In b (inner t) <-> below t b <> None.
Proof.
  induction t as [a|t IH|l IHl r IHr]; intros b; simpl.
  - destruct b as [|[] b]; simpl; split; try contradiction; congruence.
  - rewrite in_map_iff. destruct b as [|e b].
    + simpl. split; [discriminate|auto].
    + split.
      * intros [E|(b' & E & I)]; [discriminate E|]. injection E as <- <-. apply IH, I.
      * destruct e; simpl; [congruence|]. intros N. right. exists b.
        split; [reflexivity|].
        apply IH, N.
  - rewrite in_app_iff, !in_map_iff. destruct b as [|e b].
    + simpl. split; [discriminate|auto].
    + split.
      * intros [E|[(b' & E & I)|(b' & E & I)]]; [discriminate E|..];
          injection E as <- <-;
          [apply IHl, I|apply IHr, I].
      * destruct e; simpl; intros N; right; [right|left]; exists b;
          (split; [reflexivity|]); [apply IHr, N|apply IHl, N].
Qed.

Lemma find_none_iff {A} (p : A -> bool) l :
  (forall x, In x l -> p x = false) -> find p l = None.
Proof.
  induction l as [|x l IH]; intros H; [reflexivity|]. simpl.
  rewrite (H x (or_introl eq_refl)). apply IH. intros z Z. apply H. right. exact Z.
Qed.

(** ** Prefixes *)

Fixpoint prefix (b u : list bool) : bool :=
  match b, u with
  | [], _ => true
  | c :: b, e :: u => Bool.eqb c e && prefix b u
  | _, [] => false
  end.

Definition turn (b u : list bool) : bool := nth (length b) u false.

Lemma prefix_step b : forall u, prefix b u = true -> b <> u ->
  prefix (b ++ [turn b u]) u = true.
Proof.
  induction b as [|c b IH]; intros [|e u] P N; simpl in *; try congruence.
  - unfold turn. simpl. rewrite eqb_reflx. reflexivity.
  - apply andb_prop in P as [E P]. apply eqb_prop in E as ->. rewrite eqb_reflx. simpl.
    apply (IH u P). congruence.
Qed.

Lemma prefix_stop b c : forall u, prefix b u = false -> prefix (b ++ [c]) u = false.
Proof.
  induction b as [|e b IH]; intros [|d u] P; simpl in *; try congruence.
  destruct (Bool.eqb e d); simpl in *; [apply IH, P|reflexivity].
Qed.

Lemma prefix_below b : forall u t, prefix b u = true -> below t u <> None ->
  below t b <> None.
Proof.
  induction b as [|e b IH]; intros [|d u] t P N; simpl in P; try discriminate.
  - exact N.
  - destruct t; simpl; [destruct d; simpl in N; congruence|discriminate|discriminate].
  - apply andb_prop in P as [E P]. apply eqb_prop in E as ->.
    destruct t as [a|s|l r], d; simpl in N |- *; try congruence; apply (IH u);
      assumption.
Qed.

Section Strict.
Variables (n : nat) (f : formula) (y : assignment) (trees : state -> tree) (d1 d2 :
  nat).
Hypothesis T : three_sat_form n f.

Let M := member strict n f y.
Let hard := hard_program strict n f.
Let m := length f.

(** The trees of a level are equally deep; of level 3 they have one node each. *)
Hypothesis shaped : trees_for M trees.
Hypothesis deep_1 : deep (trees Start) (S d1).
Hypothesis deep_2 : forall x, second n f x -> deep (trees x) (S d2).
Hypothesis deep_3 : forall x, third n x -> deep (trees x) 1.

(** ** The program, and runs under [lowest] *)

Definition owners : list state :=
  Start :: map ClauseState (seq 0 m) ++ map VariableState (seq 0 n).

Definition two_program : list nodes :=
  nodup nodes_eq
    (flat_map (fun x => map (fun b => alone (x, b)) (inner (trees x))) owners ++
     map (fun i => roots (pair_of i)) (seq 0 n)).

Definition run_feasible (ds : list nodes) (h : node -> R) (rho : node -> bool) : Prop :=
  (forall x, is_node M trees x -> 0 <= h x <= Q2R (upper strict (fst x))) /\
  forall d, In d ds -> nexpect d (node_error M trees h rho) = 0.

Definition two_maximiser (ds : list nodes) (h : node -> R) (rho : node -> bool) : Prop
  :=
  run_feasible ds h rho /\
  forall k sigma, run_feasible ds k sigma -> k (Start, []) <= h (Start, []).

Definition horizon : nat := S d1 + S d2 + 1.

Definition two_sum (h : node -> R) (rho : node -> bool) : R :=
  error_from M trees h rho 1 horizon.

Definition two_lowest (h : node -> R) (rho : node -> bool) (k : nat) : Prop :=
  (1 <= k <= horizon)%nat /\ 0 < two_error M trees h rho k /\
  forall j, (1 <= j < k)%nat -> two_error M trees h rho j <= 0.

Inductive two_follows : list nodes -> Prop :=
  | two_none : two_follows []
  | two_round ds h rho k :
      two_follows ds -> two_maximiser ds h rho -> 0 < two_sum h rho ->
      two_lowest h rho k -> two_follows (two_roll_in M trees rho k :: ds).

Definition owned (x : state) : Prop :=
  match x with
  | Start => True
  | ClauseState j => (j < m)%nat
  | VariableState i => (i < n)%nat
  | _ => False
  end.

Definition programmed (d : nodes) : Prop :=
  (exists x b, owned x /\ below (trees x) b <> None /\ d = alone (x, b)) \/
  exists i, (i < n)%nat /\ d = roots (pair_of i).

Lemma owners_iff x : In x owners <-> owned x.
Proof.
  unfold owners. simpl. rewrite in_app_iff, !in_map_iff. destruct x; simpl; split;
    try (intros [E|[(z & E & _)|(z & E & _)]]; discriminate E); try contradiction; auto.
  - intros [E|[(z & E & I)|(z & E & _)]]; try discriminate E. injection E as <-.
    apply in_seq in I. lia.
  - intros H. right; left. exists j. split; [reflexivity|apply in_seq; lia].
  - intros [E|[(z & E & _)|(z & E & I)]]; try discriminate E. injection E as <-.
    apply in_seq in I. lia.
  - intros H. right; right. exists i. split; [reflexivity|apply in_seq; lia].
Qed.

Lemma program_iff d : In d two_program <-> programmed d.
Proof.
  unfold two_program, programmed. rewrite nodup_In, in_app_iff, in_flat_map. split.
  - intros [(x & O & I)|I]; apply in_map_iff in I as (b & <- & I).
    + left. exists x, b. split; [apply owners_iff, O|].
      split; [apply in_inner, I|reflexivity].
    + right. exists b. apply in_seq in I. split; [lia|reflexivity].
  - intros [(x & b & O & N & ->)|(i & H & ->)].
    + left. exists x. split; [apply owners_iff, O|]. apply in_map_iff. exists b.
      split; [reflexivity|apply in_inner, N].
    + right. apply (in_map (fun i => roots (pair_of i))), in_seq. lia.
Qed.

Lemma owned_is_state x : owned x -> is_state M x = true.
Proof. destruct x; simpl; try contradiction; auto; intros; apply Nat.ltb_lt; assumption.
Qed.

Lemma owned_hard x : owned x <-> In (point x) hard.
Proof.
  unfold hard. rewrite hard_iff. split.
  - destruct x; simpl; try contradiction; intros; constructor; assumption.
  - intros H. inversion H; simpl; auto.
Qed.

(** ** What is bound as a whole *)

Definition unbound (ds : list nodes) (x : state) : option (list bool) :=
  find (fun b => if in_dec nodes_eq (alone (x, b)) ds then false else true)
    (inner (trees x)).

Lemma unbound_some ds x u : unbound ds x = Some u ->
  below (trees x) u <> None /\ ~ In (alone (x, u)) ds.
Proof.
  intros E. apply find_some in E as [I E]. split; [apply in_inner, I|].
  destruct (in_dec nodes_eq _ ds); [discriminate E|assumption].
Qed.

Lemma unbound_none ds x b : unbound ds x = None -> below (trees x) b <> None ->
  In (alone (x, b)) ds.
Proof.
  intros E N. apply in_inner in N. pose proof (find_none _ _ E b N) as K. simpl in K.
  destruct (in_dec nodes_eq _ ds); [assumption|discriminate K].
Qed.

Definition whole (ds : list nodes) (d : distribution) : bool :=
  match d with
  | [(x, _)] => match unbound ds x with None => true | _ => false end
  | _ => if in_dec nodes_eq (roots d) ds then true else false
  end.

Definition kept (ds : list nodes) : list distribution := filter (whole ds) hard.

Lemma kept_point ds x : owned x -> (In (point x) (kept ds) <-> unbound ds x = None).
Proof.
  intros O. unfold kept. rewrite filter_In. simpl. destruct (unbound ds x);
    split; intros H; try discriminate H; [destruct H; discriminate| |]; auto.
  split; [apply owned_hard, O|reflexivity].
Qed.

Lemma kept_pair ds i : (i < n)%nat -> (In (pair_of i) (kept ds) <-> In (roots (pair_of
  i)) ds).
Proof.
  intros H. unfold kept. rewrite filter_In.
  change (whole ds (pair_of i)) with
    (if in_dec nodes_eq (roots (pair_of i)) ds then true else false).
  destruct (in_dec nodes_eq (roots (pair_of i)) ds) as [I|N]; split; intros K; auto.
  - split; [apply in_hard_pair, H|reflexivity].
  - destruct K. discriminate.
  - contradiction.
Qed.

Lemma root_node x : is_state M x = true -> below (trees x) [] = Some (trees x).
Proof. apply (root_below M trees shaped). Qed.

(** At level 3 there is nothing to choose. *)
Lemma third_state x : third n x -> is_state M x = true.
Proof. destruct x; simpl; try contradiction; auto. intros. apply Nat.ltb_lt, H. Qed.

Lemma third_error h rho x : third n x -> node_error M trees h rho (x, []) =
  at_roots h x - backup M (at_roots h) x Go.
Proof.
  intros H. pose proof (third_state x H) as S. pose proof (deep_3 x H) as D.
  assert (Z : forall b, is_node M trees (x,
    b) -> b <> [] -> node_error M trees h rho (x, b) = 0).
  { intros b [_ N] O. exfalso. cbn [fst snd] in N.
    destruct (trees x) as [a|s|l r], b as [|e b];
      simpl in *; try contradiction; try congruence.
    - destruct s; simpl in D; try contradiction.
      destruct e, b as [|[] b]; simpl in N; congruence.
    - destruct D as [D E]. destruct l; simpl in D; try contradiction.
      destruct r; simpl in E; try contradiction.
      destruct e, b as [|[] b]; simpl in N; congruence. }
  pose proof (path_worth M trees h rho x Z S (trees x) [] (root_node x S)) as K.
  assert (G : follow rho x [] (trees x) = Go).
  { pose proof (follow_takes rho x (trees x) []) as A. apply (proj1 (shaped x S)) in A.
    destruct x; simpl in H; try contradiction; destruct (follow _ _ _ _); simpl in A;
      try discriminate A; reflexivity. }
  rewrite G in K. unfold at_roots at 1. lra.
Qed.

Definition followed (rho : node -> bool) (x : state) : action := follow rho x [] (trees
  x).

Lemma followed_legal rho : is_policy M (followed rho).
Proof. intros x S. apply (proj1 (shaped x S)), follow_takes. Qed.

Lemma pair_roots h rho i : (i < n)%nat ->
  nexpect (roots (pair_of i)) (node_error M trees h rho) =
  bellman_error M (at_roots h) (followed rho) (pair_of i).
Proof.
  intros H. rewrite nexpect_roots. apply expect_equal. intros x q I.
  assert (K : third n x) by (destruct I as [E|[E|[]]]; injection E as <- <-; exact H).
  rewrite (third_error h rho x K). unfold backup.
  pose proof (followed_legal rho x (third_state x K)) as L.
  destruct I as [E|[E|[]]]; injection E as <- <-; destruct (followed rho _);
    try discriminate L; reflexivity.
Qed.

(** A pair over nodes is one of the original's. *)
Lemma project ds h rho : run_feasible ds h rho ->
  feasible strict M (kept ds) (at_roots h) (followed rho).
Proof.
  intros [R Z]. split; [|split; [apply followed_legal|]].
  - intros x S. apply (R (x, [])). split; [exact S|]. cbn [fst snd].
    rewrite (root_node x S). discriminate.
  - intros d D. pose proof D as I. unfold kept in I. apply filter_In in I as [I _].
    apply hard_iff in I.
    assert (P : forall x, owned x -> d = point x -> bellman_error M (at_roots h)
      (followed rho) d = 0).
    { intros x O ->. apply (kept_point ds x O) in D.
      pose proof (owned_is_state x O) as S.
      assert (A : forall b, is_node M trees (x, b) -> node_error M trees h rho (x,
        b) = 0).
      { intros b [_ N]. rewrite <- (Z _ (unbound_none ds x b D N)). symmetry.
        apply nexpect_alone. }
      pose proof (path_worth M trees h rho x (fun b N _ => A b N) S (trees x) []
        (root_node x S)) as K.
      rewrite (A []) in K by (split; [exact S|]; cbn [fst snd]; rewrite (root_node x S);
        discriminate).
      rewrite bellman_point. unfold at_roots at 1.
      change (Q2R (reward M x (followed rho x)) +
        expect (transition M x (followed rho x)) (at_roots h)) with
        (backup M (at_roots h) x (followed rho x)). unfold followed. lra. }
    destruct I as [|j J|i J|i J]; [apply (P Start); auto; exact Logic.I
      |apply (P (ClauseState j)); auto|apply (P (VariableState i)); auto|].
    rewrite <- (pair_roots h rho i J). apply Z, (kept_pair ds i J), D.
Qed.

(** *** and back: where a node is not bound the path to it keeps the root's value *)

Definition lifted (ds : list nodes) (g : state -> R) (pi : state -> action) (z : node) :
  R :=
  match unbound ds (fst z) with
  | Some u => if prefix (snd z) u then g (fst z) else spread_out M trees g pi z
  | None => spread_out M trees g pi z
  end.

Definition lifted_policy (ds : list nodes) (pi : state -> action) (z : node) : bool :=
  match unbound ds (fst z) with
  | Some u => if prefix (snd z) u then turn (snd z) u else toward trees pi z
  | None => toward trees pi z
  end.

Lemma lifted_roots ds g pi x : at_roots (lifted ds g pi) x = g x.
Proof. unfold at_roots, lifted. simpl. destruct (unbound ds x); reflexivity. Qed.

Lemma backup_same h k x a : (forall z, h z = k z) -> backup M h x a = backup M k x a.
Proof. intros E. unfold backup. f_equal. apply expect_equal. intros z q _. apply E. Qed.

Lemma lifted_on ds g pi x u b : unbound ds x = Some u -> prefix b u = true -> b <> u ->
  node_error M trees (lifted ds g pi) (lifted_policy ds pi) (x, b) = 0.
Proof.
  intros U P N. destruct (unbound_some ds x u U) as [B _].
  pose proof (prefix_step b u P N) as P'.
  pose proof (prefix_below _ u (trees x) P' B) as B'. rewrite below_step in B'.
  assert (V : forall c, prefix c u = true -> lifted ds g pi (x, c) = g x)
    by (intros c C; unfold lifted; cbn [fst snd]; rewrite U, C; reflexivity).
  assert (W : lifted_policy ds pi (x, b) = turn b u)
    by (unfold lifted_policy; cbn [fst snd]; rewrite U, P; reflexivity).
  unfold node_error. cbn [fst snd]. rewrite W.
  destruct (below (trees x) b) as [[a|s|l r]|] eqn:E; try congruence.
  - assert (G : turn b u = false) by (destruct s, (turn b u); congruence).
    rewrite G in *. destruct s; try congruence; unfold next;
      rewrite !V by assumption; ring.
  - destruct (turn b u); [destruct r|destruct l]; try congruence; unfold next;
      rewrite !V by assumption; ring.
Qed.

Lemma lifted_off ds g pi x b t : below (trees x) b = Some t ->
  match unbound ds x with Some u => prefix b u = false | None => True end ->
  node_error M trees (lifted ds g pi) (lifted_policy ds pi) (x, b) =
  spread_out M trees g pi (x, b) - backup M g x (follow (toward trees pi) x b t).
Proof.
  intros E O. rewrite <- (spread_error M trees g pi x b t E).
  assert (H : lifted ds g pi (x, b) = spread_out M trees g pi (x, b))
    by (unfold lifted; cbn [fst snd]; destruct (unbound ds x); [rewrite O|];
      reflexivity).
  assert (W : lifted_policy ds pi (x, b) = toward trees pi (x, b))
    by (unfold lifted_policy; cbn [fst snd]; destruct (unbound ds x); [rewrite O|];
      reflexivity).
  assert (N : forall c s, next M (lifted ds g pi) x b c s = next M (spread_out M trees g
    pi) x b c s).
  { intros c [a|s|l r]; unfold next;
      [apply backup_same; intros z; rewrite lifted_roots; reflexivity|..];
      unfold lifted; cbn [fst snd]; destruct (unbound ds x) as [u|]; try reflexivity;
      rewrite (prefix_stop b c u O); reflexivity. }
  unfold node_error. cbn [fst snd]. rewrite E, H, W.
  destruct t; rewrite ?N; reflexivity.
Qed.

(** Ranges leave room for what any action is worth. *)
Lemma strict_room g x a : in_range strict M g -> is_state M x = true ->
  legal M x a = true -> 0 <= backup M g x a <= Q2R (upper strict x).
Proof.
  intros R S L.
  set (pi := fun z => if state_eq z x then a else explore_policy Solve z).
  assert (A : pi x = a) by (unfold pi; destruct (state_eq x x); congruence).
  assert (F : feasible_within 0 strict M [] g pi).
  { split; [exact R|]. split; [|intros d []]. intros z Z. unfold pi.
    destruct (state_eq z x) as [->|_]; [exact L|].
    apply (explore_legal strict n f y Solve eq_refl z Z). }
  unfold backup. destruct x as [|j|i|i b| |].
  - assert (0 <= expect (transition M Start a) g <= 2 / 5).
    { rewrite <- A. apply (expect_between (second n f)).
      - apply (after_start n f y T 0 [] g pi F).
      - lra.
      - lra.
      - apply (second_range n f y 0 [] g pi F). }
    assert (0 <= Q2R (reward M Start a) <= 1 / 10).
    { destruct a; try discriminate L; simpl;
        rewrite ?try_strict, ?upper_literal, ?Q2R_0; lra. }
    simpl upper. rewrite Q2R_1. lra.
  - assert (second n f (ClauseState j)) as K by (apply Nat.ltb_lt, S).
    assert (0 <= expect (transition M (ClauseState j) a) g <= 1 / 10).
    { rewrite <- A. apply (expect_between (third n)); [|lra|lra|].
      - apply (after_second n f y T 0 [] g pi F _ K).
      - apply (third_range n f y 0 [] g pi F). }
    simpl upper. rewrite upper_middle.
    assert (Q2R (reward M (ClauseState j) a) = 0) by (destruct a; apply Q2R_0). lra.
  - assert (second n f (VariableState i)) as K by (apply Nat.ltb_lt, S).
    assert (0 <= expect (transition M (VariableState i) a) g <= 1 / 10).
    { rewrite <- A. apply (expect_between (third n)); [|lra|lra|].
      - apply (after_second n f y T 0 [] g pi F _ K).
      - apply (third_range n f y 0 [] g pi F). }
    simpl upper. rewrite upper_middle.
    assert (Q2R (reward M (VariableState i) a) = 0) by (destruct a; apply Q2R_0). lra.
  - destruct a; try discriminate L. simpl. rewrite upper_literal.
    destruct (Bool.eqb b (y i)); rewrite ?upper_literal, ?Q2R_0; lra.
  - destruct a; try discriminate L. pose proof (R Bottom eq_refl) as B. simpl in B |- *.
    rewrite Q2R_0 in *. rewrite Q2R_1. lra.
  - destruct a; try discriminate L. simpl. rewrite Q2R_0. lra.
Qed.

Lemma lift ds g pi : (forall d, In d ds -> programmed d) ->
  feasible strict M (kept ds) g pi ->
  run_feasible ds (lifted ds g pi) (lifted_policy ds pi).
Proof.
  intros PD (R & P & Z). split.
  - intros [x b] N. pose proof (spread_range strict M trees shaped g pi R
      (fun x a => strict_room g x a R) (x, b) N) as K.
    unfold lifted. cbn [fst snd] in *. destruct (unbound ds x) as [u|]; [|exact K].
    destruct (prefix b u); [apply R, N|exact K].
  - intros d D. destruct (PD d D) as [(x & b & O & N & ->)|(i & H & ->)].
    + rewrite nexpect_alone. pose proof (owned_is_state x O) as S.
      destruct (below (trees x) b) as [t|] eqn:E; [|congruence].
      destruct (unbound ds x) as [u|] eqn:U.
      * destruct (unbound_some ds x u U) as [B NU].
        destruct (prefix b u) eqn:X.
        -- apply (lifted_on ds g pi x u b U X). intros ->. contradiction.
        -- rewrite (lifted_off ds g pi x b t E) by (rewrite U; exact X).
           unfold spread_out. cbn [fst snd]. rewrite E.
           destruct b; [discriminate X|ring].
      * rewrite (lifted_off ds g pi x b t E) by (rewrite U; exact Logic.I).
        unfold spread_out. cbn [fst snd]. destruct b as [|e b]; [|rewrite E; ring].
        rewrite (root_node x S) in E. injection E as <-.
        rewrite (toward_follows trees pi x (trees x) [] (root_node x S))
          by (apply (proj1 (shaped x S)), P, S).
        pose proof (Z _ (proj2 (kept_point ds x O) U)) as K. rewrite bellman_point in K.
        exact K.
    + rewrite (pair_roots _ _ i H), <- (Z _ (proj2 (kept_pair ds i H) D)).
      apply expect_equal. intros x q I. rewrite lifted_roots. f_equal.
      assert (K : third n x) by (destruct I as [E|[E|[]]]; injection E as <- <-;
        exact H).
      pose proof (followed_legal (lifted_policy ds pi) x (third_state x K)) as L.
      pose proof (P x (third_state x K)) as L'.
      destruct I as [E|[E|[]]]; injection E as <- <-;
        destruct (followed _ _); try discriminate L; destruct (pi _);
          try discriminate L';
        reflexivity.
Qed.

(** ** One round *)

Lemma error_from_split h rho : forall a k b, error_from M trees h rho k (a + b) =
  error_from M trees h rho k a + error_from M trees h rho (k + a) b.
Proof.
  induction a as [|a IH]; intros k b; simpl.
  - rewrite Nat.add_0_r. ring.
  - rewrite IH. replace (S k + a)%nat with (k + S a)%nat by lia. ring.
Qed.

Lemma positive_somewhere h rho : forall d k, 0 < error_from M trees h rho k d ->
  exists j, (k <= j < k + d)%nat /\ 0 < two_error M trees h rho j.
Proof.
  induction d as [|d IH]; intros k E; simpl in E; [lra|].
  destruct (Rlt_le_dec 0 (two_error M trees h rho k)) as [L|L].
  - exists k. split; [lia|exact L].
  - destruct (IH (S k)) as (j & J & L'); [lra|]. exists j. split; [lia|exact L'].
Qed.

Lemma lowest_exists h rho : forall j, (1 <= j <= horizon)%nat ->
  0 < two_error M trees h rho j -> exists k, (k <= j)%nat /\ two_lowest h rho k.
Proof.
  intros j. induction j as [j IH] using lt_wf_ind. intros J E.
  assert (forall i, (exists k, (1 <= k < i)%nat /\ 0 < two_error M trees h rho k) \/
    forall k, (1 <= k < i)%nat -> two_error M trees h rho k <= 0) as A.
  { induction i as [|i IHi]; [right; intros; lia|].
    destruct IHi as [(k & K & L)|A]; [left; exists k; split; [lia|exact L]|].
    destruct (Nat.eq_dec i 0) as [->|N]; [right; intros; lia|].
    destruct (Rlt_le_dec 0 (two_error M trees h rho i)) as [L|L];
      [left; exists i; split; [lia|exact L]|right].
    intros k K. destruct (Nat.eq_dec k i) as [->|O]; [exact L|apply A; lia]. }
  destruct (A j) as [(k & K & L)|B].
  - destruct (IH k ltac:(lia) ltac:(lia) L) as (l & Q & R). exists l.
    split; [lia|exact R].
  - exists j. split; [lia|]. split; [exact J|]. split; [exact E|exact B].
Qed.

Definition start_first (ds : list nodes) : Prop :=
  In (point Start) (kept ds) \/ forall d, In d ds -> exists b, d = alone (Start, b).

Section Round.
Variables (ds : list nodes) (h : node -> R) (rho : node -> bool).
Hypothesis PD : forall d, In d ds -> programmed d.
Hypothesis X : two_maximiser ds h rho.
Hypothesis first : start_first ds.
Hypothesis missing : exists d, programmed d /\ ~ In d ds.

Let g := at_roots h.
Let pi := followed rho.

Lemma maximal : maximiser strict M (kept ds) g pi.
Proof.
  split; [apply project, X|]. intros k sigma F.
  pose proof (proj2 X _ _ (lift ds k sigma PD F)) as L.
  change (lifted ds k sigma (Start, [])) with (at_roots (lifted ds k sigma) Start) in L.
  rewrite lifted_roots in L. exact L.
Qed.

Lemma feasible_pair : feasible_within 0 strict M [] g pi.
Proof.
  destruct maximal as [(R & P & _) _]. split; [exact R|]. split; [exact P|intros d []].
Qed.

Lemma kept_start : kept ds = [] \/ In (point Start) (kept ds).
Proof.
  destruct first as [S|A]; [auto|]. destruct (kept ds) as [|d l] eqn:E; [auto|right].
  rewrite <- E. assert (D : In d (kept ds)) by (rewrite E; left; reflexivity).
  pose proof D as H. unfold kept in H. apply filter_In in H as [H _].
  apply hard_iff in H.
  assert (K : forall x, owned x -> In (point x) (kept ds) -> x = Start).
  { intros x O K. apply (kept_point ds x O) in K.
    assert (below (trees x) [] <> None)
      by (rewrite (root_node x (owned_is_state x O)); discriminate).
    destruct (A _ (unbound_none ds x [] K H0)) as [b B]. injection B. auto. }
  destruct H as [|j J|i J|i J].
  - exact D.
  - discriminate (K (ClauseState j) J D).
  - discriminate (K (VariableState i) J D).
  - apply (kept_pair ds i J) in D. destruct (A _ D) as [b B]. discriminate B.
Qed.

Lemma kept_short : (length (kept ds) < m + 2 * n + 1)%nat.
Proof.
  assert (exists d, In d hard /\ ~ In d (kept ds)) as (d & D & N).
  { destruct missing as (d & [(x & b & O & B & ->)|(i & H & ->)] & N).
    - exists (point x). split; [apply owned_hard, O|]. intros K.
      apply (kept_point ds x O) in K. apply N, (unbound_none ds x b K B).
    - exists (pair_of i). split; [apply in_hard_pair, H|]. intros K.
      apply N, (kept_pair ds i H), K. }
  assert (U : NoDup (d :: kept ds)).
  { constructor; [exact N|]. apply NoDup_filter, (hard_NoDup n f). }
  assert (I : incl (d :: kept ds) hard).
  { intros e [<-|E]; [exact D|]. unfold kept in E. apply filter_In in E. apply E. }
  pose proof (NoDup_incl_length U I) as L. cbn [length] in L.
  unfold hard in L. rewrite hard_length in L. fold m in L. lia.
Qed.

Let forced_pair := round_forced n f y T exact (kept ds) g pi (level_error M g pi)
  mild_exact
  (fun d D => proj1 (proj1 (filter_In _ _ _) D)) kept_start
  (NoDup_filter _ (hard_NoDup n f)) kept_short
  (proj1 (exact_near strict M (kept ds) g pi maximal))
  (proj2 (exact_near strict M (kept ds) g pi maximal)).

Lemma start_second x q : In (x, q) (transition M Start (pi Start)) -> second n f x.
Proof. intros I. apply (proj1 (after_start n f y T 0 [] g pi feasible_pair) x q I). Qed.

Lemma first_levels :
  (forall p, nexpect (two_roll_in M trees rho (1 + S d1)) p =
     expect (transition M Start (pi Start)) (fun x => p (x, []))) /\
  error_from M trees h rho 1 (S d1) = level_error M g pi 1.
Proof.
  destruct (stretch M trees h rho (point Start) d1 1 (fun _ => []) trees) as [A B].
  - lia.
  - intros x q [E|[]]. injection E as <- <-.
    split; [apply root_node; reflexivity|exact deep_1].
  - intros p. rewrite expect_point. apply nexpect_alone.
  - split; [intros p; rewrite A; apply expect_point|]. rewrite B, expect_point.
    unfold level_error. change (roll_in M pi 1) with (point Start).
    rewrite bellman_point.
    reflexivity.
Qed.

Lemma second_levels :
  (forall p, nexpect (two_roll_in M trees rho (1 + S d1 + S d2)) p =
     expect (transition M Start (pi Start)) (fun x =>
       expect (transition M x (pi x)) (fun z => p (z, [])))) /\
  error_from M trees h rho (1 + S d1) (S d2) = level_error M g pi 2.
Proof.
  destruct (stretch M trees h rho (transition M Start (pi Start)) d2 (1 + S d1)
    (fun _ => []) trees) as [A B].
  - lia.
  - intros x q I. pose proof (start_second x q I) as K.
    split; [apply root_node; apply (second_is_state n f y x K)|apply deep_2, K].
  - exact (proj1 first_levels).
  - split; [exact A|]. rewrite B. unfold level_error, bellman_error.
    rewrite roll_in_next by lia. change (roll_in M pi 1) with (point Start).
    rewrite expect_point. reflexivity.
Qed.

Lemma last_level : two_error M trees h rho horizon = level_error M g pi 3.
Proof.
  unfold two_error, horizon. replace (S d1 + S d2 + 1)%nat with (1 + S d1 + S d2)%nat
    by lia.
  rewrite (proj1 second_levels). unfold level_error, bellman_error.
  rewrite !roll_in_next by lia. change (roll_in M pi 1) with (point Start).
  rewrite expect_point. apply expect_equal. intros x q I. apply expect_equal.
  intros z r J. pose proof (start_second x q I) as K.
  pose proof (proj1 (proj1 (after_second n f y T 0 [] g pi feasible_pair x K) z r J)) as
    _.
  pose proof (proj2 (proj1 (after_second n f y T 0 [] g pi feasible_pair x K) z r J)) as
    Z.
  rewrite (third_error h rho z Z). unfold backup.
  pose proof (followed_legal rho z (third_state z Z)) as L. unfold pi.
  destruct z; simpl in Z; try contradiction; destruct (followed rho _);
    try discriminate L;
    reflexivity.
Qed.

Lemma two_sum_is : two_sum h rho = error_sum M g pi.
Proof.
  unfold two_sum, horizon. rewrite !error_from_split.
  rewrite (proj2 first_levels), (proj2 second_levels). cbn [error_from].
  replace (1 + (S d1 + S d2))%nat with horizon by (unfold horizon; lia).
  rewrite last_level. unfold error_sum. ring.
Qed.

Lemma bound_zero k : In (two_roll_in M trees rho k) ds -> two_error M trees h rho k = 0.
Proof. intros D. apply (proj2 (proj1 X) _ D). Qed.

(** What the levels of a tree that is bound as a whole roll into is bound. *)
Lemma whole_zero x k d : owned x -> In (point x) (kept ds) -> (1 <= k)%nat ->
  deep (trees x) (S d) -> two_roll_in M trees rho k = alone (x, []) ->
  forall j, (k <= j < k + S d)%nat -> two_error M trees h rho j = 0.
Proof.
  intros O K L D E j J. apply bound_zero.
  destruct (stretch_alone M trees rho x d k [] (trees x) L
    (root_node x (owned_is_state x O)) D E) as [A _].
  destruct (A j J) as (b & -> & B). apply (unbound_none ds x b); [|exact B].
  apply (kept_point ds x O), K.
Qed.

Lemma tree_programmed x k d : owned x -> (1 <= k)%nat ->
  deep (trees x) (S d) -> two_roll_in M trees rho k = alone (x, []) ->
  forall j, (k <= j < k + S d)%nat -> programmed (two_roll_in M trees rho j).
Proof.
  intros O L D E j J. left.
  destruct (stretch_alone M trees rho x d k [] (trees x) L
    (root_node x (owned_is_state x O)) D E) as [A _].
  destruct (A j J) as (b & -> & B). exists x, b. auto.
Qed.

Lemma second_root x : transition M Start (pi Start) = point x ->
  two_roll_in M trees rho (1 + S d1) = alone (x, []).
Proof.
  intros E. destruct (stretch_alone M trees rho Start d1 1 [] (trees Start)) as [_ B];
    [lia|apply root_node; reflexivity|exact deep_1|reflexivity|].
  rewrite B. change (follow rho Start [] (trees Start)) with (pi Start). rewrite E.
  reflexivity.
Qed.

(** OLIVE goes on; the lowest positive level binds something new of the program. *)
Lemma two_round_binds : 0 < two_sum h rho /\ (exists k, two_lowest h rho k) /\
  forall k, two_lowest h rho k ->
    programmed (two_roll_in M trees rho k) /\ ~ In (two_roll_in M trees rho k) ds /\
    (In (point Start) (kept ds) \/ exists b, two_roll_in M trees rho k = alone (Start,
      b)).
Proof.
  destruct forced_pair as (l & L & P & E & Low & Top & H & New & Z & Last).
  simpl (phi exact) in *. simpl (eta exact) in *. simpl (kappa exact) in *.
  simpl (stop exact) in P. rewrite !Rplus_0_r in *.
  assert (Sum : 0 < two_sum h rho) by (rewrite two_sum_is; exact P).
  assert (NewD : forall k, two_lowest h rho k -> ~ In (two_roll_in M trees rho k) ds).
  { intros k (_ & K & _) D. rewrite (bound_zero k D) in K. lra. }
  change (hard_one n f (roll_in M pi l)) in H.
  change (kept ds = [] -> roll_in M pi l = point Start) in Z.
  assert (Act : hard_one n f (roll_in M pi 2) -> exists z,
    transition M Start (pi Start) = point z /\ owned z /\ z <> Start).
  { intros G. pose proof (proj1 (proj2 feasible_pair) Start eq_refl) as A.
    simpl in G. destruct (pi Start) as [i|j| | | |]; try discriminate A.
    - exists (VariableState i). split; [reflexivity|].
      split; [apply Nat.ltb_lt, A|discriminate].
    - exists (ClauseState j). split; [reflexivity|].
      split; [apply Nat.ltb_lt, A|discriminate].
    - exfalso. simpl in G. inversion G. }
  assert (Zero1 : In (point Start) (kept ds) -> forall j, (1 <= j < 1 + S d1)%nat ->
    two_error M trees h rho j = 0)
    by (intros K; apply (whole_zero Start 1 d1); auto; exact Logic.I).
  destruct (Nat.eq_dec l 1) as [->|N1]; [|destruct (Nat.eq_dec l 2) as [->|N2]].
  - destruct (positive_somewhere h rho (S d1) 1) as (j & J & Pj);
      [rewrite (proj2 first_levels); exact E|].
    destruct (lowest_exists h rho j) as (k & Kj & K); [unfold horizon; lia|exact Pj|].
    split; [exact Sum|]. split; [exists k; exact K|]. intros k' K'.
    assert (k' <= j)%nat.
    { destruct K' as (_ & _ & Lo). destruct (le_lt_dec k' j); [assumption|].
      pose proof (Lo j ltac:(lia)). lra. }
    assert (R : (1 <= k' < 1 + S d1)%nat) by (destruct K' as (Q & _); lia).
    split; [apply (tree_programmed Start 1 d1); auto; exact Logic.I|].
    split; [apply NewD, K'|]. right.
    destruct (stretch_alone M trees rho Start d1 1 [] (trees Start)) as [A _];
      [lia|apply root_node; reflexivity|exact deep_1|reflexivity|].
    destruct (A k' R) as (b & B & _). exists b. exact B.
  - destruct (Act H) as (z & Ez & Oz & Nz).
    assert (IS : In (point Start) (kept ds)).
    { destruct kept_start as [K|K]; [|exact K]. specialize (Z K).
      change (roll_in M pi 2) with (map (fun yr => (fst yr, (1 * snd yr)%Q))
        (transition M Start (pi Start)) ++ []) in Z.
      rewrite Ez in Z. injection Z as Z. congruence. }
    pose proof (second_root z Ez) as R2.
    assert (D2 : deep (trees z) (S d2)).
    { apply deep_2. apply (start_second z 1%Q). rewrite Ez. left. reflexivity. }
    destruct (positive_somewhere h rho (S d2) (1 + S d1)) as (j & J & Pj);
      [rewrite (proj2 second_levels); exact E|].
    destruct (lowest_exists h rho j) as (k & Kj & K); [unfold horizon; lia|exact Pj|].
    split; [exact Sum|]. split; [exists k; exact K|]. intros k' K'.
    assert (k' <= j)%nat.
    { destruct K' as (_ & _ & Lo). destruct (le_lt_dec k' j); [assumption|].
      pose proof (Lo j ltac:(lia)). lra. }
    assert (R : (1 + S d1 <= k')%nat).
    { destruct K' as (Q & Q2 & _). destruct (le_lt_dec (1 + S d1) k'); [assumption|].
      rewrite (Zero1 IS k') in Q2 by lia. lra. }
    split; [apply (tree_programmed z (1 + S d1) d2); auto; lia|].
    split; [apply NewD, K'|left; exact IS].
  - assert (l = 3%nat) by lia. subst l.
    pose proof (proj1 (proj2 feasible_pair) Start eq_refl) as A.
    assert (exists i, (i < n)%nat /\ pi Start = TryVariable i /\ roll_in M pi 3 =
      pair_of i)
      as (i & Hi & Si & R3).
    { destruct (pi Start) as [i|j| | | |] eqn:S; try discriminate A.
      - exists i. simpl in A. apply Nat.ltb_lt in A. split; [exact A|].
        split; [reflexivity|].
        apply (roll_in_pair n f y pi i S).
        pose proof (proj1 (proj2 feasible_pair) (VariableState i)) as G. simpl in G.
        rewrite (proj2 (Nat.ltb_lt i n) A) in G. specialize (G eq_refl).
        destruct (pi (VariableState i)); congruence.
      - exfalso. simpl in A. apply Nat.ltb_lt in A. simpl in H. rewrite S in H.
        simpl in H.
        pose proof (proj1 (proj2 feasible_pair) (ClauseState j)) as G. simpl in G.
        rewrite (proj2 (Nat.ltb_lt j (length f)) A) in G. specialize (G eq_refl).
        destruct (nth_error_below f j A) as [w W]. rewrite W in H.
        destruct (pi (ClauseState j)); try discriminate G.
        destruct (three_literals n f T w (nth_error_In _ _ W)) as (l1 & l2 & l3 & B &
          _).
        unfold clause_transition in H. rewrite B in H. simpl in H. inversion H.
      - exfalso. simpl in H. rewrite S in H. simpl in H.
        pose proof (proj1 (proj2 feasible_pair) Detour eq_refl) as G. simpl in G.
        destruct (pi Detour); try discriminate G. simpl in H. inversion H. }
    assert (IH : forall x, owned x -> In (point x) (kept ds)).
    { intros x O. destruct (Last i R3 (point x)) as [K|[k K]];
        [apply hard_iff, owned_hard, O|..].
      - exact K.
      - discriminate K. }
    assert (Ez : transition M Start (pi Start) = point (VariableState i))
      by (rewrite Si; reflexivity).
    pose proof (second_root _ Ez) as R2.
    assert (D2 : deep (trees (VariableState i)) (S d2)) by (apply deep_2; exact Hi).
    assert (Zero2 : forall j, (1 + S d1 <= j < 1 + S d1 + S d2)%nat ->
      two_error M trees h rho j = 0)
      by (apply (whole_zero (VariableState i)); auto; lia).
    rewrite <- last_level in E.
    destruct (lowest_exists h rho horizon) as (k & _ & K); [unfold horizon;
      lia|exact E|].
    split; [exact Sum|]. split; [exists k; exact K|]. intros k' K'.
    assert (k' = horizon) as ->.
    { destruct K' as (Q & Q2 & _). unfold horizon in *.
      destruct (le_lt_dec (1 + S d1) k') as [B|B];
        [|rewrite (Zero1 (IH Start Logic.I) k') in Q2 by lia; lra].
      destruct (le_lt_dec (1 + S d1 + S d2) k') as [C|C]; [lia|].
      rewrite (Zero2 k') in Q2 by lia. lra. }
    split; [|split; [apply NewD, K'|left; apply IH; exact Logic.I]].
    right. exists i. split; [exact Hi|].
    destruct (stretch_alone M trees rho (VariableState i) d2 (1 + S d1) []
      (trees (VariableState i))) as [_ B];
      [lia|apply root_node; apply Nat.ltb_lt, Hi|exact D2|exact R2|].
    unfold horizon. replace (S d1 + S d2 + 1)%nat with (1 + S d1 + S d2)%nat by lia.
    rewrite B. change (follow rho (VariableState i) [] (trees (VariableState i)))
      with (pi (VariableState i)).
    pose proof (followed_legal rho (VariableState i)) as G. simpl in G.
    rewrite (proj2 (Nat.ltb_lt i n) Hi) in G. specialize (G eq_refl). fold pi in G.
    destruct (pi (VariableState i)); try discriminate G. reflexivity.
Qed.
End Round.

(** ** Every run *)

Lemma kept_more ds d : In (point Start) (kept ds) -> In (point Start) (kept (d :: ds)).
Proof.
  intros K. apply (kept_point _ Start Logic.I) in K. apply (kept_point _ Start Logic.I).
  unfold unbound in *. apply find_none_iff. intros b I.
  pose proof (find_none _ _ K b I) as N. simpl in N.
  destruct (in_dec nodes_eq (alone (Start, b)) ds) as [J|]; [|discriminate N].
  destruct (in_dec nodes_eq _ (d :: ds)) as [|O]; [reflexivity|].
  exfalso. apply O. right. exact J.
Qed.

Lemma one_missing ds : NoDup ds -> (length ds < length two_program)%nat ->
  exists d, programmed d /\ ~ In d ds.
Proof.
  intros U L.
  destruct (Forall_Exists_dec (fun d => In d ds) (fun d => in_dec nodes_eq d ds)
    two_program)
    as [A|E].
  - exfalso. pose proof (NoDup_incl_length (NoDup_nodup nodes_eq _ : NoDup two_program)
      (proj1 (Forall_forall _ _) A)). lia.
  - apply Exists_exists in E as (d & I & N). exists d.
    split; [apply program_iff, I|exact N].
Qed.

(** As long as the program is not bound a run binds it bit by bit. *)
Theorem two_run ds : two_follows ds -> (length ds <= length two_program)%nat ->
  NoDup ds /\ incl ds two_program /\ start_first ds.
Proof.
  intros F. induction F as [|ds h rho k F IH X _ K]; cbn [length]; intros L.
  - split; [constructor|]. split; [intros d []|right; intros d []].
  - destruct IH as (U & I & S); [lia|].
    assert (PD : forall d, In d ds -> programmed d) by (intros d D;
      apply program_iff, I, D).
    destruct (two_round_binds ds h rho PD X S (one_missing ds U ltac:(lia))) as (_ & _ &
      B).
    destruct (B k K) as (P & N & A). split; [constructor; assumption|]. split.
    + intros d [<-|D]; [apply program_iff, P|apply I, D].
    + destruct A as [A|[b A]].
      * left. apply kept_more, A.
      * destruct S as [S|S]; [left; apply kept_more, S|right].
        intros d [<-|D]; [exists b; exact A|apply S, D].
Qed.

(** Before that OLIVE does not stop, and there is a lowest level to bind. *)
Theorem two_run_goes_on ds : two_follows ds -> (length ds < length two_program)%nat ->
  forall h rho, two_maximiser ds h rho -> 0 < two_sum h rho /\ exists k,
    two_lowest h rho k.
Proof.
  intros F L h rho X. destruct (two_run ds F) as (U & I & S); [lia|].
  assert (PD : forall d, In d ds -> programmed d) by (intros d D;
    apply program_iff, I, D).
  destruct (two_round_binds ds h rho PD X S (one_missing ds U L)) as (A & B & _). auto.
Qed.

(** After as many rounds as it has constraints exactly the program is bound. *)
Theorem theorem_T_two_actions ds u : two_follows ds -> length ds = length two_program ->
  least_unsatisfied f u ->
  (forall d, In d ds <-> In d two_program) /\
  (forall h rho, run_feasible ds h rho ->
     h (Start, []) <= 1 / 10 + 1 / 20 * (1 - IZR u / (3 * IZR (total_weight f)))) /\
  exists h rho, run_feasible ds h rho /\
    h (Start, []) = 1 / 10 + 1 / 20 * (1 - IZR u / (3 * IZR (total_weight f))).
Proof.
  intros F L U. destruct (two_run ds F) as (N & I & _); [lia|].
  assert (A : forall d, In d ds <-> In d two_program).
  { intros d. split; [apply I|]. apply (NoDup_length_incl N); [lia|exact I]. }
  split; [exact A|]. destruct (optimum_strict n f y u T U) as [O (g & pi & G & V)].
  assert (K : forall d, In d (kept ds) <-> In d hard).
  { intros d. split; [intros D; apply (proj1 (proj1 (filter_In _ _ _) D))|]. intros D.
    pose proof D as D'. apply hard_iff in D'.
    assert (P : forall x, owned x -> In (point x) (kept ds)).
    { intros x Q. apply (kept_point ds x Q). unfold unbound. apply find_none_iff.
      intros b B. destruct (in_dec nodes_eq _ ds) as [|Z]; [reflexivity|]. exfalso.
      apply Z, A, program_iff. left. exists x, b. split; [exact Q|].
      split; [apply in_inner, B|reflexivity]. }
    destruct D' as [|j J|i J|i J]; [apply (P Start Logic.I)|apply (P (ClauseState j) J)
      |apply (P (VariableState i) J)|].
    apply (kept_pair ds i J), A, program_iff. right. exists i. auto. }
  assert (Same : forall h rho, feasible strict M (kept ds) h rho <-> feasible strict M
    hard h rho).
  { intros h rho. split; intros (R & P & Z); (split; [exact R|]; split; [exact P|]);
      intros d D; apply Z, K, D. }
  split.
  - intros h rho H. apply (O (at_roots h) (followed rho)), Same, project, H.
  - exists (lifted ds g pi), (lifted_policy ds pi). split.
    + apply lift; [intros d D; apply program_iff, A, D|apply Same, G].
    + rewrite <- V. apply (lifted_roots ds g pi Start).
Qed.
End Strict.

(** ** Such trees exist: balanced ones, deep enough for the number of actions *)

Fixpoint grow (d : nat) (l : list action) : tree :=
  match d with
  | O => Take (hd Go l)
  | S d => if length l <=? 2 ^ d then One (grow d l)
           else Two (grow d (firstn (2 ^ d) l)) (grow d (skipn (2 ^ d) l))
  end%nat.

Lemma grow_is d : forall l, l <> [] -> (length l <= 2 ^ d)%nat ->
  deep (grow d l) d /\ forall a, takes (grow d l) a <-> In a l.
Proof.
  induction d as [|d IH]; intros l N L; simpl in *.
  - destruct l as [|b [|c l]]; simpl in *; [congruence| |lia]. split; [exact I|].
    intros a. split; [auto|intros [E|[]]; auto].
  - destruct (Nat.leb_spec (length l) (2 ^ d)) as [K|K]; [apply (IH l N K)|].
    assert (A : length (firstn (2 ^ d) l) = (2 ^ d)%nat) by (apply firstn_length_le;
      lia).
    assert (B : length (skipn (2 ^ d) l) = (length l - 2 ^ d)%nat)
      by apply skipn_length.
    pose proof (Nat.pow_nonzero 2 d ltac:(lia)) as P.
    destruct (IH (firstn (2 ^ d) l)) as [D1 T1];
      [intros E; rewrite E in A; simpl in A; lia|lia|].
    destruct (IH (skipn (2 ^ d) l)) as [D2 T2];
      [intros E; rewrite E in B; simpl in B; lia|lia|].
    split; [split; assumption|]. intros a. simpl. rewrite T1, T2, <- in_app_iff.
    rewrite firstn_skipn. reflexivity.
Qed.

Theorem two_trees_exist n f y d1 :
  (n + length f + 1 <= 2 ^ S d1)%nat -> exists trees,
    trees_for (member strict n f y) trees /\ deep (trees Start) (S d1) /\
    (forall x, second n f x -> deep (trees x) 3) /\
    (forall x, third n x -> deep (trees x) 1).
Proof.
  intros L. set (M := member strict n f y).
  set (at_start := Solve :: map TryVariable (seq 0 n) ++ map TryClause (seq 0 (length
    f))).
  set (at_clause := [Spell true true true; Spell true true false; Spell true false true;
    Spell true false false; Spell false true true; Spell false true false;
    Spell false false true]).
  exists (fun x => match x with
    | Start => grow (S d1) at_start
    | ClauseState _ => grow 3 at_clause
    | VariableState _ | Detour => grow 3 [Go]
    | _ => grow 1 [Go] end).
  assert (A : length at_start = (n + length f + 1)%nat)
    by (unfold at_start; simpl; rewrite app_length, !map_length, !seq_length; lia).
  destruct (grow_is (S d1) at_start) as [D1 T1]; [discriminate|lia|].
  destruct (grow_is 3 at_clause) as [D2 T2]; [discriminate|simpl; lia|].
  destruct (grow_is 3 [Go]) as [D3 T3]; [discriminate|simpl; lia|].
  destruct (grow_is 1 [Go]) as [D4 T4]; [discriminate|simpl; lia|].
  assert (G : forall a, In a [Go] <-> match a with Go => true | _ => false end = true).
  { intros a. simpl. destruct a; split; intros H; auto; try discriminate H;
      destruct H as [H|[]]; discriminate H. }
  split; [|split; [exact D1|split]].
  - intros x S. split.
    + intros a. destruct x as [|j|i|i b| |]; cbv beta iota.
      * rewrite T1. unfold at_start. simpl. rewrite in_app_iff, !in_map_iff.
        destruct a as [i|j| |b1 b2 b3| |]; split; try discriminate; auto.
        -- intros [E|[(z & E & I)|(z & E & _)]]; try discriminate E. injection E as <-.
           apply in_seq in I. apply Nat.ltb_lt. lia.
        -- intros H. apply Nat.ltb_lt in H. right; left. exists i.
           split; [reflexivity|apply in_seq; lia].
        -- intros [E|[(z & E & _)|(z & E & I)]]; try discriminate E. injection E as <-.
           apply in_seq in I. apply Nat.ltb_lt. lia.
        -- intros H. apply Nat.ltb_lt in H. right; right. exists j.
           split; [reflexivity|apply in_seq; lia].
        -- intros [E|[(z & E & _)|(z & E & _)]]; discriminate E.
        -- intros [E|[(z & E & _)|(z & E & _)]]; discriminate E.
        -- intros [E|[(z & E & _)|(z & E & _)]]; discriminate E.
      * rewrite T2. unfold at_clause.
        destruct a as [i'|j'| |[] [] []| |]; simpl; split; intros H;
          try discriminate H; auto 10;
          repeat (destruct H as [H|H]; [discriminate H|]); destruct H.
      * rewrite T3, G. destruct a; reflexivity.
      * rewrite T4, G. destruct a; reflexivity.
      * rewrite T3, G. destruct a; reflexivity.
      * rewrite T4, G. destruct a; reflexivity.
    + destruct x; simpl; try exact I.
      match goal with |- context [if ?t then _ else _] => destruct t end; exact I.
  - intros [|j|i|i b| |] H; try destruct H; assumption.
  - intros [|j|i|i b| |] H; try destruct H; assumption.
Qed.
