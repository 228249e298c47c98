(** Sums over lists, expectations, and the numbered clauses of a formula. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family.
Import ListNotations.
Open Scope R_scope.

Definition sum {A : Type} (h : A -> R) (l : list A) : R :=
  fold_right (fun x total => h x + total) 0 l.

Section Sums.
Context {A : Type}.
Implicit Types (h k : A -> R) (l : list A).

Lemma sum_le h k l : (forall x, In x l -> h x <= k x) -> sum h l <= sum k l.
Proof.
  induction l as [|x l IH]; simpl; intros H; [lra|].
  pose proof (H x (or_introl eq_refl)).
  assert (sum h l <= sum k l) by (apply IH; intros; apply H; auto). lra.
Qed.

Lemma sum_ext h k l : (forall x, In x l -> h x = k x) -> sum h l = sum k l.
Proof. intros H; apply Rle_antisym; apply sum_le; intros x Hx; rewrite H; auto; lra. Qed.

Lemma sum_scale (q : R) h l : sum (fun x => q * h x) l = q * sum h l.
Proof. induction l as [|x l IH]; simpl; [lra|]. rewrite IH; ring. Qed.

Lemma sum_plus h k l : sum (fun x => h x + k x) l = sum h l + sum k l.
Proof. induction l as [|x l IH]; simpl; [lra|]. rewrite IH; ring. Qed.
End Sums.

Lemma sum_map {A B : Type} (t : A -> B) (h : B -> R) l :
  sum h (map t l) = sum (fun x => h (t x)) l.
Proof. induction l as [|x l IH]; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma expect_app d e h : expect (d ++ e) h = expect d h + expect e h.
Proof.
  unfold expect. induction d as [|x d IH]; simpl; [lra|]. rewrite IH; ring.
Qed.

(** Turns the rationals of the definitions into reals for [lra]. *)
Ltac rationals := repeat rewrite ?Q2R_plus, ?Q2R_minus, ?Q2R_opp, ?Q2R_mult in *;
  unfold Q2R in *; simpl in *.

Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_third : Q2R (1 # 3) = 1 / 3.
Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_half : Q2R (1 # 2) = 1 / 2.
Proof. unfold Q2R; simpl; lra. Qed.

(** ** Numbered clauses *)

Lemma in_numbered_from (f : formula) : forall s j w,
  In (j, w) (combine (seq s (length f)) f) <->
  (s <= j)%nat /\ nth_error f (j - s) = Some w.
Proof.
  induction f as [|v f IH]; simpl; intros s j w.
  - split; [tauto|]. intros [_ H]. destruct (j - s)%nat; discriminate.
  - rewrite IH. split.
    + intros [E|[H1 H2]].
      * injection E as -> ->. rewrite Nat.sub_diag. split; [lia|reflexivity].
      * split; [lia|]. replace (j - s)%nat with (S (j - S s)) by lia. exact H2.
    + intros [H1 H2]. destruct (Nat.eq_dec j s) as [->|N].
      * rewrite Nat.sub_diag in H2. injection H2 as ->. auto.
      * right. split; [lia|].
        replace (j - s)%nat with (S (j - S s)) in H2 by lia. exact H2.
Qed.

Lemma in_numbered (f : formula) j w : In (j, w) (numbered f) <-> nth_error f j = Some w.
Proof.
  unfold numbered. rewrite in_numbered_from, Nat.sub_0_r.
  split; [tauto|]. split; [lia|assumption].
Qed.

Lemma nth_error_below (f : formula) j :
  (j < length f)%nat -> exists w, nth_error f j = Some w.
Proof.
  intros H. destruct (nth_error f j) as [w|] eqn:E; [eauto|].
  apply nth_error_None in E. lia.
Qed.

Lemma sum_numbered (h : weighted -> R) f :
  sum (fun jw => h (snd jw)) (numbered f) = sum h f.
Proof.
  unfold numbered. generalize 0%nat as s.
  induction f as [|w f IH]; simpl; intros s; [|rewrite IH]; reflexivity.
Qed.

(** ** Weights *)

Lemma total_positive f :
  f <> [] -> weights_positive f -> (0 < total_weight f)%Z.
Proof.
  assert (N : forall f, weights_positive f -> (0 <= total_weight f)%Z).
  { induction f0 as [|w f0 IH]; simpl; intros P; [lia|].
    pose proof (P w (or_introl eq_refl)).
    assert (0 <= total_weight f0)%Z by (apply IH; intros v Hv; apply P; right; auto).
    lia. }
  destruct f as [|w f]; [congruence|]. intros _ P. simpl.
  pose proof (P w (or_introl eq_refl)).
  pose proof (N f (fun v Hv => P v (or_intror Hv))). lia.
Qed.

Lemma sum_weights f b :
  sum (fun jw => IZR (weight (snd jw)) * b) (numbered f) = IZR (total_weight f) * b.
Proof.
  rewrite (sum_numbered (fun w => IZR (weight w) * b)).
  induction f as [|w f IH]; simpl; [lra|]. rewrite plus_IZR, IH. ring.
Qed.

(** Twice the shortfall, summed by weight, is the weight left unsatisfied. *)
Lemma sum_satisfied a f :
  sum (fun w => IZR (weight w) * (if clause_true a (body w) then 1 else 2 / 3)) f =
  IZR (total_weight f) - IZR (unsatisfied a f) / 3.
Proof.
  induction f as [|w f IH]; simpl; [lra|].
  rewrite IH, !plus_IZR. destruct (clause_true a (body w)); lra.
Qed.

Lemma unsatisfied_nonnegative a f :
  weights_positive f -> (0 <= unsatisfied a f)%Z.
Proof.
  induction f as [|w f IH]; simpl; intros P; [lia|].
  pose proof (P w (or_introl eq_refl)).
  assert (0 <= unsatisfied a f)%Z by (apply IH; intros v Hv; apply P; right; auto).
  destruct (clause_true a (body w)); lia.
Qed.

(** An assignment or its complement satisfies each clause that is not empty. *)
Lemma least_at_most_half f u :
  weights_positive f -> (forall w, In w f -> body w <> []) ->
  least_unsatisfied f u -> (2 * u <= total_weight f)%Z.
Proof.
  intros P B [_ L].
  set (a := fun _ : nat => true). set (b := fun _ : nat => false).
  assert (unsatisfied a f + unsatisfied b f <= total_weight f)%Z.
  { clear L. induction f as [|w f IH]; simpl; [lia|].
    assert (unsatisfied a f + unsatisfied b f <= total_weight f)%Z.
    { apply IH; intros v Hv; [apply P|apply B]; right; auto. }
    pose proof (P w (or_introl eq_refl)). pose proof (B w (or_introl eq_refl)) as N.
    destruct w as [k [|l c]]; simpl in N, H0; [congruence|]. simpl weight; simpl body.
    cbn [unsatisfied fold_right total_weight].
    fold (unsatisfied a f) (unsatisfied b f) (total_weight f).
    destruct (positive l) eqn:S.
    - assert (E : clause_true a (l :: c) = true)
        by (simpl; unfold literal_true at 1, a; rewrite S; reflexivity).
      rewrite E. destruct (clause_true b (l :: c)); lia.
    - assert (E : clause_true b (l :: c) = true)
        by (simpl; unfold literal_true at 1, b; rewrite S; reflexivity).
      rewrite E. destruct (clause_true a (l :: c)); lia. }
  pose proof (L a); pose proof (L b). lia.
Qed.

(** No clause is left unsatisfied exactly if none of its weight is. *)
Lemma satisfiable_iff f u :
  weights_positive f -> least_unsatisfied f u -> (satisfiable f <-> u = 0%Z).
Proof.
  intros P [[a Ha] L].
  assert (Z0 : forall a, (forall w, In w f -> clause_true a (body w) = true) <->
                         unsatisfied a f = 0%Z).
  { clear L Ha a u. intros a. induction f as [|w f IH]; simpl; [intuition|].
    assert (P' : weights_positive f) by (intros v Hv; apply P; right; auto).
    pose proof (P w (or_introl eq_refl)). pose proof (unsatisfied_nonnegative a f P').
    specialize (IH P'). split.
    - intros S. rewrite (S w (or_introl eq_refl)).
      rewrite (proj1 IH); [lia|]. intros v Hv; apply S; auto.
    - intros E. destruct (clause_true a (body w)) eqn:T; [|lia].
      intros v [<-|Hv]; [exact T|]. apply (proj2 IH); [lia|exact Hv]. }
  split.
  - intros [b Hb]. apply Z0 in Hb. pose proof (L b).
    pose proof (unsatisfied_nonnegative a f P). lia.
  - intros ->. exists a. apply Z0, Ha.
Qed.

(** ** Distributions *)

(** Masses are not negative, sum up to 1 at most, and all lie on [P]. *)
Definition spread (P : state -> Prop) (d : distribution) : Prop :=
  (forall x q, In (x, q) d -> 0 <= Q2R q /\ P x) /\ expect d (fun _ => 1) <= 1.

Lemma spread_point (P : state -> Prop) x : P x -> spread P (point x).
Proof.
  intros H. split.
  - intros z q [E|[]]. injection E as <- <-. rewrite Q2R_1. split; [lra|exact H].
  - simpl. rewrite Q2R_1. lra.
Qed.

Lemma expect_between P d h low high : spread P d -> low <= 0 -> 0 <= high ->
  (forall x, P x -> low <= h x <= high) -> low <= expect d h <= high.
Proof.
  intros [S B] L0 H0 R.
  assert (K : low * expect d (fun _ => 1) <= expect d h <= high * expect d (fun _ => 1)
              /\ 0 <= expect d (fun _ => 1)).
  { clear B. unfold expect. induction d as [|[x q] d IH]; simpl; [lra|].
    destruct IH as [[A C] E]; [intros z r I; apply (S z r); right; exact I|].
    destruct (S x q (or_introl eq_refl)) as [Q Px]. destruct (R x Px) as [Rl Rh].
    pose proof (Rmult_le_compat_l _ _ _ Q Rl). pose proof (Rmult_le_compat_l _ _ _ Q Rh).
    split; [split|]; nra. }
  destruct K as [[A C] E]. split; nra.
Qed.

Lemma expect_point x h : expect (point x) h = h x.
Proof. simpl. rewrite Q2R_1. ring. Qed.

(** A step further is an expectation over the states before it. *)
Lemma roll_in_next M pi k h : (1 <= k)%nat ->
  expect (roll_in M pi (S k)) h =
  expect (roll_in M pi k) (fun x => expect (transition M x (pi x)) h).
Proof.
  intros K. destruct k as [|k]; [lia|].
  change (roll_in M pi (S (S k))) with
    (flat_map (fun xq => map (fun yr => (fst yr, (snd xq * snd yr)%Q))
                             (transition M (fst xq) (pi (fst xq))))
              (roll_in M pi (S k))).
  generalize (roll_in M pi (S k)) as d. clear K k.
  induction d as [|[x q] d IH]; [reflexivity|].
  change (flat_map ?t ((x, q) :: d)) with (t (x, q) ++ flat_map t d).
  rewrite expect_app, IH.
  change (expect ((x, q) :: d) ?k) with (Q2R q * k x + expect d k).
  apply Rplus_eq_compat_r. cbn [fst snd].
  induction (transition M x (pi x)) as [|[z r] e IHe]; unfold expect in *; cbn.
  - ring.
  - rewrite IHe, Q2R_mult. ring.
Qed.
