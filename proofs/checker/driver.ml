(* Check a certificate of the optimum of OLIVE's program with the verified core.

   olivine_checker [--json] [--input-format cnf|wcnf] CERTIFICATE FILE

   Exit status as `olivine check`: 0 valid, 1 not valid (with the reason), 2
   unreadable. What is accepted has passed Core.accepts, which Checker.v proves
   to accept only what is true; reading, digests and the comparison of (g, pi)
   with the values due are done here. *)

open Refusal
open Json

let limit = 1_000_000

let fields where names value =
  match value with
  | Object found when List.sort compare (List.map fst found) = List.sort compare names -> found
  | _ -> invalid "%s is no object with exactly the fields %s" where (String.concat " " names)

let field name found = List.assoc name found

let rec compare_texts where found due =
  if canonical found <> canonical due then
    match (found, due) with
    | List a, List b when List.length a = List.length b ->
        List.iteri (fun i (x, y) -> compare_texts (Printf.sprintf "%s %d" where (i + 1)) x y)
          (List.combine a b)
    | Object a, Object b
      when List.sort compare (List.map fst a) = List.sort compare (List.map fst b) ->
        List.iter (fun (key, y) -> compare_texts (where ^ " " ^ key) (List.assoc key a) y) b
    | _ ->
        invalid "the certificate's%s is %s; due is %s" where
          (shorten (canonical found)) (shorten (canonical due))

(* SHA-256 of the canonical text with null in place of the digest. *)
let seal given =
  let put (key, value) = (key, if key = "sha256" then Null else value) in
  Sha256.hexadecimal (canonical (Object (List.map put given)))

let summary (f : Formula_file.t) =
  Object
    [
      ("variables", Integer (string_of_int f.variables));
      ("clauses", Integer (string_of_int (List.length f.lines)));
      ("sha256", String (Formula_file.digest f));
    ]

let variant_of = function
  | String "paper" -> Some Core.Paper
  | String "normalized" -> Some Core.Normalized
  | String "gap" -> Some Core.Gap
  | String "all-levels" -> Some Core.AllLevels
  | String "strict" -> Some Core.Strict
  | _ -> None

let action_bits variant = function
  | String "[quit]" when variant = Core.AllLevels -> []
  | String text
    when String.length text = 3
         && String.for_all (fun c -> c = '0' || c = '1') text
         && text <> "000" ->
      List.map (fun i -> text.[i] = '1') [ 0; 1; 2 ]
  | other -> invalid "pi: %s is no action of a clause state" (shorten (canonical other))

(* "[try x3]" with prefix "[try x": 3. *)
let numbered prefix text =
  let p = String.length prefix and n = String.length text in
  if n > p + 1 && n < p + 12 && String.sub text 0 p = prefix && text.[n - 1] = ']' then
    let number = String.sub text p (n - p - 1) in
    if Numbers.all_digits number && number.[0] <> '0' then Some (int_of_string number) else None
  else None

