(** The formula of a bound: clauses that are satisfiable if an assignment leaves
    less than [k] unsatisfied, so that their refutation shows u >= k.

    It is the formula of docs/certificate.md, with the same numbers for the fresh
    variables: equal clauses merged, clauses lighter than k relaxed by a fresh
    literal, the weight of those counted by a weighted totalizer. *)

From Coq Require Import List Bool ZArith PArith NArith Lia Permutation.
From Coq Require Import Mergesort Orders FMapPositive.
From Olivine Require Import Formula Dimacs ThreeSat.
Import ListNotations.
Open Scope Z_scope.

(** ** 1. Merging *)

Definition code (l : signed) : number := match l with Plus i => i~0 | Minus i => i~1 end.

Definition opposite (l : signed) : signed :=
  match l with Plus i => Minus i | Minus i => Plus i end.

Definition tautology (c : list signed) : bool :=
  existsb (fun l => existsb (signed_eqb (opposite l)) c) c.

Fixpoint insert (l : signed) (c : list signed) : list signed :=
  match c with
  | [] => [l]
  | k :: rest =>
      if signed_eqb l k then c
      else if Pos.ltb (code l) (code k) then l :: c
      else k :: insert l rest
  end.

(** The literals as a set: in order, each once. *)
Definition as_set (c : list signed) : list signed := fold_right insert [] c.

(** A clause with its place, for the order of first occurrence. *)
Definition placed := (number * line)%type.

Fixpoint in_order (c d : list signed) : bool :=
  match c, d with
  | [], _ => true
  | _, [] => false
  | l :: c, k :: d =>
      match Pos.compare (code l) (code k) with
      | Lt => true
      | Gt => false
      | Eq => in_order c d
      end
  end.

Lemma in_order_total c d : in_order c d = true \/ in_order d c = true.
Proof.
  revert d. induction c as [|l c IH]; intros [|k d]; simpl; auto.
  rewrite (Pos.compare_antisym (code l) (code k)).
  destruct (Pos.compare (code l) (code k)); simpl; auto.
Qed.

Module ByLiterals <: TotalLeBool.
  Definition t := placed.
  Definition leb (c d : placed) := in_order (literals (snd c)) (literals (snd d)).
  Lemma leb_total c d : leb c d = true \/ leb d c = true.
  Proof. apply in_order_total. Qed.
End ByLiterals.

Module ByPlace <: TotalLeBool.
  Definition t := placed.
  Definition leb (c d : placed) := Pos.leb (fst c) (fst d).
  Lemma leb_total c d : leb c d = true \/ leb d c = true.
  Proof. unfold leb. rewrite !Pos.leb_le. lia. Qed.
End ByPlace.

Module BySum <: TotalLeBool.
  Definition t := BinNums.positive.
  Definition leb := Pos.leb.
  Lemma leb_total c d : leb c d = true \/ leb d c = true.
  Proof. unfold leb. rewrite !Pos.leb_le. lia. Qed.
End BySum.

Module SortByLiterals := Sort ByLiterals.
Module SortByPlace := Sort ByPlace.
Module SortBySum := Sort BySum.

Fixpoint same (c d : list signed) : bool :=
  match c, d with
  | [], [] => true
  | l :: c, k :: d => signed_eqb l k && same c d
  | _, _ => false
  end.

Definition joined (c d : placed) : placed :=
  (Pos.min (fst c) (fst d),
   Line (cost (snd c) + cost (snd d)) (literals (snd d))).

(** Join neighbours with the same literals. *)
Fixpoint join (cs : list placed) : list placed :=
  match cs with
  | [] => []
  | c :: rest =>
      match join rest with
      | [] => [c]
      | d :: more =>
          if same (literals (snd c)) (literals (snd d)) then joined c d :: more
          else c :: d :: more
      end
  end.

Fixpoint place (i : number) (f : list line) : list placed :=
  match f with
  | [] => []
  | c :: rest =>
      if tautology (literals c) then place i rest
      else (i, Line (cost c) (as_set (literals c))) :: place (Pos.succ i) rest
  end.

