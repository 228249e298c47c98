(** The least unsatisfied weight exists, and computes: try all assignments. *)

From Coq Require Import List Bool ZArith Lia.
From Olivine Require Import Formula.
Import ListNotations.
Open Scope Z_scope.

(** All truth values of the variables below [n], the others false. *)
Fixpoint assignments (n : nat) : list (list bool) :=
  match n with
  | O => [[]]
  | S k => flat_map (fun v => [false :: v; true :: v]) (assignments k)
  end.

Definition of_list (v : list bool) : assignment := fun i => nth i v false.

Definition minimum (l : list Z) (default : Z) : Z := fold_right Z.min default l.

Definition least (n : nat) (f : formula) : Z :=
  minimum (map (fun v => unsatisfied (of_list v) f) (assignments n)) (total_weight f).

Definition variables_below (n : nat) (f : formula) : Prop :=
  forall w l, In w f -> In l (body w) -> (variable l < n)%nat.

Lemma unsatisfied_ext n a b f : variables_below n f ->
  (forall i, (i < n)%nat -> a i = b i) -> unsatisfied a f = unsatisfied b f.
Proof.
  intros V E. induction f as [|w f IH]; simpl; [reflexivity|].
  rewrite IH by (intros v l Hv; apply V; right; exact Hv).
  replace (clause_true b (body w)) with (clause_true a (body w)); [reflexivity|].
  assert (B : forall l, In l (body w) -> (variable l < n)%nat)
    by (intros l; apply V; left; reflexivity).
  unfold clause_true. induction (body w) as [|l c IHc]; simpl; [reflexivity|].
  rewrite IHc by (intros k Hk; apply B; right; exact Hk).
  unfold literal_true. rewrite E by (apply B; left; reflexivity). reflexivity.
Qed.

Lemma listed n : forall a, exists v, In v (assignments n) /\
  forall i, (i < n)%nat -> of_list v i = a i.
Proof.
  induction n as [|n IH]; intros a.
  - exists []. simpl. split; [auto|]. intros; lia.
  - destruct (IH (fun i => a (S i))) as (v & I & E).
    exists (a O :: v). split.
    + simpl. apply in_flat_map. exists v. split; [exact I|].
      destruct (a O); simpl; auto.
    + intros [|i] H; [reflexivity|]. apply E. lia.
Qed.

Lemma minimum_le l d x : In x l -> minimum l d <= x.
Proof.
  induction l as [|y l IH]; simpl; [tauto|]. intros [->|H]; [lia|].
  specialize (IH H). lia.
Qed.

Lemma minimum_in l d : (exists x, In x l /\ x <= d) -> In (minimum l d) l.
Proof.
  intros (x & I & H). assert (M : In (minimum l d) l \/ minimum l d = d).
  { clear. induction l as [|y l IH]; simpl; [auto|].
    destruct (Z.min_spec y (minimum l d)) as [[_ ->]|[_ ->]]; tauto. }
  destruct M as [M|M]; [exact M|]. pose proof (minimum_le l d x I).
  replace (minimum l d) with x by lia. exact I.
Qed.

Lemma unsatisfied_at_most a f : weights_positive f -> unsatisfied a f <= total_weight f.
Proof.
  induction f as [|w f IH]; simpl; intros P; [lia|].
  pose proof (P w (or_introl eq_refl)).
  assert (unsatisfied a f <= total_weight f)
    by (apply IH; intros v Hv; apply P; right; exact Hv).
  destruct (clause_true a (body w)); lia.
Qed.

Theorem least_correct n f : weights_positive f -> variables_below n f ->
  least_unsatisfied f (least n f).
Proof.
  intros P V. unfold least. split.
  - set (l := map _ _). assert (I : In (minimum l (total_weight f)) l).
    { apply minimum_in. destruct (listed n (fun _ => false)) as (v & I & _).
      exists (unsatisfied (of_list v) f). split; [|apply unsatisfied_at_most, P].
      apply (in_map (fun v => unsatisfied (of_list v) f)), I. }
    apply in_map_iff in I as (v & E & _). eauto.
  - intros a. destruct (listed n a) as (v & I & E).
    rewrite <- (unsatisfied_ext n (of_list v) a f V E).
    apply minimum_le, (in_map (fun v => unsatisfied (of_list v) f)), I.
Qed.
