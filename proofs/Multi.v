(** The deterministic multi-data-set oracle decides 3-SAT.

    Observations are the variables and the actions their truth values, so that a
    policy is an assignment. Each clause is a data set: an example for each of
    its literals, of cost 1 for the value that falsifies it, with the limit 2/3.
    Source: the toolkit's erratum on the paper's appendix "Additional oracles". *)

From Coq Require Import List Bool ZArith QArith Lia Lqa.
From Olivine Require Import Formula.
Import ListNotations.
Open Scope Q_scope.

(** ** The oracle's problem *)

(** An example: the observation, and the cost of each action. *)
Record example := Example { seen : nat; cost_of : bool -> Q }.

Definition policy := nat -> bool.

Record data_set := DataSet { examples : list example; within : Q }.

Definition sum (values : list Q) : Q := fold_right Qplus 0 values.

Definition mean (values : list Q) : Q := sum values / inject_Z (Z.of_nat (length values)).

Definition average_cost (q : policy) (d : data_set) : Q :=
  mean (map (fun e => cost_of e (q (seen e))) (examples d)).

(** Whether one policy keeps every limit, up to [tolerance]. *)
Definition feasible (tolerance : Q) (sets : list data_set) : Prop :=
  exists q, forall d, In d sets -> average_cost q d <= within d + tolerance.

(** ** The reduction *)

Definition falsified (l : literal) (b : bool) : Q :=
  if Bool.eqb b (positive l) then 0 else 1.

Definition data_set_of (w : weighted) : data_set :=
  DataSet (map (fun l => Example (variable l) (falsified l)) (body w)) (2 # 3).

Definition sets_of (f : formula) : list data_set := map data_set_of f.

(** ** Proof *)

Lemma cost_of_literal (a : assignment) l :
  falsified l (a (variable l)) = if literal_true a l then 0 else 1.
Proof. reflexivity. Qed.

(** A satisfied clause costs at most 2/3, any other 1. *)
Lemma cost_of_clause (a : assignment) w :
  length (body w) = 3%nat ->
  (clause_true a (body w) = true -> average_cost a (data_set_of w) <= 2 # 3) /\
  (clause_true a (body w) = false -> average_cost a (data_set_of w) == 1).
Proof.
  destruct w as [k c]. simpl body.
  destruct c as [|l1 [|l2 [|l3 [|l4 c]]]]; try discriminate. intros _.
  unfold average_cost, mean, sum, data_set_of, clause_true. simpl.
  rewrite !cost_of_literal.
  destruct (literal_true a l1), (literal_true a l2), (literal_true a l3);
    simpl; split; intros H; try discriminate; unfold Qle, Qeq; simpl; lia.
Qed.

Definition three_literals (f : formula) : Prop :=
  forall w, In w f -> length (body w) = 3%nat.

(** A satisfying assignment, as a policy, keeps every limit; and a policy that
    exceeds none by 1/3 or more satisfies every clause. *)
Theorem policy_feasible f a tolerance :
  three_literals f -> 0 <= tolerance -> tolerance < 1 # 3 ->
  ((forall d, In d (sets_of f) -> average_cost a d <= within d + tolerance) <->
   (forall w, In w f -> clause_true a (body w) = true)).
Proof.
  intros T N L. split.
  - intros H w Hw. destruct (clause_true a (body w)) eqn:E; [easy|].
    destruct (cost_of_clause a w (T w Hw)) as [_ C]. specialize (C E).
    assert (D : In (data_set_of w) (sets_of f)) by now apply in_map.
    specialize (H _ D). simpl within in H. lra.
  - intros H d Hd. apply in_map_iff in Hd. destruct Hd as [w [<- Hw]].
    destruct (cost_of_clause a w (T w Hw)) as [C _]. specialize (C (H w Hw)).
    simpl within. lra.
Qed.

(** The deterministic oracle's problem is feasible exactly if the formula is
    satisfiable. *)
Theorem multi_decides_three_sat f tolerance :
  three_literals f -> 0 <= tolerance -> tolerance < 1 # 3 ->
  (feasible tolerance (sets_of f) <-> satisfiable f).
Proof.
  intros T N L. split; intros [a H]; exists a; now apply (policy_feasible f a tolerance).
Qed.

(** The size: as many data sets as clauses, three examples each. *)
Theorem multi_size f :
  three_literals f ->
  length (sets_of f) = length f /\
  forall d, In d (sets_of f) -> length (examples d) = 3%nat.
Proof.
  intros T. split; [apply map_length|].
  intros d Hd. apply in_map_iff in Hd. destruct Hd as [w [<- Hw]].
  simpl. rewrite map_length. auto.
Qed.

(** ** Mixtures tell nothing: a policy and its complement, half each *)

Definition complement (q : policy) : policy := fun i => negb (q i).

Theorem mixture_feasible f q :
  three_literals f ->
  forall d, In d (sets_of f) ->
  (1 # 2) * average_cost q d + (1 # 2) * average_cost (complement q) d == 1 # 2.
Proof.
  intros T d Hd. apply in_map_iff in Hd. destruct Hd as [w [<- Hw]].
  specialize (T w Hw). destruct w as [k c]. simpl body in T.
  destruct c as [|l1 [|l2 [|l3 [|l4 c]]]]; try discriminate.
  unfold average_cost, mean, sum, complement, falsified. simpl.
  unfold falsified.
  destruct (positive l1), (positive l2), (positive l3),
    (q (variable l1)), (q (variable l2)), (q (variable l3)); reflexivity.
Qed.
