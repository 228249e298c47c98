"""Theorem R: in `forced`, all ranges [0, 1], each run comes to the hard program."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program.model import policy_optimum
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.claims.ties import beside, forced_parts
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.layout import CLAUSE_BITS
from olivine.reduction.family.variants import DECLARATIONS, Parameters, forced
from olivine.reduction.program.optimum import back, forward, optimum
from olivine.reduction.program.program import build
from olivine.reduction.program.reduction_model import faithful
from olivine.reduction.run.every_tie import Noise, _Copies, _Runs, every_tie
from olivine.reduction.verify.routes import best_member
from olivine.solvers.milp.milp import confirm, solve_milp

from tests.support.depth import with_rows
from tests.support.families import as_three_sat, best_assignments, three_sats
from tests.support.refusals import refused

R, Q, T, A, RHO = Fraction(1, 10), Fraction(1, 10), Fraction(1, 100), 6, 5000
RULES = ("lowest", "largest")


def family_of(clauses, n=1, weights=None):
    return Family(as_three_sat(clauses, n, weights), "forced")


def by_the_table(family, y):
    """The family as docs/ties.md has it, state by state."""
    m, weights = family.n_clauses, family.weights
    shares = np.ones(m, dtype=object) if weights is None else weights.astype(object)
    solved = {
        f"C{j + 1}": Q * Fraction(int(w), sum(map(int, shares)))
        for j, w in enumerate(shares)
    }
    groups = [f"{j}.{c}" for j in range(1, m + 1) for c in (1, 2)]
    tries = [(f"[try x{i}]", 0, {f"X{i}": 1}) for i in range(1, len(y) + 1)]
    tries += [(f"[try y{k}]", 0, {f"Y{k}": 1}) for k in groups]
    rest = Fraction(A, 100) + Q * (R + T) / 2
    start = [
        *tries,
        ("[solve]", Fraction(A, 100), solved | {"bottom2": 1 - Q}),
        ("[rest]", rest, {"bottom2": 1}),
    ]
    states = [("s0", 1, start)]
    for j, clause in enumerate(family.clauses.tolist(), 1):
        actions = []
        for c, bits in itertools.product((1, 2), CLAUSE_BITS.tolist()):
            behind = dict.fromkeys(
                sorted(f"x{abs(x)}^{b}" for x in clause for b in (0, 1)), 0
            )
            for x, bit in zip(clause, bits, strict=True):
                behind[f"x{abs(x)}^{bit if x > 0 else 1 - bit}"] += Fraction(1, 6)
            behind[f"y{j}.{c}"] = Fraction(1, 2)
            name = "".join(map(str, bits)) + f".{c}"
            actions.append((name, 0, {s: p for s, p in behind.items() if p}))
        states.append((f"C{j}", 2, actions))
    quarter, half = Fraction(1, 4), Fraction(1, 2)
    for i in range(1, len(y) + 1):
        pair = {f"x{i}^0": quarter, f"x{i}^1": quarter, f"z{i}": half}
        states.append((f"X{i}", 2, [("[go]", 0, pair)]))
    for i, b in itertools.product(range(1, len(y) + 1), (0, 1)):
        paid = T / 2 if bool(y[i - 1]) == bool(b) else T / 4
        states.append((f"x{i}^{b}", 3, [("[go]", paid, {})]))
    states.append(("bottom", 3, [("[go]", Fraction(1, RHO), {})]))
    states.append(("bottom2", 2, [("[go]", 0, {"bottom": 1})]))
    states += [(f"z{i}", 3, [("[go]", T / 8, {})]) for i in range(1, len(y) + 1)]
    states += [
        (f"Y{k}", 2, [("[go]", 0, {f"y{k}": half, f"z{k}": half})]) for k in groups
    ]
    states += [(f"y{k}", 3, [("[go]", R, {})]) for k in groups]
    states += [(f"z{k}", 3, [("[go]", T, {})]) for k in groups]
    return TabularMDP.from_lists(states)


def spelled(mdp):
    """States and actions by name, order of successors aside."""
    return [
        (
            mdp.state_names[s],
            int(mdp.state_level[s]),
            [
                (mdp.action_names[a], mdp.reward(a), dict(mdp.successors(a)))
                for a in mdp.actions(s)
            ],
        )
        for s in range(mdp.n_states)
    ]


@given(three_sats(max_variables=3, max_clauses=3), st.data())
def test_it_is_the_family_of_the_page(three_sat, data):
    family = Family(three_sat, "forced")
    y = data.draw(st.lists(st.booleans(), min_size=family.n_variables))
    y = (y + [False] * family.n_variables)[: family.n_variables]
    mdp = family.mdp(y)
    mdp.validate()
    assert spelled(mdp) == spelled(by_the_table(family, y))
    assert family.declared_sizes() == family.measured_sizes()
    best = mdp.optimal_values()
    assert family.program().is_feasible(best)
    assert all(0 < v < 1 for v in best.values())
    # [rest] is best, whatever the member.
    assert best.value(0) == family.parameters.best - family.penalty
    policy = data.draw(st.integers(0, 2**32 - 1).map(np.random.default_rng))
    policy = policy.integers(mdp.action_counts).astype(np.int32)
    chain = family.chain(policy)
    taken = [mdp.actions(s)[int(policy[s])] for s in range(mdp.n_states)]
    for state, action in enumerate(taken):
        assert chain.successors(state) == mdp.successors(action)


@settings(max_examples=20)
@given(three_sats(max_variables=3, max_clauses=3, weighted=False))
def test_its_optimum_is_theorem_os(three_sat):
    family = Family(three_sat, "forced")
    u, (truth, *_) = best_assignments(three_sat)
    due = optimum(family.parameters, u)
    assert due == Fraction(3309, 50_000) - Fraction(u, 6000 * family.n_clauses)
    pair = forward(family, truth)
    assert pair.value(0) == due
    assert (back(family, pair) == truth).all()
    found = solve_milp(build(family, "projected").model)
    assert abs(found.objective - float(due)) < 1e-9


@pytest.mark.parametrize(("clauses", "u"), [([[1, 1, 1]], 0), ([[1] * 3, [-1] * 3], 1)])
def test_the_program_word_for_word_has_that_optimum(clauses, u):
    family = family_of(clauses)
    due = optimum(family.parameters, u)
    model = faithful(family)
    found = confirm(model.model, solve_milp(model.model), bound=due)
    assert (found.exact, found.objective) == (True, due)
    assert model.pair([float(v) for v in found.values]).value(0) == due


@pytest.mark.parametrize("levels", RULES)
def test_every_run_from_where_little_is_left(levels):
    """A quick part of the searches below, beside a constraint over literals."""
    family = family_of([[1, -1, -1]])
    parts = forced_parts(family)
    after = [*parts.tries, *parts.groups, parts.ends[1], parts.behind[3]]
    found = every_tie(family, [1], levels, after=after)
    assert found.always, found.example
    assert found.rounds == (2, 2)
    assert found.optima == {family.parameters.best}


@pytest.mark.long  # 3 CPU minutes each under lowest and largest
@pytest.mark.parametrize("y", [[0], [1]])
@pytest.mark.parametrize("levels", [*RULES, "all"])
def test_every_run_on_one_clause(levels, y):
    family = family_of([[1, 1, 1]])
    found = every_tie(family, y, levels)
    assert found.always, found.example
    assert found.optima == {family.parameters.best}
    assert found.rounds == ((5, 5) if levels == "all" else (10, 11))
    assert found.programs == {"lowest": 3249, "largest": 3006, "all": 58}[levels]


@pytest.mark.long
@with_rows("clauses, n, u", ([[1, 2, 2]], 2, 0), ([[1] * 3, [-1] * 3], 1, 1))
def test_every_run_that_binds_all_levels(clauses, n, u):
    family = family_of(clauses, n)
    for y in itertools.product((0, 1), repeat=n):
        found = every_tie(family, y, "all")
        assert found.always, found.example
        assert found.optima == {optimum(family.parameters, u)}
        assert found.rounds == (n + 2 * len(clauses) + 2,) * 2


@pytest.mark.long
@pytest.mark.parametrize("levels", RULES)
def test_drawn_runs_of_three_variables(levels):
    family = family_of([[1, -2, 3]], 3)
    rng = np.random.default_rng(5)
    found = every_tie(family, [1, 0, 1], levels, rng=rng, runs=3)
    assert found.always, found.example
    assert found.optima == {family.parameters.best}


def mutated(monkeypatch, **changes):
    monkeypatch.setitem(DECLARATIONS, Variant.FORCED, forced(**changes))
    monkeypatch.setattr(Parameters, "_check_theorem", lambda _: None)


@pytest.mark.parametrize(("tops", "breaks"), [(838, True), (840, False)])
def test_how_much_a_side_must_pay(monkeypatch, tops, breaks):
    """R > 9T − 18ρ − T/4, which is 8.39 T; on the member where it is least."""
    mutated(monkeypatch, side=Fraction(tops, 10_000))
    family = family_of([[1, -1, -1]])
    parts = forced_parts(family)
    after = [*parts.tries, *parts.groups, *parts.ends[:2], parts.behind[3]]
    for levels in RULES:
        assert every_tie(family, levels=levels, after=after).always != breaks


@with_rows("copies, shared", (1, True), (2, True), (2, False), (4, False))
def test_how_many_copies_stay_free(monkeypatch, copies, shared):
    """Of c copies, c − 1 constraints over literals leave one; so three may of four."""
    mutated(monkeypatch, copies=copies, shared=shared)
    family = family_of([[1, 1, 1]])
    assert family.declared_sizes() == family.measured_sizes()
    through = forced_parts(family).behind[6::7]  # 111, which the clause needs
    assert len(through) == copies
    policy = np.zeros(family.layout.n_states, dtype=np.int32)
    policy[0] = family.layout.solve
    best = []
    for kept in (through[1:], through):
        program = family.program().extended(kept)
        values = []
        for policy[1] in (0, 2, 6):  # those of other copies meet the same equations
            pair = policy_optimum(program, policy)
            values.append(program.objective(pair))
        best.append(max(values))
    assert best[0] == family.parameters.best > best[1]


class Further(_Runs):
    """Rounds that bind their rule's level, and any others of theirs beside it."""

    def _bindings(self, bound):
        for face in self.search.maximisers(bound):
            if self.search.may_stop(face):
                yield ()
            for level, met in enumerate(face.met, 1):
                others = [d for d in face.met if d is not met]
                if self.search.allows(face, level):
                    for n in range(len(others) + 1):
                        for more in itertools.combinations(others, n):
                            yield (met, *more)


