(* Find the hints that the verified checker wants, by unit propagation.

   Nothing here is trusted: wrong hints are refused by Core.refutes. Literals
   are 2v for v and 2v+1 for -v; watched literals; what follows without any
   assumption (the root) is kept and added to the proof as unit clauses. *)

open Refusal

type vector = { mutable items : int array; mutable size : int }

let push vector x =
  if vector.size = Array.length vector.items then begin
    let wider = Array.make (max 8 (2 * vector.size)) 0 in
    Array.blit vector.items 0 wider 0 vector.size;
    vector.items <- wider
  end;
  vector.items.(vector.size) <- x;
  vector.size <- vector.size + 1

let literal_of i = if i > 0 then 2 * i else (-2 * i) + 1
let negation l = l lxor 1

let core_literal l : Core.signed =
  let p = Numbers.positive_of_int (l lsr 1) in
  if l land 1 = 0 then Plus p else Minus p

type state = {
  values : Bytes.t; (* of each literal: '?', 't', 'f' *)
  reasons : int array; (* of each variable: the clause, 0 for an assumption *)
  watches : vector array;
  mutable clauses : int array array; (* by number; [||] where deleted *)
  mutable count : int;
  trail : vector;
  mutable head : int;
}

let value s l = Bytes.get s.values l

let assign s l reason =
  Bytes.set s.values l 't';
  Bytes.set s.values (negation l) 'f';
  s.reasons.(l lsr 1) <- reason;
  push s.trail l

let undo s size =
  for i = size to s.trail.size - 1 do
    let l = s.trail.items.(i) in
    Bytes.set s.values l '?';
    Bytes.set s.values (negation l) '?'
  done;
  s.trail.size <- size;
  s.head <- size

(* Store a clause under the next number. *)
let store s clause =
  s.count <- s.count + 1;
  if s.count >= Array.length s.clauses then begin
    let wider = Array.make (2 * Array.length s.clauses) [||] in
    Array.blit s.clauses 0 wider 0 (Array.length s.clauses);
    s.clauses <- wider
  end;
  s.clauses.(s.count) <- clause;
  s.count

let watch s number =
  let clause = s.clauses.(number) in
  if Array.length clause >= 2 then begin
    push s.watches.(clause.(0)) number;
    push s.watches.(clause.(1)) number
  end

(* The number of a clause that is false, or 0. *)
let propagate s =
  let conflict = ref 0 in
  while !conflict = 0 && s.head < s.trail.size do
    let falsified = negation s.trail.items.(s.head) in
    s.head <- s.head + 1;
    let list = s.watches.(falsified) in
    let kept = ref 0 in
    let i = ref 0 in
    while !i < list.size do
      let number = list.items.(!i) in
      incr i;
      let clause = s.clauses.(number) in
      if Array.length clause > 0 then begin
        if clause.(0) = falsified then begin
          clause.(0) <- clause.(1);
          clause.(1) <- falsified
        end;
        let keep () =
          list.items.(!kept) <- number;
          incr kept
        in
        if value s clause.(0) = 't' then keep ()
        else begin
          let k = ref 2 in
          while !k < Array.length clause && value s clause.(!k) = 'f' do incr k done;
          if !k < Array.length clause then begin
            clause.(1) <- clause.(!k);
            clause.(!k) <- falsified;
            push s.watches.(clause.(1)) number
          end
          else begin
            keep ();
            if value s clause.(0) = 'f' then begin
              conflict := number;
              while !i < list.size do
                list.items.(!kept) <- list.items.(!i);
                incr kept;
                incr i
              done
            end
            else assign s clause.(0) number
          end
        end
      end
    done;
    list.size <- !kept
  done;
  !conflict

(* The clauses that lead to the falsity of [number], in the order of the trail;
   what the root has is known by unit clauses, which come first. *)
let hints s seen number =
  let found = ref [ number ] and units = ref [] in
  let marked = ref [] and waiting = ref 0 in
  let mark l =
    let v = l lsr 1 in
    if Bytes.get seen v = '0' then begin
      Bytes.set seen v '1';
      marked := v :: !marked;
      let reason = s.reasons.(v) in
      if reason > 0 && Array.length s.clauses.(reason) = 1 then units := reason :: !units
      else incr waiting
    end
  in
  Array.iter mark s.clauses.(number);
  let i = ref (s.trail.size - 1) in
  while !waiting > 0 && !i >= 0 do
    let v = s.trail.items.(!i) lsr 1 in
    let reason = s.reasons.(v) in
    let is_unit = reason > 0 && Array.length s.clauses.(reason) = 1 in
    if Bytes.get seen v = '1' && not is_unit then begin
      decr waiting;
      if reason > 0 then begin
        found := reason :: !found;
        Array.iter mark s.clauses.(reason)
      end
    end;
    decr i
  done;
  List.iter (fun v -> Bytes.set seen v '0') !marked;
  !units @ !found

let hash key = Array.fold_left (fun h l -> ((h * 1000003) + l) land max_int) 17 key

let set_of literals =
  Array.of_list (List.sort_uniq compare literals)