Definition merged (f : list line) : list line :=
  map snd (SortByPlace.sort (join (SortByLiterals.sort (place 1 f)))).

Lemma insert_truth v l c : satisfied v (insert l c) = holds v l || satisfied v c.
Proof.
  induction c as [|k c IH]; simpl; [easy|].
  destruct (signed_eqb l k) eqn:E.
  - apply signed_eqb_eq in E. subst. simpl. destruct (holds v k); easy.
  - destruct (Pos.ltb _ _); simpl; [easy|]. rewrite IH.
    destruct (holds v l), (holds v k); easy.
Qed.

Lemma as_set_truth v c : satisfied v (as_set c) = satisfied v c.
Proof. induction c as [|l c IH]; simpl; [easy|]. rewrite insert_truth. now rewrite IH. Qed.

Lemma opposite_truth v l : holds v (opposite l) = negb (holds v l).
Proof. destruct l; simpl; [easy|]. now rewrite negb_involutive. Qed.

Lemma tautology_true v c : tautology c = true -> satisfied v c = true.
Proof.
  unfold tautology. rewrite existsb_exists. intros [l [Hl H]].
  rewrite existsb_exists in H. destruct H as [k [Hk E]].
  apply signed_eqb_eq in E. subst k. apply existsb_exists.
  destruct (holds v l) eqn:T; [now exists l|]. exists (opposite l).
  split; [easy|]. now rewrite opposite_truth, T.
Qed.

Lemma same_eq c d : same c d = true -> c = d.
Proof.
  revert d. induction c as [|l c IH]; intros [|k d]; simpl; try easy.
  rewrite andb_true_iff, signed_eqb_eq. intros [-> H]. f_equal. auto.
Qed.

Lemma left_by_permutation v f g : Permutation f g -> left_by v f = left_by v g.
Proof. intros H. induction H; simpl; lia. Qed.

Lemma join_left v cs : left_by v (map snd (join cs)) = left_by v (map snd cs).
Proof.
  induction cs as [|c rest IH]; simpl; [easy|]. rewrite <- IH.
  destruct (join rest) as [|d more]; [easy|].
  destruct (same _ _) eqn:E; [|easy]. apply same_eq in E. simpl.
  unfold penalty_of. simpl. rewrite E. destruct (satisfied _ _); lia.
Qed.

Lemma place_left v i f : left_by v (map snd (place i f)) = left_by v f.
Proof.
  revert i. induction f as [|c f IH]; intros i; simpl; [easy|].
  destruct (tautology (literals c)) eqn:E.
  - rewrite IH. unfold penalty_of. now rewrite (tautology_true v _ E).
  - simpl. rewrite IH. unfold penalty_of. simpl. now rewrite as_set_truth.
Qed.

Theorem merged_left v f : left_by v (merged f) = left_by v f.
Proof.
  unfold merged.
  rewrite <- (left_by_permutation _ _ _ (Permutation_map snd (SortByPlace.Permuted_sort _))).
  rewrite join_left.
  rewrite <- (left_by_permutation _ _ _ (Permutation_map snd (SortByLiterals.Permuted_sort _))).
  apply place_left.
Qed.

(** Variables stay below the same number. *)

Lemma insert_in l k c : In k (insert l c) -> k = l \/ In k c.
Proof.
  induction c as [|x c IH]; simpl; [intuition auto|].
  destruct (signed_eqb l x); [simpl; intuition auto|].
  destruct (Pos.ltb _ _); simpl; intuition auto.
Qed.

Lemma as_set_below b c : clause_below b c -> clause_below b (as_set c).
Proof.
  intros H. induction c as [|l c IH]; [easy|]. simpl. intros k Hk.
  apply insert_in in Hk. destruct Hk as [->|Hk]; [apply H; now left|].
  apply IH; [|easy]. intros x Hx. apply H. now right.
Qed.

Lemma place_below b i f : below b f -> below b (map snd (place i f)).
Proof.
  revert i. induction f as [|c f IH]; intros i H; simpl; [easy|].
  assert (Hf : below b f) by (intros d Hd; apply H; now right).
  destruct (tautology _); [auto|]. simpl. intros d [<-|Hd]; [|now apply (IH (Pos.succ i))].
  apply as_set_below. apply H. now left.
