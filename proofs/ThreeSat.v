(** The 3-SAT form of a formula, and Lemma 1: the least weight left unsatisfied
    is the same before and after.

    The form is that of [three_sat] in the Python package: the distinct literals
    of a clause in the order of first occurrence; one or two repeat the last; more
    than three make a chain with fresh variables; the empty clause and the formula
    without clauses have forms of their own; weights are inherited. *)

From Coq Require Import List Bool ZArith PArith Lia.
From Olivine Require Import Formula Dimacs.
Import ListNotations.
Open Scope Z_scope.

(** ** Definition *)

(** The literals of [c] that are not in [seen], each once. *)
Fixpoint distinct (seen c : list signed) : list signed :=
  match c with
  | [] => []
  | l :: rest =>
      if existsb (signed_eqb l) seen then distinct seen rest
      else l :: distinct (l :: seen) rest
  end.

(** The chain (h l2 y1)(-y1 l3 y2)...(-y l(k-1) lk); [next] is the first fresh
    variable. Given back with the first variable that is still unused. *)
Fixpoint chain (next : number) (h : signed) (rest : list signed)
  : list (list signed) * number :=
  match rest with
  | a :: (b :: c :: _) as rest' =>
      let (pieces, after) := chain (Pos.succ next) (Minus next) rest' in
      ([h; a; Plus next] :: pieces, after)
  | [a; b] => ([[h; a; b]], next)
  | [a] => ([[h; a; a]], next)
  | _ => ([[h; h; h]], next)
  end.

Definition pieces (next : number) (c : list signed) : list (list signed) * number :=
  match distinct [] c with
  | [] => ([[Plus next; Plus next; Plus next];
            [Minus next; Minus next; Minus next]], Pos.succ next)
  | h :: rest => chain next h rest
  end.

Fixpoint convert (next : number) (f : list line) : list line * number :=
  match f with
  | [] => ([], next)
  | c :: rest =>
      let (new, after) := pieces next (literals c) in
      let (more, last) := convert after rest in
      (map (Line (cost c)) new ++ more, last)
  end.

(** The form of a formula whose variables are below [next], and the first number
    above its variables. Without any clause there is a tautology on x1. *)
Definition three_sat (next : number) (f : list line) : list line * number :=
  match f with
  | [] => ([Line 1 [Plus 1; Minus 1; Minus 1]], Pos.max next 2)
  | _ => convert next f
  end.

Lemma chain_step next h a b c rest :
  chain next h (a :: b :: c :: rest) =
  let (pieces, after) := chain (Pos.succ next) (Minus next) (b :: c :: rest) in
  ([h; a; Plus next] :: pieces, after).
Proof. reflexivity. Qed.

(** ** Three literals in each clause *)

Lemma chain_width next h rest c : In c (fst (chain next h rest)) -> length c = 3%nat.
Proof.
  revert next h. induction rest as [|a rest IH]; intros next h.
  - simpl. intros [<-|[]]. easy.
  - destruct rest as [|b [|d rest]]; [simpl; intros [<-|[]]; easy..|].
    specialize (IH (Pos.succ next) (Minus next)).
    rewrite chain_step. destruct (chain _ _ _) as [p s]. cbn [fst] in *.
    intros [<-|H]; [easy|auto].
Qed.

Lemma pieces_width next c d : In d (fst (pieces next c)) -> length d = 3%nat.
Proof.
  unfold pieces. destruct (distinct [] c).
  - simpl. intros [<-|[<-|[]]]; easy.
  - apply chain_width.
Qed.

Lemma convert_width next f d : In d (fst (convert next f)) -> length (literals d) = 3%nat.
Proof.
  revert next. induction f as [|c f IH]; intros next; [easy|]. simpl.
  pose proof (pieces_width next (literals c)) as Hp.
  destruct (pieces next (literals c)) as [new after].
  specialize (IH after). destruct (convert after f) as [more last]. simpl in *.
  intros H. apply in_app_or in H. destruct H as [H|H]; [|auto].
  apply in_map_iff in H. destruct H as [e [<- He]]. simpl. auto.
Qed.

