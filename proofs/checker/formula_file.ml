(* DIMACS CNF and WCNF, as docs/certificate.md reads them, and digests. *)

open Refusal

type t = { variables : int; lines : Core.line list; weighted : bool }

let is_space c = c = ' ' || c = '\t' || c = '\n' || c = '\r' || c = '\011' || c = '\012'
let is_blank c = is_space c && c <> '\n'

(* An integer token in low..high, bounds as decimal text of at most 40 digits. *)
let integer token low high =
  let bad () =
    raise
      (Invalid
         (Printf.sprintf "'%s' where an integer in %s..%s is due"
            (String.sub token 0 (min 40 (String.length token)))
            low high))
  in
  let parts text =
    if text <> "" && text.[0] = '-' then (-1, String.sub text 1 (String.length text - 1))
    else (1, text)
  in
  let strip digits =
    let n = String.length digits in
    let i = ref 0 in
    while !i < n - 1 && digits.[!i] = '0' do incr i done;
    String.sub digits !i (n - !i)
  in
  let compare_digits a b =
    match compare (String.length a) (String.length b) with 0 -> compare a b | c -> c
  in
  let compare_signed (s, a) (t, b) =
    if s <> t then compare s t else s * compare_digits a b
  in
  let sign, digits = parts token in
  if not (Numbers.all_digits digits) then bad ();
  let digits = strip digits in
  if String.length digits > 40 || (sign < 0 && digits = "0") then bad ();
  if compare_signed (sign, digits) (parts low) < 0 then bad ();
  if compare_signed (sign, digits) (parts high) > 0 then bad ();
  (if sign < 0 then "-" else "") ^ digits

let largest_literal = "2147483647"
let power_40 = "1" ^ String.make 40 '0'
let below_power_40 = String.make 40 '9'

let rec first_not test text i =
  if i < String.length text && test text.[i] then first_not test text (i + 1) else i

(* Drop comments and what is behind a line that begins with %; also whether a CR that
   ends no line stands in between: then all may be one line, a comment. *)
let without_comments text =
  let bom = String.starts_with ~prefix:"\xef\xbb\xbf" text in
  let length = String.length text in
  let buffer = Buffer.create length in
  let line_end = first_not (fun c -> c <> '\n') text in
  let rec go i =
    let start = first_not is_blank text i and stop = line_end i in
    if start < length && text.[start] = '%' then i
    else begin
      if not (start < length && text.[start] = 'c') then
        Buffer.add_substring buffer text i (stop - i);
      if stop < length then (Buffer.add_char buffer '\n'; go (stop + 1)) else length
    end
  in
  let from = if bom then 3 else 0 in
  let finish = go from in
  let rec last i = if i > from && is_space text.[i - 1] then last (i - 1) else i in
  let stop = last finish in
  let rec lone i =
    i + 1 < stop && ((text.[i] = '\r' && text.[i + 1] <> '\n') || lone (i + 1))
  in
  (Buffer.contents buffer, lone (first_not is_space text from))

(* Drop "c ..." behind a token of zeros. *)
let without_trailing text =
  let length = String.length text in
  let buffer = Buffer.create length in
  let while_true test = first_not test text in
  let rec go i =
    if i < length then
      if text.[i] = '0' && (i = 0 || is_space text.[i - 1]) then begin
        let zeros = while_true (fun c -> c = '0') i in
        let next = while_true is_blank zeros in
        if next > zeros && next < length && text.[next] = 'c' then begin
          Buffer.add_char buffer '0';
          go (while_true (fun c -> c <> '\n') next)
        end
        else (Buffer.add_substring buffer text i (zeros - i); go zeros)
      end
      else (Buffer.add_char buffer text.[i]; go (i + 1))
  in
  go 0;
  Buffer.contents buffer

let tokens text from =
  let at = ref from and length = String.length text in
  fun () ->
    while !at < length && is_space text.[!at] do incr at done;
    let start = !at in
    while !at < length && not (is_space text.[!at]) do incr at done;
    String.sub text start (!at - start)

