(** Two actions a state, the rule [lowest]: in [strict] every run binds exactly the
    program of TwoActions.v, node by node. A pair over nodes is one of the original's
    with all that is bound as a whole, so Theorem T's rounds decide. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums Optimum Optima Explore StrictWorth.
From Olivine Require Import StrictRounds Strict TwoActions.
Import ListNotations.
Open Scope R_scope.

(** All paths of a tree are equally long. *)
Fixpoint deep (t : tree) (d : nat) : Prop :=
  match t, d with
  | Take _, O => True
  | One t, S d => deep t d
  | Two l r, S d => deep l d /\ deep r d
  | _, _ => False
  end.

(** ** Roll-ins over nodes *)

Definition nodes := list (node * Q).

Definition nexpect (d : nodes) (h : node -> R) : R :=
  fold_right (fun zq total => Q2R (snd zq) * h (fst zq) + total) 0 d.

Definition roots (d : distribution) : nodes := map (fun xq => ((fst xq, []), snd xq)) d.

Definition alone (z : node) : nodes := [(z, 1%Q)].

Lemma expect_add d h k : expect d (fun x => h x + k x) = expect d h + expect d k.
Proof. unfold expect. induction d as [|x d IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Section TwoRuns.
Variables (M : mdp) (trees : state -> tree).

Definition arrive (z : node) (c : bool) (t : tree) : nodes :=
  match t with
  | Take a => roots (transition M (fst z) a)
  | _ => alone (fst z, snd z ++ [c])
  end.

Definition node_step (rho : node -> bool) (z : node) : nodes :=
  match below (trees (fst z)) (snd z) with
  | Some (One t) => arrive z false t
  | Some (Two l r) => arrive z (rho z) (if rho z then r else l)
  | _ => []
  end.

Fixpoint two_roll_in (rho : node -> bool) (k : nat) : nodes :=
  match k with
  | O => []
  | S O => alone (Start, [])
  | S k => flat_map (fun zq => map (fun yr => (fst yr, (snd zq * snd yr)%Q))
                                   (node_step rho (fst zq))) (two_roll_in rho k)
  end.

Definition two_error (h : node -> R) (rho : node -> bool) (k : nat) : R :=
  nexpect (two_roll_in rho k) (node_error M trees h rho).

(** The sum of [d] levels' errors from level [k] on. *)
Fixpoint error_from (h : node -> R) (rho : node -> bool) (k d : nat) : R :=
  match d with O => 0 | S d => two_error h rho k + error_from h rho (S k) d end.

Lemma nexpect_app d e h : nexpect (d ++ e) h = nexpect d h + nexpect e h.
Proof. unfold nexpect. induction d as [|x d IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Lemma nexpect_times q d h :
  nexpect (map (fun zr => (fst zr, (q * snd zr)%Q)) d) h = Q2R q * nexpect d h.
Proof.
  unfold nexpect. induction d as [|[z r] d IH]; simpl; [ring|].
  rewrite IH, Q2R_mult. ring.
Qed.

Lemma nexpect_roots d h : nexpect (roots d) h = expect d (fun x => h (x, [])).
Proof. unfold nexpect, expect, roots. induction d as [|x d IH]; simpl; congruence. Qed.

Lemma nexpect_alone z h : nexpect (alone z) h = h z.
Proof. unfold nexpect. simpl. rewrite Q2R_1. ring. Qed.

Lemma two_roll_in_next rho k h : (1 <= k)%nat -> nexpect (two_roll_in rho (S k)) h =
  nexpect (two_roll_in rho k) (fun z => nexpect (node_step rho z) h).
Proof.
  intros K. destruct k as [|k]; [lia|].
  change (two_roll_in rho (S (S k))) with
    (flat_map (fun zq => map (fun yr => (fst yr, (snd zq * snd yr)%Q))
                             (node_step rho (fst zq))) (two_roll_in rho (S k))).
  generalize (two_roll_in rho (S k)) as d. clear K k.
  induction d as [|[z q] d IH]; [reflexivity|].
  change (flat_map ?t ((z, q) :: d)) with (t (z, q) ++ flat_map t d).
  rewrite nexpect_app, IH. cbn [fst snd]. rewrite nexpect_times. reflexivity.
Qed.

Lemma deep_node t d : match t with Take _ => False | _ => True end -> deep t d ->
  exists e, d = S e.
Proof. destruct t, d; simpl; intros; eauto; contradiction. Qed.

Lemma below_not_take t : forall bits a, below t bits <> Some (Take a).
Proof.
  intros bits. revert t. induction bits as [|e bits IH]; intros [b|s|l r] a; simpl;
    try discriminate; destruct e; try discriminate; apply IH.
Qed.

(** Through the trees of a level: the errors add up to those of the original's states,
    and the next level begins where the paths' ends lead. *)
Lemma stretch h rho (D : distribution) : forall d k (b : state -> list bool) (t : state
  -> tree),
  (1 <= k)%nat ->
  (forall x q, In (x, q) D -> below (trees x) (b x) = Some (t x) /\ deep (t x) (S d)) ->
  (forall p, nexpect (two_roll_in rho k) p = expect D (fun x => p (x, b x))) ->
  (forall p, nexpect (two_roll_in rho (k + S d)) p = expect D (fun x =>
     expect (transition M x (follow rho x (b x) (t x))) (fun z => p (z, [])))) /\
  error_from h rho k (S d) = expect D (fun x =>
    h (x, b x) - backup M (at_roots h) x (follow rho x (b x) (t x))).
Proof.
  induction d as [|d IH]; intros k b t K B E.
  - split.
    + intros p. replace (k + 1)%nat with (S k) by lia.
      rewrite two_roll_in_next, E by exact K.
      apply expect_equal. intros x q I. destruct (B x q I) as [L P].
      unfold node_step. cbn [fst snd]. rewrite L.
      destruct (t x) as [a|s|l r]; simpl in P; [contradiction|..].
      * destruct s; simpl in P; try contradiction. simpl. apply nexpect_roots.
      * destruct P as [P1 P2]. destruct l; simpl in P1; try contradiction.
        destruct r; simpl in P2; try contradiction. simpl.
        destruct (rho (x, b x)); apply nexpect_roots.
    + cbn [error_from]. unfold two_error. rewrite E, Rplus_0_r.
      apply expect_equal. intros x q I. destruct (B x q I) as [L P].
      unfold node_error. cbn [fst snd]. rewrite L.
      destruct (t x) as [a|s|l r]; simpl in P; [contradiction|..].
      * destruct s; simpl in P; try contradiction. reflexivity.
      * destruct P as [P1 P2]. destruct l; simpl in P1; try contradiction.
        destruct r; simpl in P2; try contradiction. simpl.
        destruct (rho (x, b x)); reflexivity.
  - set (c := fun x => match t x with Two _ _ => rho (x, b x) | _ => false end).
    set (b' := fun x => b x ++ [c x]).
    set (t' := fun x => match t x with
      | Take a => Take a | One s => s | Two l r => if rho (x, b x) then r else l end).
    assert (B' : forall x q, In (x, q) D ->
      below (trees x) (b' x) = Some (t' x) /\ deep (t' x) (S d)).
    { intros x q I. destruct (B x q I) as [L P]. unfold b', t', c.
      rewrite below_step, L.
      destruct (t x) as [a|s|l r]; simpl in P; [contradiction|..].
      - destruct s; simpl in P |- *; [contradiction|..]; auto.
      - destruct P as [P1 P2]. destruct (rho (x, b x));
          [destruct r|destruct l]; simpl in P1, P2 |- *; try contradiction; auto. }
    assert (F : forall x q, In (x, q) D ->
      follow rho x (b' x) (t' x) = follow rho x (b x) (t x)).
    { intros x q I. destruct (B x q I) as [L P]. unfold b', t', c.
      destruct (t x) as [a|s|l r]; simpl in P |- *; [contradiction|reflexivity|].
      destruct (rho (x, b x)); reflexivity. }
    assert (G : forall x q p, In (x, q) D ->
      nexpect (node_step rho (x, b x)) p = p (x, b' x)).
    { intros x q p I. destruct (B x q I) as [L _]. destruct (B' x q I) as [L' P'].
      unfold node_step, b', t', c in *. cbn [fst snd]. rewrite L.
      destruct (t x) as [a|s|l r]; simpl in P' |- *.
      - exfalso. exact (below_not_take _ _ _ L).
      - destruct s; simpl in P'; [contradiction|..]; apply nexpect_alone.
      - destruct (rho (x, b x)); [destruct r|destruct l]; simpl in P';
          try contradiction; apply nexpect_alone. }
    assert (E' : forall p, nexpect (two_roll_in rho (S k)) p = expect D (fun x => p (x,
      b' x))).
    { intros p. rewrite two_roll_in_next, E by exact K. apply expect_equal.
      intros x q I. apply (G x q p I). }
    destruct (IH (S k) b' t' ltac:(lia) B' E') as [A1 A2]. split.
    + intros p. replace (k + S (S d))%nat with (S k + S d)%nat by lia. rewrite A1.
      apply expect_equal. intros x q I. rewrite (F x q I). reflexivity.
    + change (two_error h rho k + error_from h rho (S k) (S d) = expect D (fun x =>
        h (x, b x) - backup M (at_roots h) x (follow rho x (b x) (t x)))).
      rewrite A2. unfold two_error. rewrite E.
      rewrite <- expect_add. apply expect_equal. intros x q I. rewrite (F x q I).
      assert (N : node_error M trees h rho (x, b x) = h (x, b x) - h (x, b' x)).
      { destruct (B x q I) as [L _]. destruct (B' x q I) as [_ P'].
        unfold node_error, b', t', c in *. cbn [fst snd]. rewrite L.
        destruct (t x) as [a|s|l r]; simpl in P' |- *.
        - exfalso. exact (below_not_take _ _ _ L).
        - destruct s; simpl in P'; [contradiction|..]; reflexivity.
        - destruct (rho (x, b x)); [destruct r|destruct l]; simpl in P';
            try contradiction; reflexivity. }
      rewrite N. ring.
Qed.

(** From a single node the levels of its tree are single nodes of the same state. *)
Lemma stretch_alone rho x : forall d k b t, (1 <= k)%nat ->
  below (trees x) b = Some t -> deep t (S d) -> two_roll_in rho k = alone (x, b) ->
  (forall j, (k <= j < k + S d)%nat -> exists b', two_roll_in rho j = alone (x, b') /\
     below (trees x) b' <> None) /\
  two_roll_in rho (k + S d) = map (fun yr => (fst yr, (1 * snd yr)%Q))
    (roots (transition M x (follow rho x b t))).
Proof.
  induction d as [|d IH]; intros k b t K L P E.
  - assert (N : two_roll_in rho (S k) = map (fun yr => (fst yr, (1 * snd yr)%Q))
      (node_step rho (x, b))).
    { destruct k as [|k]; [lia|]. 
      change (two_roll_in rho (S (S k))) with
        (flat_map (fun zq => map (fun yr => (fst yr, (snd zq * snd yr)%Q))
                             (node_step rho (fst zq))) (two_roll_in rho (S k))).
      rewrite E. simpl. apply app_nil_r. }
    split.
    + intros j J. replace j with k by lia. exists b. split; [exact E|congruence].
    + replace (k + 1)%nat with (S k) by lia. rewrite N. unfold node_step. cbn [fst snd].
      rewrite L. destruct t as [a|s|l r]; simpl in P; [contradiction|..].
      * destruct s; simpl in P; try contradiction. reflexivity.
      * destruct P as [P1 P2]. destruct l; simpl in P1; try contradiction.
        destruct r; simpl in P2; try contradiction. simpl.
        destruct (rho (x, b)); reflexivity.
  - assert (exists b' t', two_roll_in rho (S k) = alone (x, b') /\
      below (trees x) b' = Some t' /\ deep t' (S d) /\
      follow rho x b' t' = follow rho x b t) as (b' & t' & E' & L' & P' & F).
    { assert (N : two_roll_in rho (S k) = map (fun yr => (fst yr, (1 * snd yr)%Q))
        (node_step rho (x, b))).
      { destruct k as [|k]; [lia|].
        change (two_roll_in rho (S (S k))) with
          (flat_map (fun zq => map (fun yr => (fst yr, (snd zq * snd yr)%Q))
                               (node_step rho (fst zq))) (two_roll_in rho (S k))).
        rewrite E. simpl. apply app_nil_r. }
      unfold node_step in N. cbn [fst snd] in N. rewrite L in N.
      destruct t as [a|s|l r]; simpl in P; [contradiction|..].
      - exists (b ++ [false]), s. rewrite below_step, L.
        destruct s; simpl in P |- *; [contradiction|..]; auto.
      - destruct P as [P1 P2]. exists (b ++ [rho (x, b)]), (if rho (x,
          b) then r else l).
        rewrite below_step, L. simpl. destruct (rho (x, b));
          [destruct r|destruct l]; simpl in *; try contradiction; auto. }
    destruct (IH (S k) b' t' ltac:(lia) L' P' E') as [A1 A2]. split.
    + intros j J. destruct (Nat.eq_dec j k) as [->|O]; [exists b; split;
        [exact E|congruence]|].
      apply A1. lia.
    + replace (k + S (S d))%nat with (S k + S d)%nat by lia. rewrite A2, F. reflexivity.
Qed.
End TwoRuns.