Theorem three_sat_width next f w :
  In w (meaning (fst (three_sat next f))) -> length (body w) = 3%nat.
Proof.
  intros H. apply in_map_iff in H. destruct H as [d [<- Hd]]. simpl.
  rewrite map_length. destruct f as [|c f].
  - simpl in Hd. destruct Hd as [<-|[]]. easy.
  - apply (convert_width next (c :: f)). exact Hd.
Qed.

(** ** Distinct literals change no truth value *)

Lemma distinct_truth v c seen :
  satisfied v seen || satisfied v (distinct seen c)
  = satisfied v seen || satisfied v c.
Proof.
  revert seen. induction c as [|l c IH]; intros seen; simpl; [easy|].
  destruct (existsb (signed_eqb l) seen) eqn:E.
  - rewrite IH. apply existsb_exists in E. destruct E as [k [Hk El]].
    apply signed_eqb_eq in El. subst k.
    destruct (holds v l) eqn:H; [|easy].
    replace (satisfied v seen) with true; [easy|].
    symmetry. apply existsb_exists. now exists l.
  - specialize (IH (l :: seen)). simpl in *.
    destruct (holds v l); simpl in *; [|easy]. now rewrite !orb_true_r.
Qed.

Lemma distinct_below b seen c : clause_below b c -> clause_below b (distinct seen c).
Proof.
  revert seen. induction c as [|l c IH]; intros seen H; simpl; [easy|].
  assert (Hc : clause_below b c) by (intros k Hk; apply H; now right).
  destruct (existsb _ _); [now apply IH|].
  intros k [<-|Hk]; [apply H; now left|]. now apply (IH (l :: seen)).
Qed.

(** ** Fresh variables: the first unused number never falls, all stay below it *)

Definition clauses_below (b : number) (cs : list (list signed)) : Prop :=
  forall c, In c cs -> clause_below b c.

Ltac literals_below :=
  intros ? Hin; simpl in Hin;
  repeat (destruct Hin as [<-|Hin]; [simpl; try lia|]); try contradiction.

Lemma chain_next next h rest : (next <= snd (chain next h rest))%positive.
Proof.
  revert next h. induction rest as [|a rest IH]; intros next h; [simpl; lia|].
  destruct rest as [|b [|d rest]]; [simpl; lia..|].
  specialize (IH (Pos.succ next) (Minus next)).
  rewrite chain_step. destruct (chain _ _ _). cbn [snd] in *. lia.
Qed.

Lemma chain_below next h rest :
  (name h < next)%positive -> clause_below next rest ->
  clauses_below (snd (chain next h rest)) (fst (chain next h rest)).
