(* Coq's numbers from and to OCaml's and decimal text. *)

let rec positive_of_int n : Core.positive =
  if n = 1 then XH
  else if n land 1 = 0 then XO (positive_of_int (n lsr 1))
  else XI (positive_of_int (n lsr 1))

let rec int_of_positive : Core.positive -> int = function
  | XH -> 1
  | XO p -> 2 * int_of_positive p
  | XI p -> (2 * int_of_positive p) + 1

let z_of_int n : Core.z =
  if n = 0 then Z0 else if n > 0 then Zpos (positive_of_int n) else Zneg (positive_of_int (-n))

let int_of_z : Core.z -> int = function
  | Z0 -> 0
  | Zpos p -> int_of_positive p
  | Zneg p -> -int_of_positive p

(* Text of digits, a minus sign in front allowed. *)
let rec z_of_string text =
  if text.[0] = '-' then Core.Z.opp (z_of_string (String.sub text 1 (String.length text - 1)))
  else
    let rec from value i =
      if i >= String.length text then value
      else
        let k = min 15 (String.length text - i) in
        let rec ten n = if n = 0 then 1 else 10 * ten (n - 1) in
        let chunk = z_of_int (Scanf.sscanf (String.sub text i k) "%u" Fun.id) in
        from (Core.Z.add (Core.Z.mul value (z_of_int (ten k))) chunk) (i + k)
    in
    from Core.Z0 0

let rec string_of_z (z : Core.z) =
  match z with
  | Z0 -> "0"
  | Zneg p -> "-" ^ string_of_z (Zpos p)
  | Zpos _ ->
      let base = z_of_int 1_000_000_000 in
      let rec chunks z found =
        if z = Core.Z0 then found
        else
          let quotient, rest = Core.Z.div_eucl z base in
          chunks quotient (int_of_z rest :: found)
      in
      (match chunks z [] with
      | [] -> "0"
      | first :: rest ->
          String.concat "" (string_of_int first :: List.map (Printf.sprintf "%09d") rest))

(* Lowest terms. *)
let string_of_q q =
  let { Core.qnum; qden } = Core.qred q in
  string_of_z qnum ^ if qden = XH then "" else "/" ^ string_of_z (Zpos qden)

let all_digits text = text <> "" && String.for_all (fun c -> '0' <= c && c <= '9') text

(* "3", "-1/2": in lowest terms, at most 200 digits a part; else [None]. *)
let q_of_string text =
  let part s = all_digits s && String.length s <= 200 in
  let unsigned =
    if text <> "" && text.[0] = '-' then String.sub text 1 (String.length text - 1) else text
  in
  let q =
    match String.split_on_char '/' unsigned with
    | [ a ] when part a -> Some { Core.qnum = z_of_string a; qden = XH }
    | [ a; b ] when part a && part b && b.[0] <> '0' -> (
        match z_of_string b with
        | Zpos p -> Some { Core.qnum = z_of_string a; qden = p }
        | _ -> None)
    | _ -> None
  in
  match q with
  | None -> None
  | Some q ->
      let q = if unsigned == text then q else { q with qnum = Core.Z.opp q.qnum } in
      if string_of_q q = text then Some q else None
