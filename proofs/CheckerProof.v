(** Refutations, checked step by step.

    Each added clause comes with hints: the numbers of the clauses that become
    unit, in this order, when it is negated, and at last of one that is false.
    A hint that is not unit, such as one that is true already, does no harm.
    Whoever finds the hints (checker/unfold.ml does, from a DRAT proof) need not
    be trusted: wrong hints are refused. *)

From Coq Require Import List Bool PArith FMapPositive.
From Olivine Require Import Formula Dimacs CheckerBound.
Import ListNotations.

Inductive step :=
  | Add (place : number) (c : list signed) (hints : list number)
  | Delete (places : list number).

Definition clauses := PositiveMap.t (list signed).
Definition values := PositiveMap.t bool.

Definition value (m : values) (l : signed) : option bool :=
  match l with
  | Plus i => PositiveMap.find i m
  | Minus i => option_map negb (PositiveMap.find i m)
  end.

Definition make_true (l : signed) (m : values) : values :=
  match l with
  | Plus i => PositiveMap.add i true m
  | Minus i => PositiveMap.add i false m
  end.

(** Make all literals false; [None] if that is impossible. *)
Fixpoint negate (c : list signed) (m : values) : option values :=
  match c with
  | [] => Some m
  | l :: rest =>
      match value m l with
      | Some true => None
      | Some false => negate rest m
      | None => negate rest (make_true (opposite l) m)
      end
  end.

Inductive reduced := Conflict | Implied (l : signed) | Idle.

(** What a clause says once some literals are known; [found] is its literal
    of unknown value, if one was met. *)
Fixpoint reduce (m : values) (found : option signed) (c : list signed) : reduced :=
  match c with
  | [] => match found with None => Conflict | Some l => Implied l end
  | l :: rest =>
      match value m l with
      | Some true => Idle
      | Some false => reduce m found rest
      | None =>
          match found with
          | None => reduce m (Some l) rest
          | Some k => if signed_eqb k l then reduce m found rest else Idle
          end
      end
  end.

Fixpoint propagate (db : clauses) (m : values) (hints : list number) : bool :=
  match hints with
  | [] => false
  | i :: rest =>
      match PositiveMap.find i db with
      | None => false
      | Some c =>
          match reduce m None c with
          | Conflict => true
          | Implied l => propagate db (make_true l m) rest
          | Idle => propagate db m rest
          end
      end
  end.

(** Whether the hints show that the clause follows. *)
Definition follows (db : clauses) (c : list signed) (hints : list number) : bool :=
  match negate c (PositiveMap.empty bool) with
  | None => true
  | Some m => propagate db m hints
  end.

Fixpoint replay (db : clauses) (steps : list step) : bool :=
  match steps with
  | [] => false
  | Delete places :: rest =>
      replay (fold_left (fun db i => PositiveMap.remove i db) places db) rest
  | Add i c hints :: rest =>
      follows db c hints &&
      match c with [] => true | _ => replay (PositiveMap.add i c db) rest end
  end.

Fixpoint numbered (i : number) (f : list (list signed)) (db : clauses) : clauses :=
  match f with
  | [] => db
  | c :: rest => numbered (Pos.succ i) rest (PositiveMap.add i c db)
  end.

(** Whether the steps derive the empty clause; the clauses of [f] are 1, 2, ... *)
Definition refutes (f : list (list signed)) (steps : list step) : bool :=
  replay (numbered 1 f (PositiveMap.empty _)) steps.

(** ** Proof *)

Definition models (v : valuation) (db : clauses) : Prop :=
  forall i c, PositiveMap.find i db = Some c -> satisfied v c = true.

Definition fits (v : valuation) (m : values) : Prop :=
  forall i b, PositiveMap.find i m = Some b -> v i = b.

Lemma value_fits v m l b : fits v m -> value m l = Some b -> holds v l = b.
Proof.
  intros F. destruct l as [i|i]; simpl; [apply F|].
  destruct (PositiveMap.find i m) eqn:E; simpl; [|easy].
  intros [= <-]. now rewrite (F i b0 E).
Qed.

Lemma make_true_fits v m l : fits v m -> holds v l = true -> fits v (make_true l m).
Proof.
  intros F H j b.
  destruct l as [i|i]; simpl in *; destruct (Pos.eq_dec j i) as [->|D];
    (rewrite PositiveMap.gss || rewrite PositiveMap.gso by easy); try apply F;
    intros [= <-]; [easy|now apply negb_true_iff].
