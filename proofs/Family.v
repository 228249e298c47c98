(** The family of MDPs, and OLIVE's program over it.

    Source: Dann et al. (NeurIPS 2018), the proof that OLIVE is NP-hard to run;
    the constructions besides [paper] are the toolkit's own. Transitions and
    rewards are rationals, so that they compute; the functions g take values in
    the reals, so that no feasible function is left out. *)

From Coq Require Import List Bool ZArith QArith Qreals Reals.
From Olivine Require Import Formula.
Import ListNotations.
Open Scope R_scope.

(** ** States and actions *)

Inductive state :=
  | Start                             (* s0 *)
  | ClauseState (j : nat)             (* C_{j+1} *)
  | VariableState (i : nat)           (* X_{i+1}, not in [paper] *)
  | LiteralState (i : nat) (b : bool) (* x_{i+1}^b *)
  | Detour                            (* bottom2: level 2, pays nothing; [strict] *)
  | Bottom.                           (* level 3, pays nothing; [all_levels], [strict] *)

Inductive action :=
  | TryVariable (i : nat)
  | TryClause (j : nat)
  | Solve
  | Spell (b1 b2 b3 : bool)      (* at a clause state; 000 is not allowed *)
  | Quit                         (* at a clause state of [all_levels] *)
  | Go.                          (* everywhere else *)

(** ** Constructions: what sets the variants apart

    In [reduction/family/variants.py] these are the fields of a Declaration:
    variable_states, quit, reach (1/2 where [diluted]), rewards and ranges. *)

Record construction := Construction {
  layered : bool;          (* X_i stands between [try x_i] and the literals *)
  quits : bool;            (* clause states have [quit] *)
  diluted : bool;          (* [solve] misses the clause states half of the time *)
  variable_reward : Q;     (* of [try x_i] *)
  clause_reward : Q;       (* of [try C_j] *)
  solve_reward : Q;        (* of [solve] *)
  top : Q;                 (* of the rewarding literal state of each pair *)
  upper : state -> Q       (* g(x) ranges over [0, upper x] *)
}.

Definition unit_range (x : state) : Q := 1.

(** [paper]: literal states are met at level 2 by [try x_i], at 3 by clauses. *)
Definition paper (p : Q) : construction :=
  Construction false false false 0 (- p) 0 1 unit_range.

Definition normalized (p : Q) : construction :=
  Construction true false false p 0 p (1 - p) unit_range.