let parse given asked named =
  let text, is_one_line = without_comments given in
  let start = first_not is_space text 0 in
  let text = without_trailing (String.sub text start (String.length text - start)) in
  let variables = ref 0 and top = ref power_40 and weighted = ref true and body = ref 0 in
  if text <> "" && text.[0] = 'p' then begin
    let stop = Option.value (String.index_opt text '\n') ~default:(String.length text) in
    let next = tokens (String.sub text 0 stop) 0 in
    let rec all found = match next () with "" -> List.rev found | t -> all (t :: found) in
    let fields = all [] in
    let of_kind kind = asked = None || asked = Some kind in
    (match fields with
    | [ "p"; "cnf"; n; m ] when of_kind "cnf" ->
        weighted := false;
        variables := int_of_string (integer n "0" largest_literal);
        ignore (integer m "0" below_power_40)
    | [ "p"; "wcnf"; n; m ] when of_kind "wcnf" ->
        variables := int_of_string (integer n "0" largest_literal);
        ignore (integer m "0" below_power_40)
    | [ "p"; "wcnf"; n; m; t ] when of_kind "wcnf" ->
        variables := int_of_string (integer n "0" largest_literal);
        ignore (integer m "0" below_power_40);
        top := integer t "1" below_power_40
    | _ -> invalid "the header is malformed or not of the format asked for");
    body := min (String.length text) (stop + 1)
  end
  else if not (named || asked = Some "wcnf") || (text = "" && is_one_line) then invalid "no 'p cnf' header";
  let next = tokens text !body in
  let known = Hashtbl.create 1000 in
  let name i =
    match Hashtbl.find_opt known i with
    | Some p -> p
    | None ->
        let p = Numbers.positive_of_int i in
        Hashtbl.add known i p;
        p
  in
  let rec literals token found =
    let value = int_of_string (integer token ("-" ^ largest_literal) largest_literal) in
    if value = 0 then List.rev found
    else begin
      variables := max !variables (abs value);
      let literal = if value > 0 then Core.Plus (name value) else Core.Minus (name (-value)) in
      literals (next ()) (literal :: found)
    end
  in
  let longer a b = compare (String.length a, a) (String.length b, b) >= 0 in
  let rec clauses token found =
    if token = "" then List.rev found
    else
      let cost, token =
        if not !weighted then (Core.XH, token)
        else begin
          if token = "h" || longer (integer token "1" power_40) !top then
            invalid "a hard clause: the family needs all clauses soft";
          match Numbers.z_of_string (integer token "1" "9223372036854775807") with
          | Zpos p -> (p, next ())
          | _ -> invalid "a weight of 0"
        end
      in
      let literals = literals token [] in
      clauses (next ()) ({ Core.cost; literals } :: found)
  in
  let lines = clauses (next ()) [] in
  { variables = !variables; lines; weighted = !weighted }

let read_bytes path =
  let channel = if path = "-" then stdin else open_in_bin path in
  set_binary_mode_in channel true;
  let buffer = Buffer.create 65536 in
  (try
     while true do
       Buffer.add_channel buffer channel 1
     done
   with End_of_file -> ());
  if path <> "-" then close_in channel;
  Buffer.contents buffer

let read path asked =
  let lower = String.lowercase_ascii path in
  let starts data magic =
    String.length data >= String.length magic
    && String.sub data 0 (String.length magic) = magic
  in
  let data = read_bytes path in
  if List.exists (starts data) [ "\x1f\x8b"; "BZh"; "\xfd7zXZ\x00" ] then
    unreadable "%s: compressed; unpack it first" path;
  try parse data asked (Filename.check_suffix lower ".wcnf" && asked = None)
  with Invalid reason -> unreadable "%s: %s" path reason

let rec add_int64 : Core.positive -> int64 = function
  | XH -> 1L
  | XO p -> Int64.mul 2L (add_int64 p)
  | XI p -> Int64.add 1L (Int64.mul 2L (add_int64 p))

let signed : Core.signed -> int = function
  | Plus p -> Numbers.int_of_positive p
  | Minus p -> -Numbers.int_of_positive p

(* SHA-256 of the content as docs/certificate.md defines it. *)
let digest f =
  let buffer = Buffer.create 65536 in
  let add n = Buffer.add_int64_le buffer (Int64.of_int n) in
  Buffer.add_string buffer "olivine formula 1\n";
  let width (c : Core.line) = List.length c.literals in
  add f.variables;
  add (List.length f.lines);
  add (List.fold_left (fun k c -> k + width c) 0 f.lines);
  add (if f.weighted then 1 else 0);
  add 0;
  ignore
    (List.fold_left
       (fun offset c ->
         let offset = offset + width c in
         add offset;
         offset)
       0 f.lines);
  List.iter
    (fun (c : Core.line) ->
      List.iter (fun l -> Buffer.add_int32_le buffer (Int32.of_int (signed l))) c.literals)
    f.lines;
  if f.weighted then
    List.iter (fun (c : Core.line) -> Buffer.add_int64_le buffer (add_int64 c.cost)) f.lines;
  Sha256.hexadecimal (Buffer.contents buffer)
