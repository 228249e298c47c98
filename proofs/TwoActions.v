(** Two actions a state: each choice becomes a binary tree, whose nodes choose one bit
    after the other. OLIVE's program over the trees' roots, with each node below them
    bound alone, has the same optimum. Source: the toolkit's own. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima.
Import ListNotations.
Open Scope R_scope.

(** ** Trees of actions *)

(** Where only one choice is left a node has one action. *)
Inductive tree := Take (a : action) | One (t : tree) | Two (l r : tree).

Fixpoint takes (t : tree) (a : action) : Prop :=
  match t with
  | Take b => a = b
  | One t => takes t a
  | Two l r => takes l a \/ takes r a
  end.

(** A tree for each state, with the legal actions at its leaves; no root is a leaf. *)
Definition trees_for (M : mdp) (trees : state -> tree) : Prop :=
  forall x, is_state M x = true ->
    (forall a, takes (trees x) a <-> legal M x a = true) /\
    match trees x with Take _ => False | _ => True end.

(** A node: a state of the original, and the bits that lead there from its root. *)
Definition node := (state * list bool)%type.

(** [below t bits]: the tree that the bits lead to, if it is a node's. *)
Fixpoint below (t : tree) (bits : list bool) : option tree :=
  match bits, t with
  | [], Take _ => None
  | [], _ => Some t
  | false :: bits, One t => below t bits
  | c :: bits, Two l r => below (if c then r else l) bits
  | _, _ => None
  end.

Definition is_node (M : mdp) (trees : state -> tree) (x : node) : Prop :=
  is_state M (fst x) = true /\ below (trees (fst x)) (snd x) <> None.

(** ** The program over nodes *)

Definition backup (M : mdp) (g : state -> R) (x : state) (a : action) : R :=
  Q2R (reward M x a) + expect (transition M x a) g.

Definition at_roots (h : node -> R) (x : state) : R := h (x, []).

(** What a choice leads to: an action of the original, or a node below. *)
Definition next (M : mdp) (h : node -> R) (x : state) (bits : list bool) (c : bool)
    (t : tree) : R :=
  match t with
  | Take a => backup M (at_roots h) x a
  | _ => h (x, bits ++ [c])
  end.

Definition node_error (M : mdp) (trees : state -> tree) (h : node -> R)
    (rho : node -> bool) (x : node) : R :=
  h x - match below (trees (fst x)) (snd x) with
        | Some (One t) => next M h (fst x) (snd x) false t
        | Some (Two l r) =>
            next M h (fst x) (snd x) (rho x) (if rho x then r else l)
        | _ => 0
        end.

Definition two_feasible (c : construction) (M : mdp) (trees : state -> tree)
    (constraints : list distribution) (h : node -> R) (rho : node -> bool) : Prop :=
  (forall x, is_node M trees x -> 0 <= h x <= Q2R (upper c (fst x))) /\
  (forall d, In d constraints ->
     expect d (fun x => node_error M trees h rho (x, [])) = 0) /\
  (forall x, is_node M trees x -> snd x <> [] -> node_error M trees h rho x = 0).

Definition two_optimum (c : construction) (M : mdp) (trees : state -> tree)
    (constraints : list distribution) (v : R) : Prop :=
  (forall h rho, two_feasible c M trees constraints h rho -> h (Start, []) <= v) /\
  (exists h rho, two_feasible c M trees constraints h rho /\ h (Start, []) = v).

(** ** The action at the end of a path *)

Fixpoint follow (rho : node -> bool) (x : state) (bits : list bool) (t : tree) : action
  :=
  match t with
  | Take a => a
  | One t => follow rho x (bits ++ [false]) t
  | Two l r => if rho (x, bits) then follow rho x (bits ++ [true]) r
               else follow rho x (bits ++ [false]) l
  end.

Lemma follow_takes rho x t : forall bits, takes t (follow rho x bits t).
Proof.
  induction t as [a|t IH|l IHl r IHr]; intros bits; simpl; auto.
  destruct (rho (x, bits)); auto.
Qed.

Lemma below_step t bits : forall c,
  below t (bits ++ [c]) =
  match below t bits with
  | Some (One (Take _)) => None
  | Some (One s) => if c then None else Some s
  | Some (Two l r) => match (if c then r else l) with Take _ => None | s => Some s end
  | _ => None
  end.
Proof.
  revert t. induction bits as [|e bits IH]; intros t c.
  - destruct t as [a|s|l r], c; simpl; try reflexivity;
      [destruct s|destruct s|destruct r|destruct l]; reflexivity.
  - destruct t as [a|s|l r], e; simpl; try reflexivity; apply IH.
Qed.

Section Program.
Variables (c : construction) (M : mdp) (trees : state -> tree)
  (constraints : list distribution).
Hypothesis shaped : trees_for M trees.
Hypothesis over_states : forall d x q, In d constraints -> In (x, q) d ->
  is_state M x = true.

(** The node below is bound alone, so that its error is 0. *)
Ltac step e IH :=
  match goal with
  | Z : (forall bits, is_node M trees _ -> _), S : is_state M ?x = true,
    E : below (trees ?x) ?bits = Some _ |- _ =>
      assert (exists s, below (trees x) (bits ++ [e]) = Some s) as [s D]
        by (rewrite below_step, E; simpl; eauto);
      assert (bits ++ [e] <> []) by (destruct bits; discriminate);
      assert (N : is_node M trees (x, bits ++ [e]))
        by (split; [exact S|]; cbn [fst snd]; congruence);
      pose proof (Z (bits ++ [e]) N ltac:(assumption)) as K;
      pose proof D as D'; rewrite below_step, E in D'; simpl in D';
      injection D' as <-; pose proof (IH _ D) as W; rewrite K in W; simpl next; lra
  end.

(** Nodes below the roots are worth what their path's end is worth. *)
Lemma path_worth h rho x :
  (forall bits, is_node M trees (x, bits) -> bits <> [] ->
     node_error M trees h rho (x, bits) = 0) ->
  is_state M x = true -> forall t bits, below (trees x) bits = Some t ->
  h (x, bits) - node_error M trees h rho (x, bits) =
  backup M (at_roots h) x (follow rho x bits t).
Proof.
  intros Z S. induction t as [a|t IH|l IHl r IHr]; intros bits E.
  - exfalso. assert (N : forall bits t, below t bits <> Some (Take a)).
    { induction bits0 as [|e bits0 IH]; intros [b|s|l r]; simpl; try discriminate;
        destruct e; try discriminate; apply IH. }
    exact (N bits _ E).
  - unfold node_error. cbn [fst snd]. rewrite E. simpl follow.
    destruct t as [a|t|l r]; [simpl; ring|step false IH|step false IH].
  - unfold node_error. cbn [fst snd]. rewrite E. simpl follow.
    destruct (rho (x, bits)).
    + destruct r as [a|r|r1 r2]; [simpl; ring|step true IHr|step true IHr].
    + destruct l as [a|l|l1 l2]; [simpl; ring|step false IHl|step false IHl].
Qed.

Lemma root_below x : is_state M x = true -> below (trees x) [] = Some (trees x).
Proof.
  intros S. destruct (shaped x S) as [_ R].
  destruct (trees x); [destruct R|..]; reflexivity.
Qed.

Lemma root_error h rho x : two_feasible c M trees constraints h rho ->
  is_state M x = true ->
  node_error M trees h rho (x, []) =
  at_roots h x - backup M (at_roots h) x (follow rho x [] (trees x)).
Proof.
  intros (_ & _ & Z) S.
  rewrite <- (path_worth h rho x (fun b N D => Z (x,
    b) N D) S (trees x) [] (root_below x S)).
  unfold at_roots. ring.
Qed.

Lemma expect_equal d h k : (forall x q, In (x,
  q) d -> h x = k x) -> expect d h = expect d k.
Proof.
  unfold expect. induction d as [|[x q] d IH]; simpl; intros E; [reflexivity|].
  rewrite (E x q (or_introl eq_refl)), IH; [reflexivity|].
  intros z s I. apply (E z s). right. exact I.
Qed.

(** Follow the paths: what is feasible over nodes is so in the original. *)
Lemma down h rho : two_feasible c M trees constraints h rho ->
  feasible c M constraints (at_roots h) (fun x => follow rho x [] (trees x)).
Proof.
  intros F. pose proof F as (R & D & _). split; [|split].
  - intros x S. apply (R (x, [])). split; [exact S|].
    simpl fst. simpl snd. rewrite (root_below x S). discriminate.
  - intros x S. apply (proj1 (shaped x S)), follow_takes.
  - intros d I. rewrite <- (D d I). apply expect_equal. intros x q X.
    symmetry. apply (root_error h rho x F), (over_states d x q I X).
Qed.

(** Choose the paths of a policy, and give a node what its choice leads to. *)
Definition action_eq (a b : action) : {a = b} + {a <> b}.
Proof. decide equality; try apply Nat.eq_dec; apply Bool.bool_dec. Defined.

Fixpoint takes_dec (t : tree) (a : action) : {takes t a} + {~ takes t a}.
Proof.
  destruct t as [b|t|l r]; simpl.
  - apply action_eq.
  - apply takes_dec.
  - destruct (takes_dec l a); [auto|]. destruct (takes_dec r a); [auto|].
    right. tauto.
Defined.

Definition toward (pi : state -> action) (x : node) : bool :=
  match below (trees (fst x)) (snd x) with
  | Some (Two l r) => if takes_dec l (pi (fst x)) then false else true
  | _ => false
  end.

Lemma toward_follows pi x : forall t bits, below (trees x) bits = Some t ->
  takes t (pi x) -> follow (toward pi) x bits t = pi x.
Proof.
  induction t as [a|t IH|l IHl r IHr]; intros bits E K; simpl in *.
  - auto.
  - destruct t as [a|t|l r]; [simpl in *; auto|..];
      apply IH; auto; rewrite below_step, E; reflexivity.
  - unfold toward at 1. cbn [fst snd]. rewrite E.
    destruct (takes_dec l (pi x)) as [L|L].
    + destruct l as [a|l|l1 l2]; [simpl in *; auto|..];
        apply IHl; auto; rewrite below_step, E; reflexivity.
    + destruct K as [K|K]; [contradiction|].
      destruct r as [a|r|r1 r2]; [simpl in *; auto|..];
        apply IHr; auto; rewrite below_step, E; reflexivity.
Qed.

Definition spread_out (g : state -> R) (pi : state -> action) (x : node) : R :=
  match snd x with
  | [] => g (fst x)
  | _ => match below (trees (fst x)) (snd x) with
         | Some t => backup M g (fst x) (follow (toward pi) (fst x) (snd x) t)
         | None => 0
         end
  end.

Lemma spread_next g pi x bits e t :
  (match t with Take _ => True | _ => below (trees x) (bits ++ [e]) = Some t end) ->
  next M (spread_out g pi) x bits e t =
  backup M g x (follow (toward pi) x (bits ++ [e]) t).
Proof.
  intros B. destruct t as [a|t|l r]; [reflexivity|..];
    unfold next, spread_out; cbn [fst snd]; rewrite B;
    destruct bits; reflexivity.
Qed.

Lemma spread_error g pi x bits t : below (trees x) bits = Some t ->
  node_error M trees (spread_out g pi) (toward pi) (x, bits) =
  spread_out g pi (x, bits) - backup M g x (follow (toward pi) x bits t).
Proof.
  intros E. unfold node_error. cbn [fst snd]. rewrite E. f_equal. f_equal.
  assert (N : forall s, t = Take s -> False).
  { intros s ->. assert (N : forall bits t, below t bits <> Some (Take s)).
    { induction bits0 as [|e bits0 IH]; intros [b|u|l r]; simpl; try discriminate;
        destruct e; try discriminate; apply IH. }
    exact (N bits _ E). }
  pose proof (below_step (trees x) bits) as B. rewrite E in B.
  destruct t as [a|s|l r]; [destruct (N a eq_refl)|..]; simpl follow.
  - apply spread_next; rewrite (B false); destruct s; exact I || reflexivity.
  - destruct (toward pi (x, bits)); apply spread_next; rewrite B;
      [destruct r|destruct l]; exact I || reflexivity.
Qed.

Lemma below_takes : forall bits t s, below t bits = Some s ->
  forall a, takes s a -> takes t a.
Proof.
  induction bits as [|e bits IH]; intros t s E a K.
  - destruct t; simpl in E; try discriminate; injection E as <-; exact K.
  - destruct t as [b|t|l r], e; simpl in E; try discriminate; simpl;
      [apply (IH t s E a K)|right; apply (IH r s E a K)|left; apply (IH l s E a K)].
Qed.

(** In the other direction only the ranges could fail. *)
Lemma spread_range g pi : in_range c M g ->
  (forall x a, is_state M x = true -> legal M x a = true ->
     0 <= backup M g x a <= Q2R (upper c x)) ->
  forall z, is_node M trees z -> 0 <= spread_out g pi z <= Q2R (upper c (fst z)).
Proof.
  intros R B [x bits] [S N]. cbn [fst snd] in *. unfold spread_out. cbn [fst snd].
  destruct bits as [|e bits]; [apply R, S|].
  destruct (below (trees x) (e :: bits)) as [t|] eqn:E; [|congruence].
  apply B; [exact S|]. apply (proj1 (shaped x S)), (below_takes _ _ _ E), follow_takes.
Qed.

Lemma up g pi : feasible c M constraints g pi ->
  (forall x a, is_state M x = true -> legal M x a = true ->
     0 <= backup M g x a <= Q2R (upper c x)) ->
  two_feasible c M trees constraints (spread_out g pi) (toward pi).
Proof.
  intros (R & P & Z) B. split; [exact (spread_range g pi R B)|split].
  - intros d I. rewrite <- (Z d I). apply expect_equal. intros x q X.
    pose proof (over_states d x q I X) as S.
    rewrite (spread_error g pi x [] (trees x) (root_below x S)).
    rewrite (toward_follows pi x (trees x) [] (root_below x S)); [reflexivity|].
    apply (proj1 (shaped x S)), P, S.
  - intros [x bits] [S N] D. cbn [fst snd] in *.
    destruct (below (trees x) bits) as [t|] eqn:E; [|congruence].
    rewrite (spread_error g pi x bits t E). unfold spread_out. cbn [fst snd].
    rewrite E. destruct bits; [congruence|ring].
Qed.

Lemma same_optimum v : optimum c M constraints v ->
  (exists g pi, feasible c M constraints g pi /\ g Start = v /\
     forall x a, is_state M x = true -> legal M x a = true ->
       0 <= backup M g x a <= Q2R (upper c x)) ->
  two_optimum c M trees constraints v.
Proof.
  intros [U _] (g & pi & F & V & B). split.
  - intros h rho G. apply (U _ _ (down h rho G)).
  - exists (spread_out g pi), (toward pi). split; [apply up; assumption|exact V].
Qed.
End Program.

(** ** The variants *)

Section Variants.
Variables (c : construction) (n : nat) (f : formula) (y : assignment).
Hypothesis C : sound c.
Hypothesis T : three_sat_form n f.
Hypothesis L : layered c = true.
Hypothesis clause_pays : 0 <= Q2R (clause_reward c).
Hypothesis variable_pays : 0 <= Q2R (variable_reward c).

Let M := member c n f y.
Let hard := hard_program c n f.

Lemma hard_states d x q : In d hard -> In (x, q) d -> is_state M x = true.
Proof.
  intros D I. unfold hard, hard_program in D.
  apply in_app_or in D as [[<-|[]]|D]; [destruct I as [E|[]]; injection E as <- <-;
    reflexivity|].
  apply in_app_or in D as [D|D].
  { apply in_map_iff in D as (j & <- & J). apply in_seq in J. destruct I as [E|[]].
    injection E as <- <-. apply Nat.ltb_lt. lia. }
  apply in_app_or in D as [D|D].
  { rewrite L in D. apply in_map_iff in D as (i & <- & J). apply in_seq in J.
    destruct I as [E|[]]. injection E as <- <-. simpl. rewrite L. apply Nat.ltb_lt.
    lia. }
  apply in_app_or in D as [D|D].
  { apply in_map_iff in D as (i & <- & J). apply in_seq in J.
    destruct I as [E|[E|[]]]; injection E as <- <-; apply Nat.ltb_lt; lia. }
  destruct (quits c) eqn:Q; [|destruct D]. destruct D as [<-|[]]. destruct I as [E|[]].
  injection E as <- <-. simpl. rewrite Q. reflexivity.
Qed.

(** An assignment's own values leave room for every action. *)
Lemma own_room a v x b : is_state M x = true -> legal M x b = true ->
  0 <= backup M (forward_value c f a v) x b <= Q2R (upper c x).
Proof.
  intros S B. pose proof (top_positive c C) as T0. pose proof (share_positive c) as S0.
  pose proof (solve_nonnegative c C). pose proof (solve_room c C).
  pose proof (try_room c C). pose proof (variable_worse c C).
  assert (ST : 0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat;
    assumption).
  unfold backup. destruct x as [|j|i|i e| |].
  - destruct b as [i|j| | | |]; try discriminate B; simpl in B |- *.
    + rewrite L. simpl. rewrite Q2R_1. lra.
    + apply Nat.ltb_lt in B. destruct (nth_error_below f j B) as [w ->]. rewrite Q2R_1.
      destruct (clause_true a (body w)); lra.
    + rewrite (solve_expect c f) by apply (total_above_0 n f T).
      pose proof (W_above_0 n f T) as W0. set (W := IZR (total_weight f)) in *.
      set (s := sum _ _).
      assert (K : 0 <= s <= W * Q2R (top c)).
      { assert (N : forall j w, In (j, w) (numbered f) ->
          0 <= IZR (weight w) /\ 0 <= forward_value c f a v (ClauseState j) <= Q2R (top
            c)).
        { intros j w I. apply in_numbered in I. simpl. rewrite I. split.
          - destruct T as (_ & Pos & _). apply IZR_le.
            pose proof (Pos w (nth_error_In _ _ I)). lia.
          - destruct (clause_true a (body w)); lra. }
        split.
        - replace 0 with (W * 0) by ring. unfold W. rewrite <- (sum_weights f 0).
          apply sum_le. intros [j w] I. destruct (N j w I) as [N1 N2].
          apply Rmult_le_compat_l; [exact N1|apply N2].
        - unfold W. rewrite <- sum_weights. apply sum_le. intros [j w] I.
          destruct (N j w I) as [N1 N2]. apply Rmult_le_compat_l; [exact N1|apply N2]. }
      assert (SW : 0 < Q2R (share c) / W) by (apply Rdiv_lt_0_compat; assumption).
      assert (E : Q2R (share c) / W * (W * Q2R (top c)) = Q2R (share c) * Q2R (top c))
        by (field; lra).
      assert (0 <= Q2R (share c) / W * s) by (apply Rmult_le_pos; lra).
      assert (Q2R (share c) / W * s <= Q2R (share c) / W * (W * Q2R (top c)))
        by (apply Rmult_le_compat_l; lra).
      simpl. destruct (diluted c); lra.
  - apply Nat.ltb_lt in S. destruct (nth_error_below f j S) as [w E].
    destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & K & _).
    pose proof (clause_room c C j).
    destruct b; try discriminate B; simpl; rewrite ?E, Q2R_0.
    + unfold clause_transition. rewrite K. cbn [expect fold_right fst snd].
      rewrite !forward_literal, Q2R_third.
      destruct (Bool.eqb b1 _), (Bool.eqb b2 _), (Bool.eqb b3 _); lra.
    + simpl. rewrite Q2R_1. lra.
  - destruct b; try discriminate B. pose proof (variable_room c C i). simpl.
    rewrite Q2R_0, Q2R_half. destruct (a i); simpl; lra.
  - destruct b; try discriminate B. pose proof (literal_room c C i e). simpl.
    destruct (Bool.eqb e (y i)); rewrite ?Q2R_0; lra.
  - destruct b; try discriminate B. simpl in S. pose proof (detour_worthless c C S).
    simpl.
    rewrite Q2R_0, Q2R_1. lra.
  - destruct b; try discriminate B. pose proof (bottom_room c C). simpl.
    rewrite Q2R_0. lra.
Qed.

(** Two actions a state leave the hard program's optimum as it is. *)
Theorem two_actions_optimum trees v : trees_for M trees ->
  optimum c M hard v -> two_optimum c M trees hard v.
Proof.
  intros R O. apply (same_optimum c M trees hard R hard_states v O).
  pose proof (least_exists n f T) as U.
  pose proof (solve_value_bounds c n f C T _ U) as [_ HI].
  pose proof (optimum_unique c M hard _ _ (optimum_general c n f y C T _ U) O) as <-.
  pose proof (solve_nonnegative c C). pose proof (solve_room c C).
  pose proof (share_positive c). pose proof (top_positive c C).
  assert (0 < Q2R (share c) * Q2R (top c)) by (apply Rmult_lt_0_compat; assumption).
  pose proof (solve_value_bounds c n f C T _ U) as [LO _].
  unfold Rmax. destruct (Rle_dec _ _) as [_|_].
  - assert (J : (0 < length f)%nat)
      by (destruct T as (N & _); destruct f; [congruence|simpl; lia]).
    destruct (nth_error_below f 0 J) as [w E].
    destruct (three_literals n f T w (nth_error_In _ _ E)) as (l1 & l2 & l3 & K & _).
    set (a := fun _ : nat => positive l1). eexists _, _.
    split; [apply (forward_try c n f y C T a 0 w E)|split;
      [reflexivity|apply own_room]].
    rewrite K. simpl. unfold literal_true at 1, a. rewrite eqb_reflx. reflexivity.
  - destruct U as [[a Ha] _]. rewrite <- Ha in *. eexists _, _.
    split; [apply (forward_solve c n f y C T a); lra|split;
      [reflexivity|apply own_room]].
Qed.
End Variants.
