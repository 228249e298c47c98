(** The theorems, one a line, with what each rests on.

    check_assumptions.sh reads this file: every name printed here may rest on
    the axioms of the standard library's real numbers, and on nothing else.
    docs/proofs.md says which statement of the project each one proves. *)

From Olivine Require Import Formula Dimacs ThreeSat Multi.
From Olivine Require Import CheckerBound CheckerProof Checker Certified.
From Olivine Require Import Optimum Optima Back Explore Run RunAll Strict StrictAny StrictSharp Tolerance.
From Olivine Require Import Randomised TwoActions TwoStrict.
From Olivine Require Import Forced ForcedOptimum ForcedRounds ForcedRuns.
From Olivine Require Import FalseStatements Bridge.

(* Lemma 1: the 3-SAT form *)
Print Assumptions three_sat_width.
Print Assumptions three_sat_back.
Print Assumptions three_sat_forth.
Print Assumptions lemma_1.
Print Assumptions three_sat_satisfiable.

(* Theorem O *)
Print Assumptions optimum_paper.
Print Assumptions optimum_normalized.
Print Assumptions optimum_gap.
Print Assumptions optimum_all_levels.
Print Assumptions optimum_strict.
Print Assumptions paper_decides.
Print Assumptions normalized_decides.
Print Assumptions gap_decides.
Print Assumptions all_levels_decides.

(* Theorem O with tolerance *)
Print Assumptions optimum_strict_within.
Print Assumptions optimum_gap_within.
Print Assumptions estimates_decide.

(* Randomised policies, two actions a state *)
Print Assumptions randomised_policies_do_not_help.
Print Assumptions two_actions_optimum.

(* The way back *)
Print Assumptions back_paper.
Print Assumptions back_normalized.
Print Assumptions back_all_levels.
Print Assumptions back_strict.
Print Assumptions back_paper_satisfying.
Print Assumptions back_normalized_satisfying.

(* Runs of OLIVE *)
Print Assumptions error_sum_shortfall.
Print Assumptions run_paper.
Print Assumptions run_normalized.
Print Assumptions run_gap.
Print Assumptions run_all_levels.
Print Assumptions run_on_its_way.
Print Assumptions run_goes_on.
Print Assumptions run_exists.
Print Assumptions theorem_T.
Print Assumptions any_level_strays.
Print Assumptions near_run_on_its_way.
Print Assumptions near_run_goes_on.
Print Assumptions near_run_meets_hard_program.
Print Assumptions fits_near.
Print Assumptions fiftieth_strays.
Print Assumptions fits_own_constants.
Print Assumptions fits_own_samples.
Print Assumptions constant_accuracy.

(* Theorem T with two actions a state *)
Print Assumptions two_trees_exist.
Print Assumptions two_run.
Print Assumptions two_run_goes_on.
Print Assumptions theorem_T_two_actions.

(* Theorem R: the forced family *)
Print Assumptions basic_sound.
Print Assumptions inside_sound.
Print Assumptions lemma_0.
Print Assumptions optimum_forced.
Print Assumptions forced_planner.
Print Assumptions forced_run.
Print Assumptions forced_run_goes_on.
Print Assumptions theorem_R.
Print Assumptions forced_run_all.
Print Assumptions forced_run_all_goes_on.
Print Assumptions theorem_R_all.

(* False statements, refuted *)
Print Assumptions whole_pair_is_false.
Print Assumptions half_for_an_unsatisfied_clause_is_false.
Print Assumptions number_for_total_weight_is_false.
Print Assumptions critical_tolerance_of_eight_signs.
Print Assumptions one_in_739_is_false.

(* The bridge to Python *)
Print Assumptions computed_optimum_correct.

(* The multi-data-set oracle *)
Print Assumptions policy_feasible.
Print Assumptions multi_decides_three_sat.
Print Assumptions multi_size.
Print Assumptions mixture_feasible.

(* The checker of certificates *)
Print Assumptions bound_formula_sound.
Print Assumptions refutes_sound.
Print Assumptions accepted_at_least.
Print Assumptions accepted_at_most.
Print Assumptions accepted_bounds.
Print Assumptions accepted_satisfiable.
Print Assumptions accepted_closed_form.
Print Assumptions numbers_of_construction.
Print Assumptions accepted_optimum.
