"""The examples run, and say what is true."""

from examples import hard_instance, own_environment
from tests.support.commands import CASES


def test_hard_instance(capsys):
    hard_instance.main(str(CASES / "cadical" / "full3.cnf"))
    said = capsys.readouterr().out
    # Eight clauses, one unsatisfied, p = 1/8: 1 − (7/8)·1/24.
    assert "g(s0) = 185/192" in said
    assert "leaves 1 clauses unsatisfied; the optimum says u = 1" in said


def test_own_environment(capsys):
    own_environment.main()
    said = capsys.readouterr().out
    assert "value-realizability: True" in said
    assert "V of the policy learned 3/4, V* 3/4" in said
    assert "violated: none" in said