Definition gap : construction := normalized (1 # 4).

Definition all_levels (p : Q) : construction :=
  Construction true true false p 0 p (1 - p) unit_range.

Definition strict_range (x : state) : Q :=
  match x with
  | Start => 1
  | ClauseState _ | VariableState _ => 2 # 5
  | LiteralState _ _ => 1 # 10
  | Detour | Bottom => 0
  end.

Definition strict : construction :=
  Construction true false true (7 # 100) 0 (1 # 10) (1 # 10) strict_range.

(** ** Members of a family *)

Definition distribution := list (state * Q).

Record mdp := MDP {
  is_state : state -> bool;
  legal : state -> action -> bool;
  transition : state -> action -> distribution;  (* [nil]: the episode ends *)
  reward : state -> action -> Q
}.

Definition numbered (f : formula) : list (nat * weighted) :=
  combine (seq 0 (length f)) f.

(** o^1 is the literal's own state, o^0 that of its negation. *)
Definition literal_state (l : literal) (b : bool) : state :=
  LiteralState (variable l) (Bool.eqb (positive l) b).

Definition share (c : construction) : Q := if diluted c then 1 # 2 else 1.

Definition pair_of (i : nat) : distribution :=
  [(LiteralState i false, 1 # 2); (LiteralState i true, 1 # 2)].

Definition clause_transition (w : weighted) (b1 b2 b3 : bool) : distribution :=
  match body w with
  | [l1; l2; l3] =>
      [(literal_state l1 b1, 1 # 3); (literal_state l2 b2, 1 # 3);
       (literal_state l3 b3, 1 # 3)]
  | _ => []
  end.

Definition solve_transition (c : construction) (f : formula) : distribution :=
  (if diluted c then [(Detour, 1 # 2)] else []) ++
  map (fun jw => (ClauseState (fst jw),
                  share c * (weight (snd jw) # Z.to_pos (total_weight f)))%Q)
      (numbered f).

(** The member M_y of the family of [n] variables and the clauses [f]. *)
Definition member (c : construction) (n : nat) (f : formula) (y : assignment) : mdp :=
  {| is_state x :=
       match x with
       | Start => true
       | ClauseState j => j <? length f
       | VariableState i => layered c && (i <? n)
       | LiteralState i _ => i <? n
       | Detour => diluted c
       | Bottom => quits c || diluted c
       end%nat;
     legal x a :=
       match x, a with
       | Start, TryVariable i => i <? n
       | Start, TryClause j => j <? length f
       | Start, Solve => true
       | ClauseState _, Spell b1 b2 b3 => b1 || b2 || b3
       | ClauseState _, Quit => quits c
       | VariableState _, Go | LiteralState _ _, Go | Detour, Go | Bottom, Go => true
       | _, _ => false
       end%nat;
     transition x a :=
       match x, a with
       | Start, TryVariable i =>
           if layered c then [(VariableState i, 1%Q)] else pair_of i
       | Start, TryClause j => [(ClauseState j, 1%Q)]
       | Start, Solve => solve_transition c f
       | ClauseState j, Spell b1 b2 b3 =>
           match nth_error f j with
           | Some w => clause_transition w b1 b2 b3
           | None => []
           end
       | ClauseState _, Quit => [(Bottom, 1%Q)]
       | VariableState i, Go => pair_of i
       | Detour, Go => [(Bottom, 1%Q)]
       | _, _ => []
       end;
     reward x a :=
       match x, a with
       | Start, TryVariable _ => variable_reward c
       | Start, TryClause _ => clause_reward c
       | Start, Solve => solve_reward c
       | LiteralState i b, Go => if Bool.eqb b (y i) then top c else 0%Q
       | _, _ => 0%Q
       end |}.

(** What a 3-SAT form is, with positive weights. *)
Definition three_sat_form (n : nat) (f : formula) : Prop :=
  f <> [] /\ weights_positive f /\
  forall w, In w f ->
    length (body w) = 3%nat /\ forall l, In l (body w) -> (variable l < n)%nat.

(** ** OLIVE's program, with tolerance 0 first *)

Definition expect (d : distribution) (h : state -> R) : R :=
  fold_right (fun xq total => Q2R (snd xq) * h (fst xq) + total) 0 d.

(** Average Bellman error of (g, pi) under a distribution; g is 0 past the end. *)
Definition bellman_error (M : mdp) (g : state -> R) (pi : state -> action)
    (d : distribution) : R :=
  expect d (fun x =>
    g x - (Q2R (reward M x (pi x)) + expect (transition M x (pi x)) g)).

Definition in_range (c : construction) (M : mdp) (g : state -> R) : Prop :=
  forall x, is_state M x = true -> 0 <= g x <= Q2R (upper c x).

Definition is_policy (M : mdp) (pi : state -> action) : Prop :=
  forall x, is_state M x = true -> legal M x (pi x) = true.

Definition feasible (c : construction) (M : mdp) (constraints : list distribution)
    (g : state -> R) (pi : state -> action) : Prop :=
  in_range c M g /\ is_policy M pi /\
  forall d, In d constraints -> bellman_error M g pi d = 0.

(** What OLIVE maximises: [v] is the least upper bound of g(s0) over the feasible
    pairs, and attained. *)
Definition optimum (c : construction) (M : mdp) (constraints : list distribution)
    (v : R) : Prop :=
  (forall g pi, feasible c M constraints g pi -> g Start <= v) /\
  (exists g pi, feasible c M constraints g pi /\ g Start = v).

(** The same with a tolerance: what is bound holds up to [t]. *)
Definition feasible_within (t : R) (c : construction) (M : mdp)
    (constraints : list distribution) (g : state -> R) (pi : state -> action) : Prop :=
  in_range c M g /\ is_policy M pi /\
  forall d, In d constraints -> - t <= bellman_error M g pi d <= t.

Definition optimum_within (t : R) (c : construction) (M : mdp)
    (constraints : list distribution) (v : R) : Prop :=
  (forall g pi, feasible_within t c M constraints g pi -> g Start <= v) /\
  (exists g pi, feasible_within t c M constraints g pi /\ g Start = v).

Definition point (x : state) : distribution := [(x, 1%Q)].

(** The distributions of the hard program. None is over the literal states
    behind a clause: that would tell members of the family apart. *)
Definition hard_program (c : construction) (n : nat) (f : formula)
    : list distribution :=
  [point Start] ++ map (fun j => point (ClauseState j)) (seq 0 (length f)) ++
  (if layered c then map (fun i => point (VariableState i)) (seq 0 n) else []) ++
  map pair_of (seq 0 n) ++
  (if quits c then [point Bottom] else []).

(** ** Bellman errors of a run: roll in with the pair's own policy *)

(** The distribution of the state at level [h] (from 1) under a policy. *)
Fixpoint roll_in (M : mdp) (pi : state -> action) (h : nat) : distribution :=
  match h with
  | O => []
  | S O => point Start
  | S k =>
      flat_map (fun xq => map (fun yr => (fst yr, (snd xq * snd yr)%Q))
                              (transition M (fst xq) (pi (fst xq))))
               (roll_in M pi k)
  end.

Definition level_error (M : mdp) (g : state -> R) (pi : state -> action) (h : nat) : R :=
  bellman_error M g pi (roll_in M pi h).