def with_two_beside(monkeypatch, copies, levels):
    """All tries and groups bound on (1 1 1), and two constraints over literals."""
    mutated(monkeypatch, copies=copies, shared=False)
    family = family_of([[1, 1, 1]])
    parts = forced_parts(family)
    search = _Copies(family.layout, family.mdp(), family.ranges(), levels, Noise())
    bound = (*parts.tries, *parts.groups, *parts.behind[6:14:7])
    return Further(search, family.distributions(), 3, True), bound, parts, family


@pytest.mark.parametrize("levels", RULES)
def test_the_round_that_binds_s_and_others_beside(monkeypatch, levels):
    """It may add a third constraint over literals, of four copies."""
    found, bound, parts, _ = with_two_beside(monkeypatch, 4, levels)
    after = found.after((*bound, *parts.ends[1:]), 0)
    assert found.example == ()
    assert after
    assert all(found.search.name(parts.ends[0]) in found.key(d) for d in after)
    assert max(len(found.key(d) - found.hard) for d in after) == 3


@pytest.mark.long
@pytest.mark.parametrize("levels", RULES)
@pytest.mark.parametrize("copies", [3, 4])
def test_the_last_runs_that_may_bind_others_beside(monkeypatch, copies, levels):
    found, bound, _, family = with_two_beside(monkeypatch, copies, levels)
    found.everything(bound)
    assert found.example == ()
    best = family.parameters.best
    assert max(found.ends.values()) == best
    assert (min(found.ends.values()) < best) is (copies == 3)


