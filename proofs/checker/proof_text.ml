(* DRAT proofs as text: steps of signed integers. *)

open Refusal

type step = { deletes : bool; literals : int list }

let is_line_end c = c = '\n' || c = '\r' || c = '\011' || c = '\012' || ('\028' <= c && c <= '\030')
let is_space c = c = ' ' || c = '\t' || is_line_end c || c = '\031'

(* Python's int(): a sign, digits, single underscores between them. *)
let integer token line =
  let bad () = invalid "proof line %d: bad token '%s'" line (shorten token) in
  let length = String.length token in
  let signed = length > 0 && (token.[0] = '-' || token.[0] = '+') in
  let start = if signed then 1 else 0 in
  if length = start then bad ();
  let value = ref 0 in
  for i = start to length - 1 do
    match token.[i] with
    | '0' .. '9' as c ->
        if !value > max_int / 20 then
          invalid "proof line %d: %s names too large a variable" line (shorten token);
        value := (10 * !value) + Char.code c - 48
    | '_' when i > start && i < length - 1 && token.[i - 1] <> '_' && token.[i + 1] <> '_' -> ()
    | _ -> bad ()
  done;
  if token.[0] = '-' then - !value else !value

let parse text =
  String.iter (fun c -> if c >= '\128' then invalid "proof: it is no ASCII text") text;
  let length = String.length text in
  let steps = ref [] and literals = ref [] in
  let deletes = ref false and opened = ref 0 and line = ref 0 in
  let take token =
    let number =
      if token.[0] <> 'd' then token
      else begin
        if !opened > 0 then invalid "proof line %d: '%s' inside a clause" !line (shorten token);
        deletes := true;
        opened := !line;
        String.sub token 1 (String.length token - 1)
      end
    in
    if number <> "" then begin
      let value = integer number !line in
      if value = 0 then begin
        steps := { deletes = !deletes; literals = List.rev !literals } :: !steps;
        deletes := false;
        literals := [];
        opened := 0
      end
      else begin
        literals := value :: !literals;
        if !opened = 0 then opened := !line
      end
    end
  in
  let rec until test i = if i < length && not (test text.[i]) then until test (i + 1) else i in
  let rec words i stop =
    let start = until (fun c -> not (is_space c)) i in
    if start < stop then begin
      let behind = min stop (until is_space start) in
      take (String.sub text start (behind - start));
      words behind stop
    end
  in
  let rec lines i =
    if i < length then begin
      incr line;
      let stop = until is_line_end i in
      let start = until (fun c -> not (is_space c)) i in
      if not (start < stop && text.[start] = 'c') then words i stop;
      let two = stop + 1 < length && text.[stop] = '\r' && text.[stop + 1] = '\n' in
      lines (stop + if two then 2 else 1)
    end
  in
  lines 0;
  if !opened > 0 then
    invalid "proof line %d: clause not terminated by 0 before the end of the proof" !opened;
  List.rev !steps