Proof.
  revert next h. induction rest as [|a rest IH]; intros next h Hh Hr.
  - intros c [<-|[]]. simpl. literals_below.
  - assert (Ha : (name a < next)%positive) by (apply Hr; now left).
    destruct rest as [|b [|d rest]].
    + intros c [<-|[]]. simpl. literals_below.
    + assert (Hb : (name b < next)%positive) by (apply Hr; right; now left).
      intros c [<-|[]]. simpl. literals_below.
    + specialize (IH (Pos.succ next) (Minus next)).
      pose proof (chain_next (Pos.succ next) (Minus next) (b :: d :: rest)) as Hn.
      assert (Hr' : clause_below (Pos.succ next) (b :: d :: rest)).
      { apply (clause_below_weaken next); [lia|]. intros l Hl. apply Hr. now right. }
      rewrite chain_step. destruct (chain _ _ _) as [p s]. cbn [fst snd] in *.
      intros c [<-|Hc]; [literals_below|]. apply IH; simpl; try easy. lia.
Qed.

Lemma pieces_next next c : (next <= snd (pieces next c))%positive.
Proof.
  unfold pieces. destruct (distinct [] c); [simpl; lia|apply chain_next].
Qed.

Lemma pieces_below next c :
  clause_below next c -> clauses_below (snd (pieces next c)) (fst (pieces next c)).
Proof.
  intros H. apply (distinct_below next []) in H. unfold pieces.
  destruct (distinct [] c) as [|h rest].
  - intros d [<-|[<-|[]]]; simpl; literals_below.
  - apply chain_below; [apply H; now left|]. intros l Hl. apply H. now right.
Qed.

Lemma convert_next next f : (next <= snd (convert next f))%positive.
Proof.
  revert next. induction f as [|c f IH]; intros next; simpl; [lia|].
  pose proof (pieces_next next (literals c)) as Hp.
  destruct (pieces next (literals c)) as [new after].
  specialize (IH after). destruct (convert after f). simpl in *. lia.
Qed.

Lemma convert_below next f :
  below next f -> below (snd (convert next f)) (fst (convert next f)).
Proof.
  revert next. induction f as [|c f IH]; intros next H; [easy|]. simpl.
  assert (Hc : clause_below next (literals c)) by (apply H; now left).
  pose proof (pieces_next next (literals c)) as Hn.
  pose proof (pieces_below next (literals c) Hc) as Hb.
  destruct (pieces next (literals c)) as [new after]. simpl in *.
  assert (Hf : below after f).
  { apply (below_weaken next); [easy|]. intros d Hd. apply H. now right. }
  specialize (IH after Hf). pose proof (convert_next after f) as Hl.
  destruct (convert after f) as [more last]. simpl in *.
  apply below_app; [|easy]. intros d Hd. apply in_map_iff in Hd.
  destruct Hd as [e [<- He]]. simpl. apply (clause_below_weaken after); auto.
Qed.

Theorem three_sat_below next f :
  below next f -> below (snd (three_sat next f)) (fst (three_sat next f)).
Proof.
  intros H. destruct f as [|c f]; [|now apply convert_below].
  intros d [<-|[]]. simpl. literals_below.
Qed.

(** ** Back: what satisfies the pieces satisfies the clause *)

Lemma chain_back v next h rest :
  forallb (satisfied v) (fst (chain next h rest)) = true ->
  holds v h || satisfied v rest = true.
Proof.
  revert next h. induction rest as [|a rest IH]; intros next h.
  - simpl. destruct (holds v h); easy.
  - destruct rest as [|b [|d rest]].
    + simpl. destruct (holds v h), (holds v a); easy.
    + simpl. destruct (holds v h), (holds v a), (holds v b); easy.
    + specialize (IH (Pos.succ next) (Minus next)). rewrite chain_step.
      destruct (chain _ _ _) as [p s]. cbn [fst forallb] in *.
      change (satisfied v (a :: b :: d :: rest))
        with (holds v a || satisfied v (b :: d :: rest)).
      rewrite andb_true_iff. intros [Hc Hp]. apply IH in Hp. simpl in Hc, Hp.
      simpl. destruct (holds v h), (holds v a), (v next); simpl in *; easy.
Qed.

Lemma pieces_back v next c :
  forallb (satisfied v) (fst (pieces next c)) = true -> satisfied v c = true.
Proof.
  pose proof (distinct_truth v c []) as D. simpl in D. unfold pieces.
  destruct (distinct [] c) as [|h rest].
  - simpl. destruct (v next); easy.
  - intros H. apply chain_back in H. simpl in D. congruence.
Qed.

Lemma costs_at_least v k new :
  forallb (satisfied v) new = false -> Zpos k <= left_by v (map (Line k) new).
Proof.
  induction new as [|c new IH]; [easy|].
  change (left_by v (map (Line k) (c :: new)))
    with (penalty_of v (Line k c) + left_by v (map (Line k) new)).
  pose proof (left_by_nonnegative v (map (Line k) new)).
  unfold penalty_of. cbn [forallb literals cost].
  destruct (satisfied v c); [|lia]. intros E. specialize (IH E). lia.
Qed.

Lemma convert_back v next f : left_by v f <= left_by v (fst (convert next f)).
Proof.
  revert next. induction f as [|c f IH]; intros next; simpl; [lia|].
  pose proof (pieces_back v next (literals c)) as B.
  destruct (pieces next (literals c)) as [new after].
  specialize (IH after). destruct (convert after f) as [more last]. simpl in *.
  rewrite left_by_app. unfold penalty_of.
  pose proof (left_by_nonnegative v (map (Line (cost c)) new)).
  destruct (satisfied v (literals c)); [lia|].
  destruct (forallb (satisfied v) new) eqn:E; [now specialize (B eq_refl)|].
  pose proof (costs_at_least v (cost c) new E). lia.
Qed.

(** An assignment of the form leaves no more of the original unsatisfied. *)
Theorem three_sat_back v next f : left_by v f <= left_by v (fst (three_sat next f)).
Proof.
  destruct f as [|c f]; [|apply convert_back]. apply left_by_nonnegative.
Qed.

(** ** Forth: the best choice of the fresh variables *)

Lemma left_by_agree_pieces b v w k new :
  agree b v w -> clauses_below b new ->
  left_by v (map (Line k) new) = left_by w (map (Line k) new).
Proof.
  intros H Hb. apply (left_by_agree b); [easy|]. intros d Hd.
  apply in_map_iff in Hd. destruct Hd as [e [<- He]]. simpl. auto.
Qed.

Lemma chain_forth k rest : forall v next h,
  (name h < next)%positive -> clause_below next rest ->
  exists w, agree next w v /\
    left_by w (map (Line k) (fst (chain next h rest)))
    = (if holds v h || satisfied v rest then 0 else Zpos k).
Proof.
  induction rest as [|a rest IH]; intros v next h Hh Hr.
  { exists v. split; [easy|]. simpl. unfold penalty_of; simpl.
    destruct (holds v h); easy. }
  destruct rest as [|b [|d rest]].
  - exists v. split; [easy|]. simpl. unfold penalty_of; simpl.
    destruct (holds v h), (holds v a); easy.
  - exists v. split; [easy|]. simpl. unfold penalty_of; simpl.
    destruct (holds v h), (holds v a), (holds v b); easy.
  - assert (Ha : (name a < next)%positive) by (apply Hr; now left).
    assert (Hr' : clause_below next (b :: d :: rest))
      by (intros l Hl; apply Hr; now right).
    set (burden := negb (holds v h || holds v a)).
    destruct (IH (updated v next burden) (Pos.succ next) (Minus next))
      as [w [Hw E]]; [simpl; lia|now apply (clause_below_weaken next); [lia|]|].
    assert (Hwv : agree next w v).
    { apply (agree_trans _ _ (updated v next burden)); [|apply updated_agree].
      apply (agree_weaken _ (Pos.succ next)); [lia|easy]. }
    exists w. split; [easy|].
    rewrite chain_step. destruct (chain _ _ _) as [p s]. cbn [fst map] in *.
    change (left_by w (Line k [h; a; Plus next] :: map (Line k) p))
      with (penalty_of w (Line k [h; a; Plus next]) + left_by w (map (Line k) p)).
    rewrite E. unfold penalty_of. cbn [literals holds cost].
    change (satisfied w [h; a; Plus next])
      with (holds w h || (holds w a || (w next || false))).
    rewrite (satisfied_agree next (updated v next burden) v _ (updated_agree _ _ _) Hr').
    rewrite (holds_agree next w v h Hwv Hh), (holds_agree next w v a Hwv Ha).
    rewrite (Hw next) by lia. rewrite updated_at.
    change (satisfied v (a :: b :: d :: rest))
      with (holds v a || satisfied v (b :: d :: rest)).
    unfold burden.
    destruct (holds v h), (holds v a), (satisfied v (b :: d :: rest)); reflexivity.
Qed.

Lemma pieces_forth k v next c :
  clause_below next c ->
  exists w, agree next w v /\
    left_by w (map (Line k) (fst (pieces next c)))
    = (if satisfied v c then 0 else Zpos k).
Proof.
  intros H. apply (distinct_below next []) in H.
  pose proof (distinct_truth v c []) as D. simpl in D. unfold pieces.
  destruct (distinct [] c) as [|h rest].
  - exists v. split; [easy|]. rewrite <- D. simpl. unfold penalty_of. simpl.
    destruct (v next); easy.
  - simpl in D. rewrite <- D.
    apply chain_forth; [apply H; now left|]. intros l Hl. apply H. now right.
Qed.

Lemma convert_forth f : forall v next,
  below next f ->
  exists w, agree next w v /\ left_by w (fst (convert next f)) = left_by v f.
Proof.
  induction f as [|c f IH]; intros v next H; [now exists v|].
  assert (Hc : clause_below next (literals c)) by (apply H; now left).
  assert (Hf : below next f) by (intros d Hd; apply H; now right).
  destruct (pieces_forth (cost c) v next _ Hc) as [w [Hw Ew]].
  pose proof (pieces_next next (literals c)) as Hn.
  pose proof (pieces_below next (literals c) Hc) as Hb. simpl.
  destruct (pieces next (literals c)) as [new after]. cbn [fst snd] in *.
  destruct (IH w after) as [x [Hx Ex]]; [now apply (below_weaken next)|].
  destruct (convert after f) as [more last]. cbn [fst] in *.
  exists x. split.
  { apply (agree_trans _ _ w); [|easy]. now apply (agree_weaken _ after). }
  rewrite left_by_app, (left_by_agree_pieces after x w), Ew, Ex; try easy.
  now rewrite (left_by_agree next w v f).
Qed.

(** Every assignment has an extension to the fresh variables that leaves exactly
    the same weight unsatisfied. *)
Theorem three_sat_forth v next f :
  below next f ->
  exists w, agree next w v /\ left_by w (fst (three_sat next f)) = left_by v f.
Proof.
  intros H. destruct f as [|c f]; [|now apply convert_forth].
  exists v. split; [easy|]. simpl. unfold penalty_of. simpl. destruct (v 1%positive); easy.
Qed.

(** ** Lemma 1 *)

Theorem lemma_1 next f u :
  below next f ->
  (least_unsatisfied (meaning f) u <->
   least_unsatisfied (meaning (fst (three_sat next f))) u).
Proof.
  intros H. rewrite !least_by_valuation. split; intros [[v Hv] Hall]; split.
  - destruct (three_sat_forth v next f H) as [w [_ E]]. exists w. congruence.
  - intros w. pose proof (three_sat_back w next f). specialize (Hall w). lia.
  - exists v. pose proof (three_sat_back v next f).
    destruct (three_sat_forth v next f H) as [w [_ E]]. specialize (Hall w). lia.
  - intros w. destruct (three_sat_forth w next f H) as [x [_ E]].
    specialize (Hall x). lia.
Qed.

Lemma satisfiable_zero f : satisfiable (meaning f) <-> exists v, left_by v f = 0.
Proof.
  split.
  - intros [a Ha]. exists (by_number a). rewrite left_by_number.
    induction (meaning f) as [|w g IH]; [easy|]. simpl.
    rewrite Ha by now left. rewrite IH; [easy|]. intros x Hx. apply Ha. now right.
  - intros [v E]. exists (by_index v). rewrite <- left_by_index in E.
    pose proof (meaning_weights_positive f) as P.
    induction (meaning f) as [|w g IH]; [easy|].
    assert (P' : weights_positive g) by (intros x Hx; apply P; now right).
    assert (Pw : 1 <= weight w) by (apply P; now left).
    assert (N : 0 <= unsatisfied (by_index v) g).
    { clear - P'. induction g as [|x g IH]; simpl; [easy|].
      assert (1 <= weight x) by (apply P'; now left).
      assert (0 <= unsatisfied (by_index v) g)
        by (apply IH; intros y Hy; apply P'; now right).
      destruct (clause_true _ _); lia. }
    simpl in E. destruct (clause_true (by_index v) (body w)) eqn:T; [|lia].
    intros x [<-|Hx]; [easy|]. apply IH; auto.
Qed.

Theorem three_sat_satisfiable next f :
  below next f ->
  (satisfiable (meaning f) <-> satisfiable (meaning (fst (three_sat next f)))).
Proof.
  intros H. rewrite !satisfiable_zero. split; intros [v E].
  - destruct (three_sat_forth v next f H) as [w [_ Ew]]. exists w. congruence.
  - exists v. pose proof (three_sat_back v next f).
    pose proof (left_by_nonnegative v f). lia.
Qed.
