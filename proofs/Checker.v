(** The checker of certificates: what it computes, and that what it accepts is true.

    [accepts] judges the claims of a certificate (docs/certificate.md) about a
    formula. It takes the hints for the proof from a function that nothing is
    assumed of. Reading files, comparing digests and the given pair (g, pi) with
    the one due is left to the driver, checker/driver.ml. *)

From Coq Require Import List Bool ZArith QArith Qminmax PArith NArith FMapPositive Lia Lqa.
From Olivine Require Import Formula Dimacs ThreeSat CheckerBound CheckerProof.
Import ListNotations.
Open Scope Z_scope.

Inductive variant := Paper | Normalized | Gap | AllLevels | Strict.

Record claims := Claims {
  about : variant;
  penalty : Q;
  claimed_satisfiable : bool;
  at_least : Z;
  at_most : Z;
  claimed_optimum : Q
}.

Definition penalty_allowed (k : variant) (p : Q) : bool :=
  (negb (Qle_bool p 0)) &&
  match k with
  | Paper => Qle_bool p 1
  | Gap => Qeq_bool p (1 # 4)
  | Strict => Qeq_bool p (1 # 20)
  | _ => negb (Qle_bool 1 p)
  end.

(** The value of the rewarding literal state of a pair. *)
Definition literal_top (k : variant) (p : Q) : Q :=
  match k with Paper => 1 | Strict => 1 # 10 | _ => 1 - p end%Q.

(** The rewards of s0's actions. *)
Definition solve_pays (k : variant) (p : Q) : Q :=
  match k with Paper => 0 | Strict => 1 # 10 | _ => p end%Q.

Definition try_variable_pays (k : variant) (p : Q) : Q :=
  match k with Paper => 0 | Strict => 7 # 100 | _ => p end%Q.

Definition try_clause_pays (k : variant) (p : Q) : Q :=
  match k with Paper => - p | _ => 0 end%Q.

(** How often [solve] leads to a clause. *)
Definition reach (k : variant) : Q := match k with Strict => 1 # 2 | _ => 1 end%Q.

(** What the clauses add to [solve], all satisfied. *)
Definition clauses_top (k : variant) (p : Q) : Q := (reach k * literal_top k p)%Q.

(** The optimum by Theorem O, if [u] of the weight [w] is left at least. *)
Definition closed_form (k : variant) (p : Q) (u w : Z) : Q :=
  (solve_pays k p + clauses_top k p -
   Qmin (clauses_top k p * inject_Z u / (3 * inject_Z w)) p)%Q.

Definition weight_of (f : list line) : Z :=
  fold_right (fun c total => Zpos (cost c) + total) 0 f.

(** Whether u >= k is shown; [unfold] finds the steps of the refutation. *)
Definition shown (unfold : list (list signed) -> list step) (limit : N)
    (next : number) (f : list line) (k : Z) : bool :=
  match k with
  | Z0 => true
  | Zneg _ => false
  | Zpos k =>
      match bound_formula limit k next f with
      | Some counted => refutes counted (unfold counted)
      | None => false
      end
  end.

(** [next] is the first number above the variables of [f]; [x] is the assignment
    that the certificate spells, fresh variables of the 3-SAT form included. *)
Definition accepts (unfold : list (list signed) -> list step) (limit : N)
    (next : number) (f : list line) (x : valuation) (c : claims) : bool :=
  let (three, after) := three_sat next f in
  let left := left_by x three in
  let w := weight_of three in
  let best := closed_form (about c) (penalty c) in
  is_below next f
  && penalty_allowed (about c) (penalty c)
  && Z.eqb (at_most c) left
  && Bool.eqb (claimed_satisfiable c) (Z.eqb left 0)
  && (Z.eqb left 0 || Z.ltb 0 (at_least c))
  && Z.leb (at_least c) left
  && Qeq_bool (claimed_optimum c) (best (at_least c) w)
  && Qeq_bool (claimed_optimum c) (best (at_most c) w)
  && shown unfold limit after three (at_least c).

(** ** The pair (g, pi): the values due, for the driver to compare *)

(** How many of a clause's literals have the truth value that the action says;
    none for the action [quit], which has no bits. *)
Fixpoint matches (x : valuation) (c : list signed) (bits : list bool) : Z :=
  match c, bits with
  | l :: c, b :: bits => (if Bool.eqb (holds x l) b then 1 else 0) + matches x c bits
  | _, _ => 0
  end.

Definition clause_value (top : Q) (matched : Z) : Q := Qred (top * (matched # 3)).

Definition solve_value (k : variant) (p : Q) (costs matched : list Z) : Q :=
  let weighted := fold_left (fun s cm => s + fst cm * snd cm) (combine costs matched) 0 in
  let w := fold_left Z.add costs 0 in
  Qred (solve_pays k p + clauses_top k p * inject_Z weighted / (3 * inject_Z w)).

(** ** What is accepted is true *)

Lemma shown_sound unfold limit next f k v :
  below next f -> shown unfold limit next f k = true -> k <= left_by v f.
Proof.
  intros B S. pose proof (left_by_nonnegative v f).
  destruct k as [|k|k]; [easy| |easy]. unfold shown in S.
  destruct (bound_formula limit k next f) as [counted|] eqn:E; [|easy].
  destruct (Z.lt_ge_cases (left_by v f) (Zpos k)) as [L|L]; [|easy].
  destruct (bound_formula_sound limit k next f counted v B E L) as [w T].
  now apply (refutes_sound _ _ S) in T.
Qed.

Lemma weight_nonnegative f : 0 <= weight_of f.
Proof.
  induction f as [|c f IH]; [easy|].
  change (weight_of (c :: f)) with (Zpos (cost c) + weight_of f). lia.
Qed.

Lemma clauses_top_nonnegative k p :
  penalty_allowed k p = true -> (0 <= clauses_top k p)%Q.
Proof.
  unfold penalty_allowed, clauses_top. rewrite andb_true_iff. intros [_ H].
  destruct k; simpl; [easy| | | |easy].
  - apply negb_true_iff in H. destruct (Qlt_le_dec p 1) as [L|L]; [lra|].
    apply Qle_bool_iff in L. congruence.
  - apply Qeq_bool_eq in H. rewrite H. easy.
  - apply negb_true_iff in H. destruct (Qlt_le_dec p 1) as [L|L]; [lra|].
    apply Qle_bool_iff in L. congruence.
Qed.

(** The more is left unsatisfied, the less the optimum. *)
Lemma closed_form_decreasing k p u v w :
  penalty_allowed k p = true -> 0 <= w -> u <= v ->
  (closed_form k p v w <= closed_form k p u w)%Q.
Proof.
  intros P W L. pose proof (clauses_top_nonnegative k p P) as T. unfold closed_form.
  assert (M : (clauses_top k p * inject_Z u / (3 * inject_Z w)
               <= clauses_top k p * inject_Z v / (3 * inject_Z w))%Q).
  { unfold Qdiv. apply Qmult_le_compat_r.
    - rewrite !(Qmult_comm (clauses_top k p)). apply Qmult_le_compat_r; [|easy].
      now rewrite <- Zle_Qle.
    - apply Qinv_le_0_compat. assert (0 <= inject_Z w)%Q by (rewrite Zle_Qle in W; exact W).
      lra. }
  pose proof (Q.min_le_compat_r _ _ p M). lra.
Qed.

Section Accepted.
  Variables (unfold : list (list signed) -> list step) (limit : N).
  Variables (next : number) (f : list line) (x : valuation) (c : claims).
  Hypothesis accepted : accepts unfold limit next f x c = true.

  Let three := fst (three_sat next f).
  Let after := snd (three_sat next f).

  Lemma accepted_parts :
    below next f /\ penalty_allowed (about c) (penalty c) = true /\
    at_most c = left_by x three /\
    claimed_satisfiable c = (left_by x three =? 0) /\
    (left_by x three = 0 \/ 0 < at_least c) /\
    at_least c <= left_by x three /\
    claimed_optimum c == closed_form (about c) (penalty c) (at_least c) (weight_of three) /\
    claimed_optimum c == closed_form (about c) (penalty c) (at_most c) (weight_of three) /\
    shown unfold limit after three (at_least c) = true.
  Proof.
    unfold accepts in accepted. unfold three, after.
    destruct (three_sat next f) as [t a]. simpl.
    apply andb_prop in accepted as [H H9]. apply andb_prop in H as [H H8].
    apply andb_prop in H as [H H7]. apply andb_prop in H as [H H6].
    apply andb_prop in H as [H H5]. apply andb_prop in H as [H H4].
    apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    repeat split; auto.
    - now apply is_below_true.
    - now apply Z.eqb_eq.
    - now apply Bool.eqb_prop.
    - apply orb_prop in H5 as [H5|H5]; [left; now apply Z.eqb_eq|right; now apply Z.ltb_lt].
    - now apply Z.leb_le.
    - now apply Qeq_bool_eq.
    - now apply Qeq_bool_eq.
  Qed.

  (** No assignment leaves less than [at_least]; some leaves [at_most] or less. *)
  Theorem accepted_at_least a : at_least c <= unsatisfied a (meaning f).
  Proof.
    destruct accepted_parts as (B & _ & _ & _ & _ & _ & _ & _ & S).
    rewrite <- left_by_number.
    destruct (three_sat_forth (by_number a) next f B) as [w [_ E]]. rewrite <- E.
    apply (shown_sound unfold limit after); [|easy]. now apply three_sat_below.
  Qed.

  Theorem accepted_at_most : unsatisfied (by_index x) (meaning f) <= at_most c.
  Proof.
    destruct accepted_parts as (_ & _ & M & _). rewrite M, left_by_index.
    apply three_sat_back.
  Qed.

  (** u, the least weight left unsatisfied, lies between the bounds claimed. *)
  Theorem accepted_bounds u :
    least_unsatisfied (meaning f) u -> at_least c <= u <= at_most c.
  Proof.
    intros [[a <-] Hall]. split; [apply accepted_at_least|].
    pose proof accepted_at_most. specialize (Hall (by_index x)). lia.
  Qed.

  Theorem accepted_satisfiable :
    claimed_satisfiable c = true <-> satisfiable (meaning f).
  Proof.
    destruct accepted_parts as (_ & _ & M & S & D & _). rewrite S, satisfiable_zero.
    pose proof accepted_at_most as U. rewrite M in U. rewrite left_by_index in U.
    split.
    - intros E. apply Z.eqb_eq in E. exists x.
      pose proof (left_by_nonnegative x f). lia.
    - intros [v V]. apply Z.eqb_eq. destruct D as [D|D]; [easy|].
      pose proof (accepted_at_least (by_index v)) as A. rewrite left_by_index in A. lia.
  Qed.

  (** The claimed optimum is that of Theorem O: the bounds fix it even where they
      do not fix u. *)
  Theorem accepted_closed_form u :
    least_unsatisfied (meaning f) u ->
    claimed_optimum c == closed_form (about c) (penalty c) u (weight_of three).
  Proof.
    intros L. pose proof (accepted_bounds u L) as [Lo Hi].
    destruct accepted_parts as (_ & P & _ & _ & _ & _ & E1 & E2 & _).
    apply Qle_antisym.
    - rewrite E2. apply closed_form_decreasing; [easy|apply weight_nonnegative|easy].
    - rewrite E1. apply closed_form_decreasing; [easy|apply weight_nonnegative|easy].
  Qed.
End Accepted.
