(** Clauses as DIMACS writes them, over signed numbers that compute quickly.

    The checker and the 3-SAT form work on these; [meaning] says which formula
    of Formula.v they stand for. Weights are positive by type. *)

From Coq Require Import List Bool ZArith PArith Lia.
From Olivine Require Import Formula.
Import ListNotations.
Open Scope Z_scope.

(** [positive] is a field of Formula.literal. *)
Notation number := BinNums.positive.

(** The literals [i] and [-i] of DIMACS. *)
Inductive signed := Plus (i : number) | Minus (i : number).

Record line := Line { cost : number; literals : list signed }.

Definition name (l : signed) : number := match l with Plus i | Minus i => i end.

Definition signed_eqb (k l : signed) : bool :=
  match k, l with
  | Plus i, Plus j | Minus i, Minus j => Pos.eqb i j
  | _, _ => false
  end.

Lemma signed_eqb_eq k l : signed_eqb k l = true <-> k = l.
Proof.
  destruct k, l; simpl; try rewrite Pos.eqb_eq; split; congruence.
Qed.

(** ** The formula that is meant *)

Definition literal_meant (l : signed) : literal :=
  match l with
  | Plus i => Literal (pred (Pos.to_nat i)) true
  | Minus i => Literal (pred (Pos.to_nat i)) false
  end.

Definition clause_meant (c : line) : weighted :=
  Weighted (Zpos (cost c)) (map literal_meant (literals c)).

Definition meaning (f : list line) : formula := map clause_meant f.

Lemma meaning_weights_positive f : weights_positive (meaning f).
Proof.
  intros w H. apply in_map_iff in H. destruct H as [c [<- _]]. simpl. lia.
Qed.

(** ** Truth values by number *)

Definition valuation := number -> bool.

Definition holds (v : valuation) (l : signed) : bool :=
  match l with Plus i => v i | Minus i => negb (v i) end.

Definition satisfied (v : valuation) (c : list signed) : bool := existsb (holds v) c.

Definition penalty_of (v : valuation) (c : line) : Z :=
  if satisfied v (literals c) then 0 else Zpos (cost c).

(** Total weight left unsatisfied. *)
Definition left_by (v : valuation) (f : list line) : Z :=
  fold_right (fun c total => penalty_of v c + total) 0 f.

Definition by_number (a : assignment) : valuation := fun i => a (pred (Pos.to_nat i)).
Definition by_index (v : valuation) : assignment := fun k => v (Pos.of_nat (S k)).

Lemma holds_by_number a l : holds (by_number a) l = literal_true a (literal_meant l).
Proof.
  destruct l; unfold literal_true; simpl; unfold by_number; destruct (a _); easy.
Qed.

Lemma holds_by_index v l : literal_true (by_index v) (literal_meant l) = holds v l.
Proof.
  assert (E : forall i, Pos.of_nat (S (pred (Pos.to_nat i))) = i).
  { intros i. pose proof (Pos2Nat.is_pos i).
    replace (S (pred (Pos.to_nat i))) with (Pos.to_nat i) by lia. apply Pos2Nat.id. }
  destruct l; unfold literal_true, by_index; cbn [literal_meant variable positive holds];
    rewrite E; destruct (v i); easy.
Qed.

Lemma existsb_map_ext A B (f : A -> B) (p : B -> bool) (q : A -> bool) l :
  (forall x, p (f x) = q x) -> existsb p (map f l) = existsb q l.
Proof.
  intros H. induction l; simpl; [easy|]. now rewrite H, IHl.
Qed.

Lemma left_by_number a f : left_by (by_number a) f = unsatisfied a (meaning f).
Proof.
  induction f as [|c f IH]; simpl; [easy|]. rewrite <- IH.
  unfold penalty_of, satisfied, clause_true.
  rewrite (existsb_map_ext _ _ literal_meant (literal_true a) (holds (by_number a))); [easy|].
  intros l. now rewrite holds_by_number.
Qed.

Lemma left_by_index v f : unsatisfied (by_index v) (meaning f) = left_by v f.
Proof.
  induction f as [|c f IH]; simpl; [easy|]. rewrite <- IH.
  unfold penalty_of, satisfied, clause_true.
  now rewrite (existsb_map_ext _ _ literal_meant _ _ _ (holds_by_index v)).