@given(three_sats(max_variables=4, max_clauses=4), st.data())
def test_equations_behind_clauses_are_void(three_sat, data):
    family = Family(three_sat, "forced")
    bits = st.lists(
        st.booleans(), min_size=family.n_variables, max_size=family.n_variables
    )
    y, truth = np.array(data.draw(bits)), np.array(data.draw(bits))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    met, pair = beside(family, y, truth, rng)
    program = family.program(family.mdp(y)).extended([met])
    assert program.violations(pair) == []
    assert program.objective(pair) == forward(family, truth).value(0)


def test_another_engine_agrees_beside_a_constraint_over_literals():
    family = family_of([[1] * 3, [-1] * 3])
    met, _ = beside(
        family, np.array([True]), np.array([False]), np.random.default_rng(8)
    )
    program = family.program(family.mdp([1])).extended([met])
    assert BranchAndBound().maximise(program).value == optimum(family.parameters, 1)


@settings(max_examples=10)
@given(three_sats(max_variables=2, max_clauses=3))
def test_the_hard_program_is_the_same_on_every_member(three_sat):
    family = Family(three_sat, "forced")
    pair, found = forward(family, [0] * family.n_variables), set()
    for y in itertools.product((0, 1), repeat=family.n_variables):
        found.add(tuple(family.program(family.mdp(y)).errors(pair)))
    assert found == {(0,) * len(family.distributions())}


def test_what_has_no_place_for_side_states():
    family = family_of([[1, 1, 1]])
    refused(
        "strengthened has no place for the side states", build, family, "strengthened"
    )
    refused("it goes with paper, normalized, gap", best_member, family)
    refused(r"variant forced has no \[try C\]", family.layout.try_clause, 0)
    refused("choose from lowest, largest, any, all", every_tie, family, levels="first")
    with pytest.raises(ValueError, match="variant strict has no side states"):
        Family(as_three_sat([[1, 1, 1]], 1), "strict").layout.side_state(0, 0)