Qed.

Lemma join_below b cs : below b (map snd cs) -> below b (map snd (join cs)).
Proof.
  induction cs as [|c cs IH]; intros H; simpl; [easy|].
  assert (Hr : below b (map snd (join cs))) by (apply IH; intros d Hd; apply H; now right).
  assert (Hc : clause_below b (literals (snd c))) by (apply H; now left).
  destruct (join cs) as [|d more]; simpl in *.
  - intros e [<-|[]]. easy.
  - destruct (same _ _); intros e [<-|He]; try easy; try (now apply Hr; right).
    + simpl. apply Hr. now left.
    + now apply Hr.
Qed.

Lemma below_permutation b f g : Permutation f g -> below b f -> below b g.
Proof.
  intros P H c Hc. apply H. now apply (Permutation_in c (Permutation_sym P)).
Qed.

Lemma merged_below b f : below b f -> below b (merged f).
Proof.
  intros H. unfold merged.
  apply (below_permutation _ _ _ (Permutation_map snd (SortByPlace.Permuted_sort _))).
  apply join_below.
  apply (below_permutation _ _ _ (Permutation_map snd (SortByLiterals.Permuted_sort _))).
  now apply place_below.
Qed.

(** ** 2. and 3. Relaxing and counting *)

(** A node of the totalizer: sums, each with the number of its variable. *)
Definition node := list (number * number).

Fixpoint relax (k next : number) (f : list line)
  : list (list signed) * list node * number :=
  match f with
  | [] => ([], [], next)
  | c :: rest =>
      if Pos.ltb (cost c) k then
        let '(clauses, nodes, after) := relax k (Pos.succ next) rest in
        ((literals c ++ [Plus next]) :: clauses, [(cost c, next)] :: nodes, after)
      else
        let '(clauses, nodes, after) := relax k next rest in
        (literals c :: clauses, nodes, after)
  end.

Fixpoint once (sums : list number) : list number :=
  match sums with
  | s :: (t :: _) as rest => if Pos.eqb s t then once rest else s :: once rest
  | _ => sums
  end.

Definition pair_sums (k : number) (a b : node) : list number :=
  flat_map (fun s => filter (fun x => Pos.ltb x k) (map (fun t => fst s + fst t)%positive b)) a.

Definition sums (k : number) (a b : node) : list number :=
  once (SortBySum.sort (map fst a ++ map fst b ++ pair_sums k a b)).

Fixpoint number_from (next : number) (s : list number) : node * number :=
  match s with
  | [] => ([], next)
  | x :: rest =>
      let (more, after) := number_from (Pos.succ next) rest in ((x, next) :: more, after)
  end.

Definition index (c : node) : PositiveMap.t number :=
  fold_right (fun sx m => PositiveMap.add (fst sx) (snd sx) m) (PositiveMap.empty _) c.

Definition carry (table : PositiveMap.t number) (s : number) (c : list signed)
  : list (list signed) :=
  match PositiveMap.find s table with
  | Some x => [c ++ [Plus x]]
  | None => []
  end.

Definition singles (table : PositiveMap.t number) (a : node) : list (list signed) :=
  flat_map (fun sx => carry table (fst sx) [Minus (snd sx)]) a.

Definition pairs (k : number) (table : PositiveMap.t number) (a b : node)
  : list (list signed) :=
  flat_map (fun sx => flat_map (fun ty =>
    let c := [Minus (snd sx); Minus (snd ty)] in
    if Pos.ltb (fst sx + fst ty) k then carry table (fst sx + fst ty) c else [c]) b) a.

Definition two_oldest (front back : list node)
  : option (node * node * list node * list node) :=
  match front with
  | a :: b :: rest => Some (a, b, rest, back)
  | [a] => match rev back with b :: rest => Some (a, b, rest, []) | [] => None end
  | [] => match rev back with a :: b :: rest => Some (a, b, rest, []) | _ => None end
  end.

Definition size (a : node) : N := fold_left (fun n _ => N.succ n) a 0%N.