Qed.

Lemma left_by_app v f g : left_by v (f ++ g) = left_by v f + left_by v g.
Proof.
  induction f as [|c f IH]; simpl; [easy|]. rewrite IH. ring.
Qed.

Lemma left_by_nonnegative v f : 0 <= left_by v f.
Proof.
  induction f as [|c f IH]; simpl; [easy|].
  unfold penalty_of. destruct (satisfied _ _); lia.
Qed.

(** Least weights, told over valuations. *)
Lemma least_by_valuation f u :
  least_unsatisfied (meaning f) u <->
  (exists v, left_by v f = u) /\ (forall v, u <= left_by v f).
Proof.
  split; intros [[x Hx] Hall]; split.
  - exists (by_number x). now rewrite left_by_number.
  - intros v. rewrite <- left_by_index. apply Hall.
  - exists (by_index x). now rewrite left_by_index.
  - intros a. rewrite <- left_by_number. apply Hall.
Qed.

(** ** Which variables occur *)

Definition clause_below (b : number) (c : list signed) : Prop :=
  forall l, In l c -> (name l < b)%positive.

Definition below (b : number) (f : list line) : Prop :=
  forall c, In c f -> clause_below b (literals c).

Definition agree (b : number) (v w : valuation) : Prop :=
  forall i, (i < b)%positive -> v i = w i.

Lemma holds_agree b v w l : agree b v w -> (name l < b)%positive -> holds v l = holds w l.
Proof. intros H Hl. destruct l; simpl in *; now rewrite H. Qed.

Lemma satisfied_agree b v w c :
  agree b v w -> clause_below b c -> satisfied v c = satisfied w c.
Proof.
  intros H Hc. unfold satisfied. induction c as [|l c IH]; simpl; [easy|].
  rewrite (holds_agree b v w l H); [|apply Hc; now left].
  rewrite IH; [easy|]. intros k Hk. apply Hc. now right.
Qed.

Lemma left_by_agree b v w f : agree b v w -> below b f -> left_by v f = left_by w f.
Proof.
  intros H Hf. induction f as [|c f IH]; simpl; [easy|].
  unfold penalty_of. rewrite (satisfied_agree b v w _ H); [|apply Hf; now left].
  rewrite IH; [easy|]. intros d Hd. apply Hf. now right.
Qed.

Lemma agree_weaken b b' v w : (b <= b')%positive -> agree b' v w -> agree b v w.
Proof. intros Hb H i Hi. apply H. lia. Qed.

Lemma agree_trans b v w x : agree b v w -> agree b w x -> agree b v x.
Proof. intros H K i Hi. now rewrite H, K. Qed.

Lemma clause_below_weaken b b' c : (b <= b')%positive -> clause_below b c -> clause_below b' c.
Proof. intros Hb H l Hl. specialize (H l Hl). lia. Qed.

Lemma below_weaken b b' f : (b <= b')%positive -> below b f -> below b' f.
Proof. intros Hb H c Hc. apply (clause_below_weaken b); auto. Qed.

Lemma below_app b f g : below b f -> below b g -> below b (f ++ g).
Proof. intros Hf Hg c Hc. apply in_app_or in Hc. destruct Hc; auto. Qed.

Definition updated (v : valuation) (i : number) (b : bool) : valuation :=
  fun j => if Pos.eqb j i then b else v j.

Lemma updated_agree v i b : agree i (updated v i b) v.
Proof.
  intros j Hj. unfold updated. destruct (Pos.eqb_spec j i); [lia|easy].
Qed.

Lemma updated_at v i b : updated v i b i = b.
Proof. unfold updated. now rewrite Pos.eqb_refl. Qed.

(** Whether all clauses are below a number, by computation. *)
Definition is_below (b : number) (f : list line) : bool :=
  forallb (fun c => forallb (fun l => Pos.ltb (name l) b) (literals c)) f.

Lemma is_below_true b f : is_below b f = true -> below b f.
Proof.
  unfold is_below, below, clause_below. rewrite forallb_forall. intros H c Hc l Hl.
  specialize (H c Hc). rewrite forallb_forall in H. specialize (H l Hl).
  now apply Pos.ltb_lt.
Qed.
