(* SHA-256 (FIPS 180-4) of a string, in hexadecimal. *)

let primes count =
  let rec grow found candidate =
    if List.length found = count then List.rev found
    else if List.exists (fun p -> candidate mod p = 0) found then
      grow found (candidate + 1)
    else grow (candidate :: found) (candidate + 1)
  in
  grow [] 2

(* The first 32 bits of the fractional part of the root of p, by bisection:
   the largest r with r^k <= p * 2^(32k), in numbers of 16-bit digits. *)
let multiply a b =
  let product = Array.make (Array.length a + Array.length b + 1) 0 in
  Array.iteri
    (fun i x ->
      let carry = ref 0 in
      Array.iteri
        (fun j y ->
          let sum = product.(i + j) + (x * y) + !carry in
          product.(i + j) <- sum land 0xffff;
          carry := sum lsr 16)
        b;
      product.(i + Array.length b) <- product.(i + Array.length b) + !carry)
    a;
  product

let digits n = Array.init 4 (fun i -> (n lsr (16 * i)) land 0xffff)

let at_most a b =
  let digit c i = if i < Array.length c then c.(i) else 0 in
  let rec compare_from i =
    i < 0 || digit a i < digit b i || (digit a i = digit b i && compare_from (i - 1))
  in
  compare_from (max (Array.length a) (Array.length b) - 1)

let root_fraction k p =
  let power r =
    let d = digits r in
    if k = 2 then multiply d d else multiply d (multiply d d)
  in
  let target = Array.append (Array.make (2 * k) 0) (digits p) in
  let rec search low high =
    if high - low <= 1 then low
    else
      let middle = (low + high) / 2 in
      if at_most (power middle) target then search middle high else search low middle
  in
  search 0 (1 lsl 37) land 0xffffffff

let round_constants = Array.of_list (List.map (root_fraction 3) (primes 64))
let start = Array.of_list (List.map (root_fraction 2) (primes 8))
let mask = 0xffffffff
let rotate x n = ((x lsr n) lor (x lsl (32 - n))) land mask

let compress state data offset =
  let w = Array.make 64 0 in
  for i = 0 to 15 do
    w.(i) <- Int32.to_int (Bytes.get_int32_be data (offset + (4 * i))) land mask
  done;
  for i = 16 to 63 do
    let a = w.(i - 15) and b = w.(i - 2) in
    let s0 = rotate a 7 lxor rotate a 18 lxor (a lsr 3) in
    let s1 = rotate b 17 lxor rotate b 19 lxor (b lsr 10) in
    w.(i) <- (w.(i - 16) + s0 + w.(i - 7) + s1) land mask
  done;
  let v = Array.copy state in
  for i = 0 to 63 do
    let a = v.(0) and e = v.(4) in
    let s1 = rotate e 6 lxor rotate e 11 lxor rotate e 25 in
    let choice = e land v.(5) lxor (lnot e land mask land v.(6)) in
    let t1 = v.(7) + s1 + choice + round_constants.(i) + w.(i) in
    let s0 = rotate a 2 lxor rotate a 13 lxor rotate a 22 in
    let majority = a land v.(1) lxor (a land v.(2)) lxor (v.(1) land v.(2)) in
    Array.blit v 0 v 1 7;
    v.(4) <- (v.(4) + t1) land mask;
    v.(0) <- (t1 + s0 + majority) land mask
  done;
  Array.iteri (fun i x -> state.(i) <- (state.(i) + x) land mask) v

let hexadecimal text =
  let length = String.length text in
  let blocks = (length + 9 + 63) / 64 in
  let data = Bytes.make (64 * blocks) '\000' in
  Bytes.blit_string text 0 data 0 length;
  Bytes.set data length '\x80';
  Bytes.set_int64_be data ((64 * blocks) - 8) (Int64.of_int (8 * length));
  let state = Array.copy start in
  for block = 0 to blocks - 1 do
    compress state data (64 * block)
  done;
  String.concat "" (Array.to_list (Array.map (Printf.sprintf "%08x") state))