(* The steps for Core from a DRAT proof of at least [variables] variables. *)
let unfold variables (proof : Proof_text.step list) (counted : Core.signed list list) =
  let first = List.map (fun c -> List.map (fun l -> literal_of (Formula_file.signed l)) c) counted in
  let variable_of l = l lsr 1 in
  let most = List.fold_left (List.fold_left (fun n l -> max n (variable_of l))) in
  let used = most variables first in
  let steps =
    List.map
      (fun (s : Proof_text.step) -> (s.deletes, List.map literal_of s.literals))
      proof
  in
  let occurrences = List.fold_left (fun n (_, c) -> n + List.length c) 0 steps in
  let limit = used + occurrences in
  let largest = most used (List.map snd steps) in
  if largest > limit then invalid "proof: it names variable %d, too large a one" largest;
  (match List.rev steps with
  | (false, []) :: _ -> ()
  | _ -> invalid "proof: the last step is not the empty clause");
  let s =
    {
      values = Bytes.make ((2 * largest) + 2) '?';
      reasons = Array.make (largest + 1) 0;
      watches = Array.init ((2 * largest) + 2) (fun _ -> { items = [||]; size = 0 });
      clauses = Array.make 1024 [||];
      count = 0;
      trail = { items = [||]; size = 0 };
      head = 0;
    }
  in
  let seen = Bytes.make (largest + 1) '0' in
  let live : (int, int array * int) Hashtbl.t = Hashtbl.create 10000 in
  let steps_out = ref [] in
  let emit number clause hints =
    steps_out :=
      Core.Add
        ( Numbers.positive_of_int number,
          List.map core_literal clause,
          List.map Numbers.positive_of_int hints )
      :: !steps_out
  in
  let refuted = ref false in
  let refute hints =
    refuted := true;
    emit (s.count + 1) [] hints
  in
  (* Add to the proof, as unit clauses, what the root has since [from]. *)
  let settle from =
    for i = from to s.trail.size - 1 do
      let l = s.trail.items.(i) in
      let reason = s.reasons.(l lsr 1) in
      let clause = s.clauses.(reason) in
      if Array.length clause > 1 then begin
        let units =
          List.filter_map
            (fun k -> if k = l then None else Some s.reasons.(k lsr 1))
            (Array.to_list clause)
        in
        let unit = store s [| l |] in
        emit unit [ l ] (units @ [ reason ]);
        s.reasons.(l lsr 1) <- unit
      end
    done
  in
  let root_propagate () =
    let from = s.head in
    let conflict = propagate s in
    if conflict > 0 then refute (hints s seen conflict) else settle from
  in
  (* Take a stored clause into the root; free literals come first. *)
  let enter number =
    let clause = s.clauses.(number) in
    let satisfied = Array.exists (fun l -> value s l = 't') clause in
    if satisfied then watch s number
    else begin
      let free, rest = List.partition (fun l -> value s l <> 'f') (Array.to_list clause) in
      Array.blit (Array.of_list (free @ rest)) 0 clause 0 (Array.length clause);
      watch s number;
      match free with
      | [] -> refute (hints s seen number)
      | [ l ] ->
          assign s l number;
          root_propagate ()
      | _ -> ()
    end
  in
  let keep key number = Hashtbl.add live (hash key) (key, number) in
  let numbers =
    List.map
      (fun c ->
        let key = set_of c in
        let number = store s (Array.copy key) in
        keep key number;
        number)
      first
  in
  List.iter (fun number -> if not !refuted then enter number) numbers;
  let rup literals =
    let mark = s.trail.size in
    let rec negate = function
      | [] -> None
      | l :: rest -> (
          match value s l with
          | 't' ->
              (* A unit clause of the root; or the clause is a tautology. *)
              let reason = s.reasons.(l lsr 1) in
              Some (if reason > 0 then [ reason ] else [])
          | 'f' -> negate rest
          | _ ->
              assign s (negation l) 0;
              negate rest)
    in
    let result =
      match negate literals with
      | Some found -> Some found
      | None ->
          let conflict = propagate s in
          if conflict > 0 then Some (hints s seen conflict) else None
    in
    undo s mark;
    result
  in
  let delete key =
    match List.find_opt (fun (k, _) -> k = key) (Hashtbl.find_all live (hash key)) with
    | None -> ()
    | Some (_, number) ->
        (* Hashtbl keeps a stack for each hash: take the others off and back. *)
        let rec remove others =
          match Hashtbl.find_opt live (hash key) with
          | Some (k, n) when n <> number ->
              Hashtbl.remove live (hash key);
              remove ((k, n) :: others)
          | Some _ ->
              Hashtbl.remove live (hash key);
              List.iter (fun entry -> Hashtbl.add live (hash key) entry) others
          | None -> ()
        in
        remove [];
        s.clauses.(number) <- [||];
        steps_out := Core.Delete [ Numbers.positive_of_int number ] :: !steps_out
  in
  let rec run index = function
    | [] -> ()
    | _ when !refuted -> ()
    | (true, literals) :: rest ->
        let key = set_of literals in
        if Array.length key > 1 then delete key;
        run (index + 1) rest
    | (false, literals) :: rest -> (
        match rup literals with
        | None -> invalid "proof: the clause of step %d is not RUP" index
        | Some found ->
            if literals = [] then refute found
            else begin
              let key = set_of literals in
              let number = store s (Array.copy key) in
              keep key number;
              emit number (Array.to_list key) found;
              enter number;
              run (index + 1) rest
            end)
  in
  run 1 steps;
  List.rev !steps_out