(** The queue is [front ++ rev back]. [limit] bounds the number of clauses, as
    the Python checker's does; [fuel] is as long as the queue. *)
Fixpoint totalizer (fuel : list node) (limit : N) (k next : number)
    (front back : list node) (count : N) (clauses : list (list signed))
  : option (list (list signed)) :=
  match fuel with
  | [] => Some clauses
  | _ :: fuel =>
      match two_oldest front back with
      | None => Some clauses
      | Some (a, b, front, back) =>
          if N.ltb limit (count + (size a + 1) * (size b + 1)) then None else
          let (c, after) := number_from next (sums k a b) in
          let table := index c in
          let new := singles table a ++ singles table b ++ pairs k table a b in
          totalizer fuel limit k after front (c :: back)
            (count + size a + size b + size a * size b) (rev_append new clauses)
      end
  end.

Definition bound_formula (limit : N) (k next : number) (f : list line)
  : option (list (list signed)) :=
  let '(clauses, nodes, after) := relax k next (merged f) in
  totalizer nodes limit k after nodes [] (N.of_nat (length clauses)) (rev clauses).

(** ** Proof *)

(** The largest sum of a node that is said to be reached. *)
Definition reached (v : valuation) (a : node) : Z :=
  fold_right (fun sx m => if v (snd sx) then Z.max (Zpos (fst sx)) m else m) 0 a.

Definition all_reached (v : valuation) (nodes : list node) : Z :=
  fold_right (fun a t => reached v a + t) 0 nodes.

Definition node_below (b : number) (a : node) : Prop :=
  forall sx, In sx a -> (snd sx < b)%positive.

Definition nodes_below (b : number) (nodes : list node) : Prop :=
  forall a, In a nodes -> node_below b a.

Lemma reached_nonnegative v a : 0 <= reached v a.
Proof. induction a as [|sx a IH]; simpl; [easy|]. destruct (v _); lia. Qed.

Lemma reached_least v a sx : In sx a -> v (snd sx) = true -> Zpos (fst sx) <= reached v a.
Proof.
  induction a as [|ty a IH]; simpl; [easy|]. intros [<-|H] T.
  - rewrite T. lia.
  - specialize (IH H T). destruct (v (snd ty)); lia.
Qed.

Lemma reached_most v a b :
  0 <= b -> (forall sx, In sx a -> v (snd sx) = true -> Zpos (fst sx) <= b) ->
  reached v a <= b.
Proof.
  intros Hb H. induction a as [|sx a IH]; simpl; [easy|].
  assert (reached v a <= b) by (apply IH; intros; apply H; [now right|easy]).
  destruct (v (snd sx)) eqn:T; [|easy].
  assert (Zpos (fst sx) <= b) by (apply H; [now left|easy]). lia.
Qed.

Lemma reached_agree b v w a : agree b v w -> node_below b a -> reached v a = reached w a.
Proof.
  intros H Ha. induction a as [|sx a IH]; simpl; [easy|].
  rewrite (H (snd sx)) by (apply Ha; now left).
  rewrite IH; [easy|]. intros ty Hty. apply Ha. now right.
Qed.

Lemma all_reached_agree b v w nodes :
  agree b v w -> nodes_below b nodes -> all_reached v nodes = all_reached w nodes.
Proof.
  intros H Hn. induction nodes as [|a nodes IH]; simpl; [easy|].
  rewrite (reached_agree b v w a H) by (apply Hn; now left).
  rewrite IH; [easy|]. intros c Hc. apply Hn. now right.
Qed.

Lemma all_reached_app v a b : all_reached v (a ++ b) = all_reached v a + all_reached v b.
Proof. induction a as [|x a IH]; simpl; [easy|]. lia. Qed.

Lemma all_reached_nonnegative v nodes : 0 <= all_reached v nodes.
Proof.
  induction nodes as [|a nodes IH]; simpl; [easy|].
  pose proof (reached_nonnegative v a). lia.
Qed.

Lemma node_below_weaken b b' a : (b <= b')%positive -> node_below b a -> node_below b' a.
Proof. intros Hb H sx Hs. specialize (H sx Hs). lia. Qed.

