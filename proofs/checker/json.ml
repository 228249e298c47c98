(* JSON without floating-point numbers and repeated keys; its canonical text.

   Strings are kept as their canonical text has them: ASCII, others escaped. *)

open Refusal

type t =
  | Null
  | Bool of bool
  | Integer of string
  | String of string
  | List of t list
  | Object of (string * t) list

let deepest = 900

let rec canonical = function
  | Null -> "null"
  | Bool b -> string_of_bool b
  | Integer text -> text
  | String text -> "\"" ^ text ^ "\""
  | List items -> "[" ^ String.concat "," (List.map canonical items) ^ "]"
  | Object fields ->
      let sorted = List.sort (fun (a, _) (b, _) -> compare a b) fields in
      let field (key, value) = "\"" ^ key ^ "\":" ^ canonical value in
      "{" ^ String.concat "," (List.map field sorted) ^ "}"

let escaped buffer code =
  let add = Buffer.add_string buffer in
  match code with
  | 0x22 -> add "\\\""
  | 0x5c -> add "\\\\"
  | 0x0a -> add "\\n"
  | 0x0d -> add "\\r"
  | 0x09 -> add "\\t"
  | 0x0c -> add "\\f"
  | 0x08 -> add "\\b"
  | _ when 0x20 <= code && code < 0x7f -> Buffer.add_char buffer (Char.chr code)
  | _ when code < 0x10000 -> add (Printf.sprintf "\\u%04x" code)
  | _ ->
      let c = code - 0x10000 in
      add (Printf.sprintf "\\u%04x\\u%04x" (0xd800 lor (c lsr 10)) (0xdc00 lor (c land 0x3ff)))

