"""DRN and PRISM files read back by readers of our own; see also test_storm."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.reduction.export import model_checkers
from olivine.reduction.export.model_checkers import (
    KEYWORDS,
    generate_drn,
    generate_prism,
    identifiers,
    write_drn,
    write_prism,
)
from olivine.reduction.family.family import Family

from tests.support.families import VARIANTS, as_three_sat, families
from tests.support.files import Model, read_drn, read_prism
from tests.support.tabular import mdps

FORMATS = [
    pytest.param(generate_drn, read_drn, id="drn"),
    pytest.param(generate_prism, read_prism, id="prism"),
]


def written(generate, mdp: TabularMDP) -> str:
    return "\n".join(generate(mdp)) + "\n"


def same(model: Model, mdp: TabularMDP) -> None:
    """Every choice, in order, and nothing else but the end."""
    end = mdp.n_states
    assert (model.start, model.end, len(model.states)) == (mdp.start, end, end + 1)
    for state in range(end):
        choices = model.states[state]
        assert len(choices) == len(mdp.actions(state))
        for action, (_, reward, successors) in zip(
            mdp.actions(state), choices, strict=True
        ):
            assert reward == mdp.reward(action)
            assert successors == dict(mdp.successors(action) or [(end, Fraction(1))])
    assert model.optimal_value() == mdp.optimal_values().value(mdp.start)


@pytest.mark.parametrize(("generate", "read"), FORMATS)
@given(data=st.data())
def test_members(generate, read, data):
    family = data.draw(families(max_variables=3, max_clauses=3))
    n = family.n_variables
    y = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    same(read(written(generate, family.mdp(y))), family.mdp(y))


@pytest.mark.parametrize(("generate", "read"), FORMATS)
@given(mdp=mdps())
def test_any_mdp(generate, read, mdp):
    same(read(written(generate, mdp)), mdp)


@pytest.mark.parametrize(("generate", "read"), FORMATS)
def test_names_of_all_kinds(generate, read):
    """Keywords, equal identifiers, line breaks, and names of the formats' own."""
    names = ["s", "end", "x^0", "x 0", "", "é", "a\nstate 7", "const", "max", "family"]
    states = []
    for i, name in enumerate(names):
        later = {names[i + 1]: 1} if i + 1 < len(names) else {}
        actions = [(a, Fraction(i, 7), later) for a in ("[x 1]", "x_1", "001", "init")]
        states.append((name, i + 1, actions))
    mdp = TabularMDP.from_lists(states)
    model = read(written(generate, mdp))
    same(model, mdp)
    for choices in model.states[:-1]:
        assert len({name for name, *_ in choices}) == len(choices) == 4


@pytest.mark.parametrize(("generate", "read"), FORMATS)
def test_numbers_of_any_size(generate, read):
    family = Family(
        as_three_sat([[1, 1, 1], [-1, 1, 2]], 2, [1, 2**61]),
        "normalized",
        Fraction(1, 10**40),
    )
    mdp = family.mdp([True, False])
    text = written(generate, mdp)
    same(read(text), mdp)
    if generate is generate_prism:  # PRISM's integers have 32 bits
        whole = re.findall(r"(?<![\w.])\d+(?![\w.])", text)
        assert max(map(int, whole)) < 2**31


@pytest.mark.parametrize("variant", VARIANTS)
def test_files_are_the_texts(tmp_path, variant):
    mdp = Family(as_three_sat([[1, -2, 3]], 3), variant).mdp()
    for write, generate in ((write_drn, generate_drn), (write_prism, generate_prism)):
        write(mdp, tmp_path / "file")
        assert (tmp_path / "file").read_text() == written(generate, mdp)


def test_a_file_as_it_looks():
    mdp = Family(as_three_sat([[1, 1, 1]], 1)).mdp(np.array([True]))
    drn = written(generate_drn, mdp).splitlines()
    model = drn[drn.index("@model") + 1 :]
    assert model[:9] == [
        "state 0 init", "// s0", "\taction try_x1 [0]", "\t\t2 : 1/2", "\t\t3 : 1/2",
        "\taction try_C1 [-1]", "\t\t1 : 1", "\taction solve [0]", "\t\t1 : 1",
    ]  # fmt: skip
    assert "\taction _001 [0]" in model
    prism = written(generate_prism, mdp)
    assert "  [try_x1] s=s0 -> 1/2 : (s'=x1_0) + 1/2 : (s'=x1_1);" in prism
    assert "  [try_C1] s=s0 : -1;" in prism
    assert "  [_001] s=C1 -> 2/3 : (s'=x1_0) + 1/3 : (s'=x1_1);" in prism


@given(st.lists(st.text(max_size=4) | st.sampled_from(sorted(KEYWORDS))))
def test_identifiers_are_distinct_and_legal(names):
    found = identifiers(names, KEYWORDS)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
    for identifier in found.values():
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", identifier)
        assert identifier not in KEYWORDS


def test_the_answer_that_docs_model_checkers_states() -> None:
    signs = itertools.product((-1, 1), repeat=3)  # the clauses of full3.cnf
    clauses = [[sign * k for k, sign in enumerate(s, 1)] for s in signs]
    mdp = Family(as_three_sat(clauses, 3), "gap").mdp([False] * 3)
    assert mdp.optimal_values().value(mdp.start) == Fraction(31, 32)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_drn_does_not_depend_on_the_blocks(monkeypatch, block: int) -> None:
    family = Family(as_three_sat([[1, 2, 3], [-1, -2, 3]], 3), "all-levels")
    mdp = family.mdp([True, False, True])
    whole = list(generate_drn(mdp))
    monkeypatch.setattr(model_checkers, "_BLOCK", block)
    assert list(generate_drn(mdp)) == whole