Qed.

Lemma negate_fits v c : forall m,
  fits v m -> satisfied v c = false ->
  match negate c m with None => False | Some m' => fits v m' end.
Proof.
  induction c as [|l c IH]; intros m F H; [easy|]. simpl in *.
  apply orb_false_iff in H. destruct H as [Hl Hc].
  destruct (value m l) as [[|]|] eqn:E.
  - rewrite (value_fits v m l true F E) in Hl. easy.
  - now apply IH.
  - apply IH; [|easy]. apply make_true_fits; [easy|]. now rewrite opposite_truth, Hl.
Qed.

Lemma reduce_sound v m c : forall found,
  fits v m ->
  match found with Some k => holds v k | None => false end || satisfied v c = true ->
  match reduce m found c with
  | Conflict => False
  | Implied l => holds v l = true
  | Idle => True
  end.
Proof.
  induction c as [|l c IH]; intros found F H; simpl in *.
  - destruct found; [now rewrite orb_false_r in H|easy].
  - destruct (value m l) as [[|]|] eqn:E; [easy| |].
    + rewrite (value_fits v m l false F E) in H. now apply IH.
    + destruct found as [k|].
      * destruct (signed_eqb k l) eqn:K; [|easy]. apply signed_eqb_eq in K. subst l.
        apply IH; [easy|]. destruct (holds v k); easy.
      * apply IH; easy.
Qed.

Lemma propagate_sound v db hints : forall m,
  models v db -> fits v m -> propagate db m hints = false.
Proof.
  induction hints as [|i hints IH]; intros m M F; [easy|]. simpl.
  destruct (PositiveMap.find i db) as [c|] eqn:E; [|easy].
  pose proof (reduce_sound v m c None F (M i c E)) as R.
  destruct (reduce m None c); [contradiction| |now apply IH].
  apply IH; [easy|]. now apply make_true_fits.
Qed.

Lemma follows_sound v db c hints :
  models v db -> follows db c hints = true -> satisfied v c = true.
Proof.
  intros M H. destruct (satisfied v c) eqn:S; [easy|]. unfold follows in H.
  assert (F : fits v (PositiveMap.empty bool)).
  { intros i b. rewrite PositiveMap.gempty. easy. }
  pose proof (negate_fits v c _ F S) as N.
  destruct (negate c _) as [m|]; [|contradiction].
  now rewrite (propagate_sound v db hints m M N) in H.
Qed.

Lemma add_models v db i c :
  models v db -> satisfied v c = true -> models v (PositiveMap.add i c db).
Proof.
  intros M S j d. destruct (Pos.eq_dec j i) as [->|D].
  - rewrite PositiveMap.gss. now intros [= <-].
  - rewrite PositiveMap.gso by easy. apply M.
Qed.

Lemma remove_models v places : forall db,
  models v db -> models v (fold_left (fun db i => PositiveMap.remove i db) places db).
Proof.
  induction places as [|i places IH]; intros db M; [easy|]. simpl. apply IH.
  intros j d. destruct (Pos.eq_dec j i) as [->|D].
  - rewrite PositiveMap.grs. easy.
  - rewrite PositiveMap.gro by easy. apply M.
Qed.

Lemma replay_sound v steps : forall db, models v db -> replay db steps = false.
Proof.
  induction steps as [|[i c hints|places] steps IH]; intros db M; [easy| |].
  - simpl. destruct (follows db c hints) eqn:F; [|easy].
    pose proof (follows_sound v db c hints M F) as S.
    destruct c; [easy|]. simpl. apply IH. now apply add_models.
  - simpl. apply IH. now apply remove_models.
Qed.

Lemma numbered_models v f : forall i db,
  models v db -> all_true v f -> models v (numbered i f db).
Proof.
  induction f as [|c f IH]; intros i db M T; [easy|]. simpl. apply IH.
  - apply add_models; [easy|]. apply T. now left.
  - intros d Hd. apply T. now right.
Qed.

(** A refuted formula has no model. *)
Theorem refutes_sound f steps : refutes f steps = true -> forall v, ~ all_true v f.
Proof.
  intros R v T. unfold refutes in R. rewrite (replay_sound v) in R; [easy|].
  apply numbered_models; [|easy]. intros i c. rewrite PositiveMap.gempty. easy.
Qed.
