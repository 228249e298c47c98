(** The bridge to Python: compares what [reduction/] exports with what is
    defined here, by computation: transitions, rewards, ranges of g, constraints
    and the optimum. The optimum that is compared is proved to be
    the least upper bound; states are numbered as in [reduction/family/layout.py]. *)

From Coq Require Import List Bool ZArith QArith Qreals Qminmax Reals Lra Lia.
From Olivine Require Import Formula Family Sums Vertex Optimum Optima Brute.
Import ListNotations.
Open Scope Q_scope.

(** ** The optimum, computed *)

Definition computed_optimum (c : construction) (n : nat) (f : formula) : Q :=
  Qmax (solve_reward c +
        share c * top c *
          (1 - (least n f # 1) * (1 # Z.to_pos (3 * total_weight f))))
       (clause_reward c + top c).

Lemma Q2R_max p q : Q2R (Qmax p q) = Rmax (Q2R p) (Q2R q).
Proof.
  destruct (Qlt_le_dec p q) as [H|H].
  - apply Qlt_le_weak in H. rewrite (Qeq_eqR _ _ (Q.max_r p q H)).
    symmetry. apply Rmax_right, Qle_Rle, H.
  - rewrite (Qeq_eqR _ _ (Q.max_l p q H)).
    symmetry. apply Rmax_left, Qle_Rle, H.
Qed.

Theorem computed_optimum_correct c n f y : sound c -> three_sat_form n f ->
  hard_optimum c n f y (Q2R (computed_optimum c n f)).
Proof.
  intros C T.
  pose proof (optimum_general c n f y C T _ (least_exists n f T)) as O.
  unfold computed_optimum. rewrite Q2R_max, !Q2R_plus, !Q2R_mult, Q2R_minus, Q2R_1.
  rewrite Q2R_mult.
  assert (W : (0 < total_weight f)%Z) by (apply (total_above_0 n f T)).
  replace (Q2R (least n f # 1) * Q2R (1 # Z.to_pos (3 * total_weight f)))%R
    with (IZR (least n f) / (3 * IZR (total_weight f)))%R.
  - exact O.
  - unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id by lia.
    rewrite mult_IZR. unfold Rdiv. rewrite Rinv_1. ring.
Qed.

(** ** Numbers of the states and the order of the actions *)

Definition state_number (c : construction) (n m : nat) (x : state) : Z :=
  let first := (1 + Z.of_nat m + (if layered c then Z.of_nat n else 0))%Z in
  match x with
  | Start => 0
  | ClauseState j => 1 + Z.of_nat j
  | VariableState i => 1 + Z.of_nat m + Z.of_nat i
  | LiteralState i b => first + 2 * Z.of_nat i + (if b then 1 else 0)
  | Bottom => first + 2 * Z.of_nat n
  | Detour => first + 2 * Z.of_nat n + 1
  end%Z.

Definition spellings : list action :=
  [Spell false false true; Spell false true false; Spell false true true;
   Spell true false false; Spell true false true; Spell true true false;
   Spell true true true].

(** In the order of their numbers. *)
Definition state_list (c : construction) (n m : nat) : list state :=
  [Start] ++ map ClauseState (seq 0 m) ++
  (if layered c then map VariableState (seq 0 n) else []) ++
  flat_map (fun i => [LiteralState i false; LiteralState i true]) (seq 0 n) ++
  (if quits c || diluted c then [Bottom] else []) ++
  (if diluted c then [Detour] else []).

Definition actions_at (c : construction) (n m : nat) (x : state) : list action :=
  match x with
  | Start => map TryVariable (seq 0 n) ++ map TryClause (seq 0 m) ++ [Solve]
  | ClauseState _ => spellings ++ if quits c then [Quit] else []
  | _ => [Go]
  end.

Definition action_list (c : construction) (n m : nat) : list (state * action) :=
  flat_map (fun x => map (pair x) (actions_at c n m x)) (state_list c n m).

(** ** Comparisons *)

Definition chance (number : state -> Z) (d : distribution) (k : Z) : Q :=
  fold_right (fun xq total =>
    if Z.eqb (number (fst xq)) k then snd xq + total else total) 0 d.

Definition mass (d : distribution) : Q :=
  fold_right (fun xq total => snd xq + total) 0 d.

(** A row is a denominator, then a target and a numerator for each successor. *)
Fixpoint successors_agree (number : state -> Z) (d : distribution) (den : BinNums.positive)
    (row : list Z) (listed : Q) : bool :=
  match row with
  | [] => Qeq_bool listed (mass d)
  | k :: num :: rest =>
      Qeq_bool (chance number d k) (num # den) &&
      successors_agree number d den rest (listed + (num # den))
  | _ => false
  end.

Definition row_agrees (number : state -> Z) (d : distribution) (row : list Z) : bool :=
  match row with
  | den :: rest => successors_agree number d (Z.to_pos den) rest 0
  | [] => false
  end.

Fixpoint all2 {A B : Type} (p : A -> B -> bool) (l : list A) (k : list B) : bool :=
  match l, k with
  | [], [] => true
  | x :: l, z :: k => p x z && all2 p l k
  | _, _ => false
  end.

(** What Python exports of the family of one formula. *)
Record exported := Exported {
  transitions : list (list Z);                  (* a row an action *)
  rewards : list (list bool * list (Z * Z));    (* for each y, one an action *)
  ranges : list (Z * Z);                        (* upper ends, one a state *)
  constraints : list (list Z);                  (* a row a distribution, in any order *)
  best : Z * Z                                  (* the optimum *)
}.

Definition ratio (r : Z * Z) : Q := fst r # Z.to_pos (snd r).

Definition agrees (c : construction) (n : nat) (f : formula) (e : exported) : bool :=
  let m := length f in
  let actions := action_list c n m in
  let M y := member c n f y in
  let states := state_list c n m in
  let number := state_number c n m in
  let hard := hard_program c n f in
  all2 (fun xa row => row_agrees number
          (transition (M (fun _ => false)) (fst xa) (snd xa)) row)
       actions (transitions e) &&
  forallb (fun yr =>
    all2 (fun xa r => Qeq_bool (reward (M (of_list (fst yr))) (fst xa) (snd xa)) (ratio r))
         actions (snd yr)) (rewards e) &&
  all2 (fun x k => Z.eqb (number x) (Z.of_nat k)) states (seq 0 (length states)) &&
  forallb (is_state (M (fun _ => false))) states &&
  all2 (fun x r => Qeq_bool (upper c x) (ratio r)) states (ranges e) &&
  Nat.eqb (length hard) (length (constraints e)) &&
  forallb (fun row => existsb (fun d => row_agrees number d row) hard) (constraints e) &&
  forallb (fun d => existsb (row_agrees number d) (constraints e)) hard &&
  forallb (fun xa => legal (M (fun _ => false)) (fst xa) (snd xa)) actions &&
  Qeq_bool (computed_optimum c n f) (ratio (best e)).

(** The numbers of the cases that do not agree. *)
Definition disagreements (cases : list bool) : list nat :=
  map fst (filter (fun kb => negb (snd kb)) (combine (seq 0 (length cases)) cases)).

(** A formula as Python writes it: signed literals from 1. *)
Definition signed (w : Z) (literals : list Z) : weighted :=
  Weighted w (map (fun l => Literal (Z.to_nat (Z.abs l) - 1) (0 <? l)%Z) literals).
