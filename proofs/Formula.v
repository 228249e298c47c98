(** Formulas: literals, clauses, weights and the least weight left unsatisfied. *)

From Coq Require Import List Bool ZArith Lia.
Import ListNotations.
Open Scope Z_scope.

(** Variables are numbered from 0; DIMACS's variable [i + 1] is [i] here. *)
Record literal := Literal { variable : nat; positive : bool }.

Definition assignment := nat -> bool.

Definition literal_true (a : assignment) (l : literal) : bool :=
  Bool.eqb (a (variable l)) (positive l).

Definition clause := list literal.

Definition clause_true (a : assignment) (c : clause) : bool :=
  existsb (literal_true a) c.

(** A formula is a multiset of clauses, each with a weight. *)
Record weighted := Weighted { weight : Z; body : clause }.

Definition formula := list weighted.

Definition weights_positive (f : formula) : Prop :=
  forall w, In w f -> 1 <= weight w.

(** Total weight of the clauses that the assignment leaves unsatisfied. *)
Definition unsatisfied (a : assignment) (f : formula) : Z :=
  fold_right
    (fun w total => (if clause_true a (body w) then 0 else weight w) + total) 0 f.

Definition total_weight (f : formula) : Z :=
  fold_right (fun w total => weight w + total) 0 f.

(** [u] is the least weight of unsatisfied clauses. *)
Definition least_unsatisfied (f : formula) (u : Z) : Prop :=
  (exists a, unsatisfied a f = u) /\ (forall a, u <= unsatisfied a f).

Definition satisfiable (f : formula) : Prop :=
  exists a, forall w, In w f -> clause_true a (body w) = true.