let judge text read_proof (formula : Formula_file.t) =
  let given =
    fields "it"
      [ "format"; "formula"; "three_sat"; "family"; "claim"; "g"; "pi"; "proof"; "sha256" ]
      (parse text)
  in
  let family = fields "family" [ "variant"; "penalty" ] (field "family" given) in
  let claim =
    fields "claim" [ "satisfiable"; "at_least"; "at_most"; "optimum" ] (field "claim" given)
  in
  let g = fields "g" [ "s0"; "C"; "X"; "x0"; "x1"; "bottom" ] (field "g" given) in
  let pi = fields "pi" [ "s0"; "C" ] (field "pi" given) in
  let next = Numbers.positive_of_int (formula.variables + 1) in
  let lines, after = Core.three_sat next formula.lines in
  let n = Numbers.int_of_positive after - 1 in
  let three = { Formula_file.variables = n; lines; weighted = formula.weighted } in
  List.iter
    (fun (name, due) -> compare_texts (" " ^ name) (field name given) due)
    [
      ("format", String "olivine certificate 1");
      ("formula", summary formula);
      ("three_sat", summary three);
      ("sha256", String (seal given));
    ];
  let variant_name = field "variant" family in
  let variant =
    match variant_of variant_name with
    | Some variant -> variant
    | None -> invalid "no variant %s" (shorten (canonical variant_name))
  in
  let p =
    match field "penalty" family with
    | String text -> (
        match Numbers.q_of_string text with
        | Some p -> p
        | None -> invalid "the penalty '%s' is no rational in lowest terms" (shorten text))
    | other -> invalid "the penalty %s is no rational" (shorten (canonical other))
  in
  if not (Core.penalty_allowed variant p) then
    invalid "no variant %s with penalty %s" (canonical variant_name) (Numbers.string_of_q p);
  let least =
    match field "at_least" claim with
    | Integer text when text.[0] <> '-' -> Numbers.z_of_string text
    | other -> invalid "at_least is %s" (shorten (canonical other))
  in
  let rational q = String (Numbers.string_of_q q) in
  let top = Core.literal_top variant p in
  let top_text = rational top and zero = String "0" in
  let truth =
    match field "x1" g with
    | List values when List.length values = n ->
        Array.of_list (List.map (fun v -> v = top_text) values)
    | _ -> invalid "g: x1 is no list of %d" n
  in
  let x i = truth.(Numbers.int_of_positive i - 1) in
  let actions =
    match field "C" pi with
    | List actions when List.length actions = List.length lines ->
        List.map (action_bits variant) actions
    | _ -> invalid "pi: C is no list of %d actions" (List.length lines)
  in
  let matched =
    List.map2 (fun (c : Core.line) bits -> Core.matches x c.literals bits) lines actions
  in
  let value_of = Array.init 4 (fun k -> Core.clause_value top (Numbers.z_of_int k)) in
  let value_text = Array.map rational value_of in
  let paper = variant = Core.Paper in
  let bottoms = match variant with Core.AllLevels -> 1 | Strict -> 2 | _ -> 0 in
  let half_top = Core.qdiv top { Core.qnum = Numbers.z_of_int 2; qden = XH } in
  let start =
    match field "s0" pi with
    | String "[solve]" ->
        Core.solve_value variant p
          (List.map (fun (c : Core.line) -> Core.Zpos c.cost) lines)
          matched
    | String text -> (
        match (numbered "[try x" text, numbered "[try C" text) with
        | Some i, _ when i <= n -> Core.qplus (Core.try_variable_pays variant p) half_top
        | _, Some j when j <= List.length lines ->
            Core.qplus (Core.try_clause_pays variant p)
              value_of.(Numbers.int_of_z (List.nth matched (j - 1)))
        | _ -> invalid "pi: '%s' is no action of s0" (shorten text))
    | other -> invalid "pi: %s is no action of s0" (shorten (canonical other))
  in
  let due_g =
    Object
      [
        ("s0", rational start);
        ("C", List (List.map (fun k -> value_text.(Numbers.int_of_z k)) matched));
        ("X", List (if paper then [] else List.init n (fun _ -> rational half_top)));
        ("x0", List (List.init n (fun i -> if truth.(i) then zero else top_text)));
        ("x1", List (List.init n (fun i -> if truth.(i) then top_text else zero)));
        ("bottom", List (List.init bottoms (fun _ -> zero)));
      ]
  in
  compare_texts " g" (field "g" given) due_g;
  let left = Core.left_by x lines in
  let total = Core.weight_of lines in
  let best = Core.closed_form variant p least total in
  if not (Core.qeq_bool start best && Core.Z.leb least left) then
    invalid "at_least %s allows %s, and g(s0) is %s" (Numbers.string_of_z least)
      (Numbers.string_of_q best) (Numbers.string_of_q start);
  let proof = if least = Core.Z0 then "" else read_proof () in
  compare_texts " claim" (field "claim" given)
    (Object
       [
         ("satisfiable", Bool (left = Core.Z0));
         ("at_least", Integer (Numbers.string_of_z least));
         ("at_most", Integer (Numbers.string_of_z left));
         ("optimum", rational best);
       ]);
  compare_texts " proof" (field "proof" given)
    (if least = Core.Z0 then Null else String (Sha256.hexadecimal proof));
  let steps = if least = Core.Z0 then [] else Proof_text.parse proof in
  let unfolded = ref false in
  let unfold counted =
    unfolded := true;
    Unfold.unfold n steps counted
  in
  let claims =
    {
      Core.about = variant;
      penalty = p;
      claimed_satisfiable = left = Core.Z0;
      at_least = least;
      at_most = left;
      claimed_optimum = best;
    }
  in
  let bound = Core.Npos (Numbers.positive_of_int limit) in
  if not (Core.accepts unfold bound next formula.lines x claims) then
    if least <> Core.Z0 && not !unfolded then
      invalid "counting to %s takes over %d clauses" (Numbers.string_of_z least) limit
    else invalid "the verified core does not accept the claims";
  Object
    ([ ("formula", summary formula); ("variant", variant_name); ("penalty", rational p) ] @ claim)

let usage = "usage: olivine_checker [--json] [--input-format cnf|wcnf] CERTIFICATE FILE"

(* Coq's lists are worked on recursively: ask for all the stack there may be. *)
let with_deep_stack () =
  let marker = "OLIVINE_CHECKER_STACK" in
  if Sys.getenv_opt marker = None then begin
    Unix.putenv marker "raised";
    let command = "ulimit -s $(ulimit -H -s) 2>/dev/null; exec \"$0\" \"$@\"" in
    let arguments = List.tl (Array.to_list Sys.argv) in
    try
      Unix.execv "/bin/sh"
        (Array.of_list ([ "sh"; "-c"; command; Sys.executable_name ] @ arguments))
    with Unix.Unix_error _ -> ()
  end

let () =
  with_deep_stack ();
  let json = ref false and input_format = ref None and paths = ref [] in
  let rec arguments = function
    | [] -> ()
    | "--json" :: rest -> json := true; arguments rest
    | "--input-format" :: (("cnf" | "wcnf") as f) :: rest ->
        input_format := Some f; arguments rest
    | path :: rest -> paths := path :: !paths; arguments rest
  in
  arguments (List.tl (Array.to_list Sys.argv));
  let outcome =
    try
      match List.rev !paths with
      | [ certificate; file ] -> (
          let text = Formula_file.read_bytes certificate in
          let formula = Formula_file.read file !input_format in
          let read_proof () = Formula_file.read_bytes (certificate ^ ".drat") in
          try Ok (judge text read_proof formula) with Invalid reason -> Error (1, reason))
      | _ -> Error (2, usage)
    with
    | Unreadable reason | Sys_error reason -> Error (2, reason)
    | Stack_overflow | Out_of_memory -> Error (2, "it is too large for this machine's memory")
    | Invalid reason | Failure reason | Invalid_argument reason -> Error (2, reason)
    | Not_found -> Error (2, "something is missing")
  in
  match outcome with
  | Ok statement ->
      if !json then print_endline (canonical statement)
      else print_endline ("valid: " ^ canonical statement)
  | Error (status, reason) ->
      prerr_endline ((if status = 1 then "not valid: " else "unreadable: ") ^ reason);
      exit status
