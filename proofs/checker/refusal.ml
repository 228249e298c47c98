(* The two ways in which a certificate is refused. *)

exception Invalid of string (* exit status 1 *)
exception Unreadable of string (* exit status 2 *)

let invalid format = Printf.ksprintf (fun reason -> raise (Invalid reason)) format
let unreadable format = Printf.ksprintf (fun reason -> raise (Unreadable reason)) format
let shorten text = if String.length text <= 80 then text else String.sub text 0 80
