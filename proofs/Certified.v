(** What the checker accepts, said of OLIVE's program: Checker.v with Theorem O. *)

From Coq Require Import List Bool ZArith QArith Qminmax Qreals Reals Lia Lra.
From Olivine Require Import Formula Dimacs ThreeSat Checker.
From Olivine Require Import Family Sums Optimum Optima.
Import ListNotations.
Open Scope R_scope.

Definition construction_of (k : variant) (p : Q) : construction :=
  match k with
  | Paper => paper p
  | Normalized => normalized p
  | Gap => gap
  | AllLevels => all_levels p
  | Strict => strict
  end.

(** The checker's numbers are those of the construction. *)
Theorem numbers_of_construction k p (c := construction_of k p) :
  penalty_allowed k p = true ->
  literal_top k p == top c /\ solve_pays k p == solve_reward c /\
  try_variable_pays k p == variable_reward c /\
  try_clause_pays k p == clause_reward c /\ reach k == share c.
Proof.
  intros H. unfold c. destruct k; simpl; try (repeat split; reflexivity).
  apply andb_prop in H as [_ H]. apply Qeq_bool_eq in H. rewrite H.
  repeat split; reflexivity.
Qed.

(** How many variables the numbers below [next] are. *)
Definition count_below (next : number) : nat := pred (Pos.to_nat next).

(** ** The 3-SAT form is one in the sense of Family.v *)

Lemma chain_nonempty next h rest : fst (chain next h rest) <> [].
Proof.
  destruct rest as [|a [|b [|c rest]]]; [easy..|].
  rewrite chain_step. now destruct (chain _ _ _).
Qed.

Lemma three_sat_nonempty next f : fst (three_sat next f) <> [].
Proof.
  destruct f as [|c f]; [easy|]. simpl. unfold pieces.
  destruct (distinct [] (literals c)) as [|h rest].
  - now destruct (convert _ f).
  - pose proof (chain_nonempty next h rest) as N.
    destruct (chain next h rest) as [new after]. destruct (convert after f). simpl in *.
    now destruct new.
Qed.

Lemma meant_below b l : (name l < b)%positive -> (variable (literal_meant l) < count_below b)%nat.
Proof.
  unfold count_below. intros H. apply Pos2Nat.inj_lt in H.
  destruct l as [i|i]; simpl in *; pose proof (Pos2Nat.is_pos i); lia.
Qed.

Theorem three_sat_is_form next f :
  below next f ->
  three_sat_form (count_below (snd (three_sat next f))) (meaning (fst (three_sat next f))).
Proof.
  intros B. split; [|split].
  - pose proof (three_sat_nonempty next f). now destruct (fst (three_sat next f)).
  - apply meaning_weights_positive.
  - intros w Hw. split; [now apply (three_sat_width next f)|].
    intros l Hl. apply in_map_iff in Hw. destruct Hw as [c [<- Hc]].
    simpl in Hl. apply in_map_iff in Hl. destruct Hl as [k [<- Hk]].
    apply meant_below. now apply (three_sat_below next f B c Hc).
Qed.

(** ** The closed form over the reals *)

Lemma weight_meant f : weight_of f = total_weight (meaning f).
Proof.
  induction f as [|c f IH]; [easy|].
  change (weight_of (c :: f)) with (Zpos (cost c) + weight_of f)%Z.
  rewrite IH. reflexivity.
Qed.

Lemma Q2R_min a b : Q2R (Qmin a b) = Rmin (Q2R a) (Q2R b).
Proof.
  destruct (Q.min_spec a b) as [[H E]|[H E]]; rewrite (Qeq_eqR _ _ E).
  - apply Qlt_Rlt in H. rewrite Rmin_left; lra.
  - apply Qle_Rle in H. rewrite Rmin_right; lra.
Qed.

Lemma Q2R_Z k : Q2R (inject_Z k) = IZR k.
Proof. unfold Q2R. simpl. field. Qed.

Lemma closed_form_real k p u w : (0 < w)%Z ->
  Q2R (closed_form k p u w)
  = Q2R (solve_pays k p) + Q2R (clauses_top k p)
    - Rmin (Q2R (clauses_top k p) * IZR u / (3 * IZR w)) (Q2R p).
Proof.
  intros W. unfold closed_form. rewrite Q2R_minus, Q2R_plus, Q2R_min.
  assert (N : ~ (3 * inject_Z w == 0)%Q).
  { destruct w as [|w|w]; try lia. discriminate. }
  rewrite Q2R_div, !Q2R_mult, !Q2R_Z by exact N.
  replace (Q2R 3) with 3 by (unfold Q2R; simpl; field). reflexivity.
Qed.

(** ** Accepted claims *)

Section Certified.
  Variables (unfold : list (list signed) -> list CheckerProof.step) (limit : N).
  Variables (next : number) (f : list line) (x : valuation) (c : claims).
  Hypothesis accepted : accepts unfold limit next f x c = true.

  Let three := fst (three_sat next f).
  Let n := count_below (snd (three_sat next f)).

  Lemma accepted_form : three_sat_form n (meaning three).
  Proof.
    apply three_sat_is_form. now apply (accepted_parts unfold limit next f x c).
  Qed.

  Lemma penalty_range : 0 < Q2R (penalty c) /\
    match about c with
    | Paper => Q2R (penalty c) <= 1
    | Gap => (penalty c == 1 # 4)%Q
    | Strict => (penalty c == 1 # 20)%Q
    | _ => Q2R (penalty c) < 1
    end.
  Proof.
    destruct (accepted_parts unfold limit next f x c accepted) as (_ & P & _).
    unfold penalty_allowed in P. apply andb_prop in P as [P0 P1].
    assert (Z0 : Q2R 0 = 0) by (unfold Q2R; simpl; field).
    assert (O1 : Q2R 1 = 1) by (unfold Q2R; simpl; field).
    assert (Above : forall a b, negb (Qle_bool a b) = true -> Q2R b < Q2R a).
    { intros a b H. apply Qlt_Rlt. destruct (Qlt_le_dec b a) as [L|L]; [easy|].
      apply Qle_bool_iff in L. now rewrite L in H. }
    split; [rewrite <- Z0; now apply Above|].
    destruct (about c).
    - rewrite <- O1. apply Qle_Rle. now apply Qle_bool_iff.
    - rewrite <- O1. now apply Above.
    - now apply Qeq_bool_eq.
    - rewrite <- O1. now apply Above.
    - now apply Qeq_bool_eq.
  Qed.

  (** The claimed optimum is the optimum of OLIVE's program, for each member. *)
  Theorem accepted_optimum y :
    hard_optimum (construction_of (about c) (penalty c)) n (meaning three) y
      (Q2R (claimed_optimum c)).
  Proof.
    pose proof accepted_form as T. pose proof (least_exists n (meaning three) T) as L.
    set (u := Brute.least n (meaning three)) in *.
    assert (B : below next f) by now apply (accepted_parts unfold limit next f x c).
    assert (Lf : least_unsatisfied (meaning f) u) by now apply (lemma_1 next f u B).
    pose proof (accepted_closed_form unfold limit next f x c accepted u Lf) as E.
    assert (W : (0 < weight_of three)%Z).
    { rewrite weight_meant. apply (total_above_0 n). exact T. }
    rewrite (Qeq_eqR _ _ E). fold three. rewrite (closed_form_real _ _ _ _ W).
    rewrite weight_meant.
    pose proof penalty_range as [P0 P1]. unfold clauses_top. rewrite Q2R_mult.
    destruct (about c) eqn:K; simpl; try rewrite !Q2R_minus; rewrite ?Q2R_1, ?Q2R_0.
    - replace (0 + 1 * 1) with 1 by ring. rewrite !Rmult_1_l. now apply optimum_paper.
    - replace (Q2R (penalty c) + 1 * (1 - Q2R (penalty c))) with 1 by ring.
      rewrite Rmult_1_l. now apply optimum_normalized.
    - replace (Q2R (penalty c) + 1 * (1 - Q2R (penalty c))) with 1 by ring.
      rewrite Rmult_1_l, (Qeq_eqR _ _ P1). apply optimum_normalized; [easy..|].
      unfold Q2R; simpl; lra.
    - replace (Q2R (penalty c) + 1 * (1 - Q2R (penalty c))) with 1 by ring.
      rewrite Rmult_1_l. now apply optimum_all_levels.
    - (* the loss is at most 1/120, so p = 1/20 never caps it *)
      pose proof (u_range n (meaning three) u T L) as U.
      pose proof (W_above_0 n (meaning three) T) as W0.
      pose proof (optimum_strict n (meaning three) y u T L) as O.
      set (V := IZR (total_weight (meaning three))) in *.
      rewrite (Qeq_eqR _ _ P1), Q2R_half.
      replace (Q2R (1 # 10)) with (1 / 10) by (unfold Q2R; simpl; lra).
      replace (Q2R (1 # 20)) with (1 / 20) by (unfold Q2R; simpl; lra).
      replace (1 / 2 * (1 / 10) * IZR u / (3 * V)) with (1 / 20 * (IZR u / (3 * V)))
        by (field; lra).
      rewrite Rmin_left by lra.
      replace (1 / 10 + 1 / 2 * (1 / 10) - 1 / 20 * (IZR u / (3 * V)))
        with (1 / 10 + 1 / 20 * (1 - IZR u / (3 * V))) by lra.
      exact O.
  Qed.
End Certified.