let parse text =
  let length = String.length text in
  let bad at what = unreadable "the certificate is no JSON: %s at byte %d" what at in
  let at = ref (if String.length text >= 3 && String.sub text 0 3 = "\xef\xbb\xbf" then 3 else 0) in
  let peek () = if !at < length then text.[!at] else '\000' in
  let starts word =
    !at + String.length word <= length && String.sub text !at (String.length word) = word
  in
  let rec blank () =
    match peek () with
    | ' ' | '\t' | '\n' | '\r' -> incr at; blank ()
    | _ -> ()
  in
  (* One character of UTF-8, as a code point. *)
  let utf8 () =
    let byte k = if !at + k < length then Char.code text.[!at + k] else 0 in
    let rest k = if byte k land 0xc0 <> 0x80 then bad !at "no UTF-8" else byte k land 0x3f in
    let first = byte 0 in
    let size, code, least =
      if first < 0x80 then (1, first, 0)
      else if first land 0xe0 = 0xc0 then (2, ((first land 0x1f) lsl 6) lor rest 1, 0x80)
      else if first land 0xf0 = 0xe0 then
        (3, ((first land 0xf) lsl 12) lor (rest 1 lsl 6) lor rest 2, 0x800)
      else if first land 0xf8 = 0xf0 then
        ( 4,
          ((first land 7) lsl 18) lor (rest 1 lsl 12) lor (rest 2 lsl 6) lor rest 3,
          0x10000 )
      else bad !at "no UTF-8"
    in
    if code < least || code > 0x10ffff then bad !at "no UTF-8";
    at := !at + size;
    code
  in
  let four () =
    let digit k =
      match if !at + k < length then text.[!at + k] else ' ' with
      | '0' .. '9' as c -> Char.code c - 48
      | 'a' .. 'f' as c -> Char.code c - 87
      | 'A' .. 'F' as c -> Char.code c - 55
      | _ -> bad !at "a malformed escape"
    in
    let code = (digit 0 lsl 12) lor (digit 1 lsl 8) lor (digit 2 lsl 4) lor digit 3 in
    at := !at + 4;
    code
  in
  let escape () =
    incr at;
    let c = peek () in
    incr at;
    match c with
    | '"' | '\\' | '/' -> Char.code c
    | 'n' -> 10
    | 'r' -> 13
    | 't' -> 9
    | 'f' -> 12
    | 'b' -> 8
    | 'u' ->
        let high = four () in
        if 0xd800 <= high && high < 0xdc00 && starts "\\u" then begin
          let before = !at in
          at := !at + 2;
          let low = four () in
          if 0xdc00 <= low && low < 0xe000 then
            0x10000 + ((high land 0x3ff) lsl 10) + (low land 0x3ff)
          else (at := before; high)
        end
        else high
    | _ -> bad (!at - 1) "a malformed escape"
  in
  let string () =
    incr at;
    let buffer = Buffer.create 16 in
    let rec go () =
      if !at >= length then bad !at "a string without end"
      else
        match peek () with
        | '"' -> incr at
        | '\\' -> escaped buffer (escape ()); go ()
        | c when c < ' ' -> bad !at "a control character in a string"
        | _ -> escaped buffer (utf8 ()); go ()
    in
    go ();
    Buffer.contents buffer
  in
  let number () =
    let start = !at in
    let digits () =
      let from = !at in
      while !at < length && '0' <= peek () && peek () <= '9' do incr at done;
      !at > from
    in
    if peek () = '-' then incr at;
    if peek () = '0' then incr at
    else if not (digits ()) then bad start "no value";
    let integer = String.sub text start (!at - start) in
    let float = ref false in
    let rewind = !at in
    if peek () = '.' then (incr at; if digits () then float := true else at := rewind);
    let rewind = !at in
    if peek () = 'e' || peek () = 'E' then begin
      incr at;
      if peek () = '+' || peek () = '-' then incr at;
      if digits () then float := true else at := rewind
    end;
    if !float then
      invalid "%s is a floating-point number; none is due"
        (shorten (String.sub text start (!at - start)));
    let size = String.length integer - if integer.[0] = '-' then 1 else 0 in
    if size > 200 || integer = "-0" then
      invalid "%s is no integer, or too long a one" (shorten integer);
    Integer integer
  in
  let rec value depth =
    if depth > deepest then bad !at "too deep a nest";
    match peek () with
    | '{' -> incr at; blank (); Object (fields depth)
    | '[' -> incr at; blank (); List (items depth)
    | '"' -> String (string ())
    | _ ->
        let word w result = at := !at + String.length w; result in
        if starts "null" then word "null" Null
        else if starts "true" then word "true" (Bool true)
        else if starts "false" then word "false" (Bool false)
        else if starts "NaN" || starts "Infinity" || starts "-Infinity" then
          invalid "NaN and Infinity are floating-point numbers; none is due"
        else number ()
  and items depth =
    if peek () = ']' then (incr at; [])
    else
      let rec go found =
        blank ();
        let item = value (depth + 1) in
        blank ();
        match peek () with
        | ',' -> incr at; go (item :: found)
        | ']' -> incr at; List.rev (item :: found)
        | _ -> bad !at "no comma"
      in
      go []
  and fields depth =
    let rec go found =
      blank ();
      if peek () <> '"' then bad !at "no key";
      let key = string () in
      blank ();
      if peek () <> ':' then bad !at "no colon";
      incr at;
      blank ();
      let found = (key, value (depth + 1)) :: found in
      blank ();
      match peek () with
      | ',' -> incr at; go found
      | '}' -> incr at; List.rev found
      | _ -> bad !at "no comma"
    in
    let found = if peek () = '}' then (incr at; []) else go [] in
    let keys = List.sort compare (List.map fst found) in
    let rec twice = function
      | a :: (b :: _ as rest) ->
          if a = b then invalid "the key '%s' occurs twice in an object" (shorten a) else twice rest
      | _ -> ()
    in
    twice keys;
    found
  in
  blank ();
  let result = value 0 in
  blank ();
  if !at < length then bad !at "more text";
  result
