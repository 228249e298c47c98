(** The vertex argument: fractional truth values do no better than an assignment.

    For fixed clause actions the summed value of the clauses is linear in each
    truth value, so each can be moved to one of its ends. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals Lra Lia.
From Olivine Require Import Formula Family Sums.
Import ListNotations.
Open Scope R_scope.

(** ** Literal values as truth values in [0, 1] *)

Definition truth (z : nat -> R) (l : literal) (b : bool) : R :=
  if Bool.eqb (positive l) b then z (variable l) else 1 - z (variable l).

(** The value of a clause action, in units of the top. *)
Definition spelled (z : nat -> R) (w : weighted) (a : action) : R :=
  match a, body w with
  | Spell b1 b2 b3, [l1; l2; l3] => (truth z l1 b1 + truth z l2 b2 + truth z l3 b3) / 3
  | _, _ => 0
  end.

Definition spelled_sum (z : nat -> R) (f : formula) (choice : nat -> action) : R :=
  sum (fun jw => IZR (weight (snd jw)) * spelled z (snd jw) (choice (fst jw)))
      (numbered f).

Definition set (z : nat -> R) (i : nat) (x : R) : nat -> R :=
  fun k => if Nat.eqb k i then x else z k.

Definition vertex (a : assignment) : nat -> R := fun i => if a i then 1 else 0.

Lemma spelled_ext z z' w a : (forall i, z i = z' i) -> spelled z w a = spelled z' w a.
Proof.
  intros H. unfold spelled, truth. destruct a; auto.
  destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; auto. rewrite !H. reflexivity.
Qed.

Lemma truth_linear z i x l b :
  truth (set z i x) l b = (1 - x) * truth (set z i 0) l b + x * truth (set z i 1) l b.
Proof.
  unfold truth, set. destruct (Bool.eqb _ _), (Nat.eqb _ _); ring.
Qed.

Lemma spelled_linear z i x w a :
  spelled (set z i x) w a =
  (1 - x) * spelled (set z i 0) w a + x * spelled (set z i 1) w a.
Proof.
  unfold spelled. destruct a; try ring.
  destruct (body w) as [|l1 [|l2 [|l3 [|]]]]; try ring.
  rewrite !(truth_linear z i x). field.
Qed.

Lemma sum_linear z i x f choice :
  spelled_sum (set z i x) f choice =
  (1 - x) * spelled_sum (set z i 0) f choice + x * spelled_sum (set z i 1) f choice.
Proof.
  unfold spelled_sum. rewrite <- !sum_scale, <- sum_plus. apply sum_ext.
  intros jw _. rewrite (spelled_linear z i x). ring.
Qed.

(** Moving one coordinate after the other to its better end. *)
Lemma best_vertex f choice : forall k z,
  (forall i, 0 <= z i <= 1) ->
  (forall i, (k <= i)%nat -> z i = 0 \/ z i = 1) ->
  exists a, spelled_sum z f choice <= spelled_sum (vertex a) f choice.
Proof.
  induction k as [|k IH]; intros z U E.
  - exists (fun i => if Req_EM_T (z i) 1 then true else false).
    apply Req_le. unfold spelled_sum. apply sum_ext. intros jw _. f_equal.
    apply spelled_ext. intros i. unfold vertex.
    destruct (E i (Nat.le_0_l i)) as [H|H]; destruct (Req_EM_T (z i) 1); lra.
  - assert (V : forall x, x = 0 \/ x = 1 ->
      exists a, spelled_sum (set z k x) f choice <= spelled_sum (vertex a) f choice).
    { intros x Hx. apply IH; unfold set; intros i.
      - destruct (Nat.eqb i k); [lra|apply U].
      - intros Hi. destruct (Nat.eqb i k) eqn:N; [exact Hx|].
        apply E. apply Nat.eqb_neq in N. lia. }
    assert (Z : spelled_sum z f choice = spelled_sum (set z k (z k)) f choice).
    { unfold spelled_sum. apply sum_ext. intros jw _. f_equal. apply spelled_ext.
      intros i. unfold set. destruct (Nat.eqb i k) eqn:N; [|reflexivity].
      apply Nat.eqb_eq in N. subst. reflexivity. }
    rewrite Z, sum_linear. pose proof (U k).
    destruct (V 0 (or_introl eq_refl)) as [a Ha], (V 1 (or_intror eq_refl)) as [b Hb].
    destruct (Rle_dec (spelled_sum (set z k 0) f choice)
                      (spelled_sum (set z k 1) f choice)).
    + exists b. nra.
    + exists a. nra.
Qed.

(** At an assignment the truth values are what they should be. *)
Lemma truth_vertex a l b :
  truth (vertex a) l b = if Bool.eqb b (literal_true a l) then 1 else 0.
Proof.
  unfold truth, vertex, literal_true.
  destruct (positive l), b, (a (variable l)); simpl; lra.
Qed.

(** 000 is no action: a false clause gets at most two of its three literals. *)
Lemma spelled_vertex a w b1 b2 b3 : b1 || b2 || b3 = true ->
  spelled (vertex a) w (Spell b1 b2 b3) <=
  if clause_true a (body w) then 1 else 2 / 3.
Proof.
  intros B. unfold spelled. destruct (body w) as [|l1 [|l2 [|l3 [|]]]];
    try (destruct (clause_true a _); lra).
  rewrite !truth_vertex. simpl.
  destruct (literal_true a l1), (literal_true a l2), (literal_true a l3),
    b1, b2, b3; simpl in *; try discriminate; lra.
Qed.

(** So fractional truth values do no better than the best assignment. *)
Lemma best_assignment f choice n z : weights_positive f ->
  (forall i, 0 <= z i <= 1) -> (forall i, (n <= i)%nat -> z i = 0) ->
  (forall j w b1 b2 b3, nth_error f j = Some w ->
     choice j = Spell b1 b2 b3 -> b1 || b2 || b3 = true) ->
  exists a, spelled_sum z f choice <=
    IZR (total_weight f) - IZR (unsatisfied a f) / 3.
Proof.
  intros P U E B. destruct (best_vertex f choice n z U) as [a Ha].
  { intros i I. left. apply E, I. }
  exists a. apply (Rle_trans _ _ _ Ha). rewrite <- sum_satisfied.
  rewrite <- (sum_numbered (fun w => IZR (weight w) *
    (if clause_true a (body w) then 1 else 2 / 3)) f).
  unfold spelled_sum. apply sum_le. intros [j w] I. simpl.
  apply in_numbered in I. apply Rmult_le_compat_l.
  - apply IZR_le. pose proof (P w (nth_error_In _ _ I)). lia.
  - destruct (choice j) as [| | | b1 b2 b3 | |] eqn:S;
      try (simpl; destruct (clause_true a (body w)); lra).
    apply spelled_vertex, (B j w b1 b2 b3 I S).
Qed.
