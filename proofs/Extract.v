(** The checker as OCaml: what checker/driver.ml calls.

    Only booleans, options, lists and pairs are OCaml's own; numbers stay those
    of Coq, so that no arithmetic of OCaml has to be trusted. *)

From Coq Require Import Extraction ExtrOcamlBasic ZArith QArith.
From Olivine Require Import Dimacs ThreeSat CheckerProof Checker.

Extraction Language OCaml.

Extraction "checker/core.ml"
  accepts three_sat left_by weight_of closed_form literal_top penalty_allowed
  try_variable_pays try_clause_pays
  matches clause_value solve_value Qred Qeq_bool Qplus Qdiv
  Z.add Z.mul Z.opp Z.div_eucl Z.leb Z.eqb Pos.eqb.
