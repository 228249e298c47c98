#!/bin/sh
# Fail on an unfinished proof, an axiom of our own, or an axiom that is not of the
# standard library's real numbers. Print what each theorem rests on. Reads the
# files of this folder and assumptions.txt, Coq's answers to Theorems.v.
set -eu
cd "$(dirname "$0")"

allowed="ClassicalDedekindReals.sig_forall_dec
ClassicalDedekindReals.sig_not_dec
FunctionalExtensionality.functional_extensionality_dep"

words='Admitted|admit|give_up|Axioms?|Parameters?|Conjecture'
if grep -nE "(^|[^A-Za-z_'])($words)([^A-Za-z_']|\$)" ./*.v; then
    echo "check_assumptions: an unfinished proof or an axiom, above" >&2
    exit 1
fi

# An answer of Coq for each name: "Closed under the global context", or "Axioms:"
# and the axioms, each at the start of a line, its type behind a colon.
sed -n 's/^Print Assumptions \(.*\)\.$/\1/p' Theorems.v | awk -v allowed="$allowed" '
    BEGIN { n = split(allowed, names, "\n"); for (i = 1; i <= n; i++) fine[names[i]] = 1 }
    FNR == NR { name[++count] = $1; next }
    /^Closed under the global context/ { print name[++k] ": no axiom"; next }
    /^Axioms:/ { print name[++k] ": axioms of the real numbers"; next }
    /^[A-Za-z]/ { if (!($1 in fine)) { print "check_assumptions: " name[k] " rests on " $1; bad = 1 } }
    END { if (k != count) { print "check_assumptions: " count " names, " k " answers"; bad = 1 }
          exit bad }
' - assumptions.txt