Lemma nodes_below_weaken b b' a :
  (b <= b')%positive -> nodes_below b a -> nodes_below b' a.
Proof. intros Hb H x Hx. apply (node_below_weaken b); auto. Qed.

Lemma clauses_below_weaken b b' cs :
  (b <= b')%positive -> clauses_below b cs -> clauses_below b' cs.
Proof. intros Hb H x Hx. apply (clause_below_weaken b); auto. Qed.

Definition all_true (v : valuation) (cs : list (list signed)) : Prop :=
  forall c, In c cs -> satisfied v c = true.

Lemma all_true_agree b v w cs :
  agree b v w -> clauses_below b cs -> all_true v cs -> all_true w cs.
Proof.
  intros H Hb T c Hc. rewrite <- (satisfied_agree b v w c H); auto.
Qed.

Lemma relax_next k next f : (next <= snd (relax k next f))%positive.
Proof.
  revert next. induction f as [|c f IH]; intros next; simpl; [lia|].
  destruct (Pos.ltb _ _).
  - specialize (IH (Pos.succ next)). destruct (relax _ _ _) as [[? ?] ?]. simpl in *. lia.
  - specialize (IH next). destruct (relax _ _ _) as [[? ?] ?]. simpl in *. lia.
Qed.

Lemma relax_below k f : forall next,
  below next f ->
  let '(clauses, nodes, after) := relax k next f in
  clauses_below after clauses /\ nodes_below after nodes.
Proof.
  induction f as [|c f IH]; intros next H; simpl; [easy|].
  assert (Hc : clause_below next (literals c)) by (apply H; now left).
  assert (Hf : below next f) by (intros d Hd; apply H; now right).
  destruct (Pos.ltb _ _).
  - pose proof (relax_next k (Pos.succ next) f) as N.
    assert (Hf' : below (Pos.succ next) f) by (apply (below_weaken next); [lia|easy]).
    specialize (IH _ Hf'). destruct (relax _ _ _) as [[clauses nodes] after]. simpl in N.
    destruct IH as [A B]. split.
    + intros d [<-|Hd]; [|auto]. intros l Hl. apply in_app_or in Hl.
      destruct Hl as [Hl|[<-|[]]]; [specialize (Hc l Hl); lia|simpl; lia].
    + intros a [<-|Ha]; [|auto]. intros sx [<-|[]]. simpl. lia.
  - pose proof (relax_next k next f) as N. specialize (IH _ Hf).
    destruct (relax _ _ _) as [[clauses nodes] after]. simpl in N.
    destruct IH as [A B]. split; [|easy].
    intros d [<-|Hd]; [|auto]. now apply (clause_below_weaken next).
Qed.

Lemma relax_sound k f : forall v next,
  below next f -> left_by v f < Zpos k ->
  let '(clauses, nodes, after) := relax k next f in
  exists w, agree next w v /\ all_true w clauses /\ all_reached w nodes <= left_by v f.
Proof.
  induction f as [|c f IH]; intros v next H L; [now exists v|].
  assert (Hc : clause_below next (literals c)) by (apply H; now left).
  assert (Hf : below next f) by (intros d Hd; apply H; now right).
  pose proof (left_by_nonnegative v f) as P.
  change (left_by v (c :: f)) with (penalty_of v c + left_by v f) in *.
  assert (L' : left_by v f < Zpos k).
  { unfold penalty_of in L. destruct (satisfied v (literals c)); lia. }
  cbn [relax]. destruct (Pos.ltb_spec (cost c) k) as [W|W].
  - set (x := updated v next (negb (satisfied v (literals c)))).
    assert (Hf' : below (Pos.succ next) f) by (apply (below_weaken next); [lia|easy]).
    assert (E : left_by x f = left_by v f).
    { apply (left_by_agree next); [apply updated_agree|easy]. }
    assert (L2 : left_by x f < Zpos k) by lia.
    specialize (IH x (Pos.succ next) Hf' L2).
    destruct (relax _ _ _) as [[clauses nodes] after].
    destruct IH as [w [A [T R]]].
    assert (A' : agree next w v).
    { apply (agree_trans _ _ x); [|apply updated_agree].
      apply (agree_weaken _ (Pos.succ next)); [lia|easy]. }
    assert (B : w next = negb (satisfied v (literals c))).
    { rewrite (A next) by lia. apply updated_at. }
    exists w. repeat split; [easy| |].
    + intros d [<-|Hd]; [|auto]. unfold satisfied. rewrite existsb_app.
      change (existsb (holds w) (literals c)) with (satisfied w (literals c)).
      rewrite (satisfied_agree next w v _ A' Hc). simpl. rewrite B.
      destruct (satisfied v (literals c)); easy.
    + cbn [all_reached fold_right reached fst snd]. fold (all_reached w nodes).
      rewrite B. rewrite E in R. pose proof (Pos2Z.is_pos (cost c)).
      unfold penalty_of. destruct (satisfied v (literals c)); cbn [negb]; [lia|].
      rewrite Z.max_l by lia. lia.
  - assert (S : satisfied v (literals c) = true).
    { unfold penalty_of in L. destruct (satisfied v (literals c)); [easy|].
      exfalso. lia. }
    specialize (IH v next Hf L'). destruct (relax _ _ _) as [[clauses nodes] after].
    destruct IH as [w [A [T R]]]. exists w. repeat split; [easy| |].
    + intros d [<-|Hd]; [|auto]. now rewrite (satisfied_agree next w v _ A Hc).
    + unfold penalty_of. rewrite S. lia.
Qed.

Lemma number_from_next next s : (next <= snd (number_from next s))%positive.
Proof.
  revert next. induction s as [|x s IH]; intros next; simpl; [lia|].
  specialize (IH (Pos.succ next)). destruct (number_from _ _). simpl in *. lia.
Qed.

Lemma number_from_below next s :
  node_below (snd (number_from next s)) (fst (number_from next s)).
Proof.
  revert next. induction s as [|x s IH]; intros next; simpl; [easy|].
  specialize (IH (Pos.succ next)). pose proof (number_from_next (Pos.succ next) s).
  destruct (number_from _ _) as [c after]. simpl in *.
  intros sx [<-|Hs]; simpl; [lia|auto].
Qed.

Lemma number_from_values (B : Z) s : forall v next, exists w,
  agree next w v /\
  forall sx, In sx (fst (number_from next s)) -> w (snd sx) = (Zpos (fst sx) <=? B).
Proof.
  induction s as [|x s IH]; intros v next; [now exists v|].
  destruct (IH (updated v next (Zpos x <=? B)) (Pos.succ next)) as [w [A H]].
  exists w. split.
  - apply (agree_trans _ _ (updated v next (Zpos x <=? B))); [|apply updated_agree].
    apply (agree_weaken _ (Pos.succ next)); [lia|easy].
  - simpl. destruct (number_from _ _) as [c after]. simpl in *.
    intros sx [<-|Hs]; [|auto]. simpl. rewrite (A next) by lia. apply updated_at.
Qed.

Lemma index_in c s x : PositiveMap.find s (index c) = Some x -> In (s, x) c.
Proof.
  induction c as [|[t y] c IH]; simpl; [rewrite PositiveMap.gempty; easy|].
  destruct (Pos.eq_dec s t) as [->|D].
  - rewrite PositiveMap.gss. intros [= ->]. now left.
  - rewrite PositiveMap.gso by easy. auto.
Qed.

Lemma carry_in c s d e : In e (carry (index c) s d) -> exists x, In (s, x) c /\ e = d ++ [Plus x].
Proof.
  unfold carry. destruct (PositiveMap.find s (index c)) as [x|] eqn:F; [|easy].
  intros [<-|[]]. exists x. split; [now apply index_in|easy].
Qed.

Lemma singles_sound w c a B :
  (forall sx, In sx c -> w (snd sx) = (Zpos (fst sx) <=? B)) -> reached w a <= B ->
  all_true w (singles (index c) a).
Proof.
  intros H R d Hd. apply in_flat_map in Hd. destruct Hd as [sx [Hs Hd]].
  apply carry_in in Hd. destruct Hd as [x [Hx ->]]. simpl.
  destruct (w (snd sx)) eqn:T; simpl; [|easy].
  pose proof (reached_least w a sx Hs T). specialize (H _ Hx). simpl in H. rewrite H.
  rewrite orb_false_r. apply Z.leb_le. lia.
Qed.

Lemma pairs_sound w c a b k :
  (forall sx, In sx c -> w (snd sx) = (Zpos (fst sx) <=? reached w a + reached w b)) ->
  reached w a + reached w b < Zpos k ->
  all_true w (pairs k (index c) a b).
Proof.
  intros H R d Hd. apply in_flat_map in Hd. destruct Hd as [sx [Hs Hd]].
  apply in_flat_map in Hd. destruct Hd as [ty [Ht Hd]]. cbv zeta in Hd.
  pose proof (reached_least w a sx Hs) as P. pose proof (reached_least w b ty Ht) as Q.
  destruct (Pos.ltb_spec (fst sx + fst ty) k) as [L|L].
  - apply carry_in in Hd. destruct Hd as [x [Hx ->]]. simpl.
    destruct (w (snd sx)); simpl; [|easy]. destruct (w (snd ty)); simpl; [|easy].
    specialize (H _ Hx). simpl in H. rewrite H, orb_false_r. apply Z.leb_le.
    specialize (P eq_refl). specialize (Q eq_refl). lia.
  - destruct Hd as [<-|[]]. simpl.
    destruct (w (snd sx)); simpl; [|easy]. destruct (w (snd ty)); simpl; [|easy].
    specialize (P eq_refl). specialize (Q eq_refl). exfalso. lia.
Qed.

Lemma singles_below n c a : node_below n c -> node_below n a -> clauses_below n (singles (index c) a).
Proof.
  intros Hc Ha d Hd. apply in_flat_map in Hd. destruct Hd as [sx [Hs Hd]].
  apply carry_in in Hd. destruct Hd as [x [Hx ->]]. simpl.
  intros l [<-|[<-|[]]]; simpl; [now apply Ha|now apply (Hc _ Hx)].
Qed.

Lemma pairs_below n c a b k :
  node_below n c -> node_below n a -> node_below n b ->
  clauses_below n (pairs k (index c) a b).
Proof.
  intros Hc Ha Hb d Hd. apply in_flat_map in Hd. destruct Hd as [sx [Hs Hd]].
  apply in_flat_map in Hd. destruct Hd as [ty [Ht Hd]]. cbv zeta in Hd.
  destruct (Pos.ltb _ _).
  - apply carry_in in Hd. destruct Hd as [x [Hx ->]]. simpl.
    intros l [<-|[<-|[<-|[]]]]; simpl; [now apply Ha|now apply Hb|now apply (Hc _ Hx)].
  - destruct Hd as [<-|[]].
    intros l [<-|[<-|[]]]; simpl; [now apply Ha|now apply Hb].
Qed.

Lemma two_oldest_queue front back a b front' back' :
  two_oldest front back = Some (a, b, front', back') ->
  front ++ rev back = a :: b :: front' ++ rev back'.
Proof.
  unfold two_oldest. destruct front as [|x [|y front]].
  - simpl. destruct (rev back) as [|x [|y rest]]; try easy.
    intros [= -> -> -> <-]. simpl. now rewrite app_nil_r.
  - simpl. destruct (rev back) as [|y rest]; [easy|].
    intros [= -> -> -> <-]. simpl. now rewrite app_nil_r.
  - intros [= -> -> -> ->]. easy.
Qed.

Lemma totalizer_sound limit k fuel : forall next front back count clauses v F,
  totalizer fuel limit k next front back count clauses = Some F ->
  clauses_below next clauses -> nodes_below next (front ++ rev back) ->
  all_true v clauses -> all_reached v (front ++ rev back) < Zpos k ->
  exists w, all_true w F.
Proof.
  induction fuel as [|x fuel IH]; intros next front back count clauses v F E Hc Hn T R.
  { simpl in E. injection E as <-. now exists v. }
  cbn [totalizer] in E.
  destruct (two_oldest front back) as [[[[a b] front'] back']|] eqn:Q.
  2: { injection E as <-. now exists v. }
  apply two_oldest_queue in Q. rewrite Q in *. clear Q front back.
  destruct (N.ltb _ _); [easy|].
  pose proof (number_from_next next (sums k a b)) as N1.
  pose proof (number_from_below next (sums k a b)) as N2.
  destruct (number_from_values (reached v a + reached v b) (sums k a b) v next) as [w [A V]].
  destruct (number_from next (sums k a b)) as [c after]. cbn [fst snd] in *.
  assert (Ha : node_below next a) by (apply Hn; now left).
  assert (Hb : node_below next b) by (apply Hn; right; now left).
  assert (Hr : nodes_below next (front' ++ rev back')) by (intros y Hy; apply Hn; right; now right).
  rewrite <- (reached_agree next w v a A Ha), <- (reached_agree next w v b A Hb) in V.
  assert (R' : reached w a + (reached w b + all_reached w (front' ++ rev back')) < Zpos k).
  { rewrite (reached_agree next w v a A Ha), (reached_agree next w v b A Hb),
      (all_reached_agree next w v _ A Hr). exact R. }
  pose proof (reached_nonnegative w a). pose proof (reached_nonnegative w b).
  pose proof (all_reached_nonnegative w (front' ++ rev back')).
  apply (IH _ _ _ _ _ w F E).
  - intros d Hd. rewrite rev_append_rev in Hd. apply in_app_or in Hd.
    destruct Hd as [Hd|Hd]; [|apply (clause_below_weaken next); auto].
    apply in_rev in Hd.
    assert (Ha' := node_below_weaken _ _ _ N1 Ha).
    assert (Hb' := node_below_weaken _ _ _ N1 Hb).
    apply in_app_or in Hd. destruct Hd as [Hd|Hd]; [now apply (singles_below after c a)|].
    apply in_app_or in Hd. destruct Hd as [Hd|Hd]; [now apply (singles_below after c b)|].
    now apply (pairs_below after c a b k).
  - simpl. intros y Hy. rewrite app_assoc in Hy. apply in_app_or in Hy.
    destruct Hy as [Hy|[<-|[]]]; [|easy].
    apply (node_below_weaken next); auto.
  - intros d Hd. rewrite rev_append_rev in Hd. apply in_app_or in Hd.
    destruct Hd as [Hd|Hd].
    2: { rewrite (satisfied_agree next w v d A); auto. }
    apply in_rev in Hd.
    apply in_app_or in Hd. destruct Hd as [Hd|Hd].
    { now apply (singles_sound w c a _ V); [lia|]. }
    apply in_app_or in Hd. destruct Hd as [Hd|Hd].
    { now apply (singles_sound w c b _ V); [lia|]. }
    apply (pairs_sound w c a b k V); [lia|easy].
  - simpl rev. rewrite app_assoc, all_reached_app. cbn [all_reached fold_right].
    assert (reached w c <= reached w a + reached w b).
    { apply reached_most; [lia|]. intros sx Hs W. rewrite (V sx Hs) in W.
      now apply Z.leb_le in W. }
    lia.
Qed.

(** If some assignment leaves less than k, the formula of the bound has a model. *)
Theorem bound_formula_sound limit k next f F v :
  below next f -> bound_formula limit k next f = Some F ->
  left_by v f < Zpos k -> exists w, all_true w F.
Proof.
  intros H E L. apply merged_below in H. rewrite <- merged_left in L.
  unfold bound_formula in E.
  pose proof (relax_below k (merged f) next H) as B.
  pose proof (relax_sound k (merged f) v next H L) as S.
  destruct (relax k next (merged f)) as [[clauses nodes] after].
  destruct B as [B1 B2]. destruct S as [w [_ [T R]]].
  apply (totalizer_sound _ _ _ _ _ _ _ _ w F E).
  - intros c Hc. apply B1. now apply in_rev.
  - simpl. now rewrite app_nil_r.
  - intros c Hc. apply T. now apply in_rev.
  - simpl. rewrite app_nil_r. lia.
Qed.
