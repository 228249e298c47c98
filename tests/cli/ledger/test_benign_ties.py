"""Whether OLIVE meets the hard program hangs on how its ties are broken."""

import numpy as np
import pytest
from olivine.algorithms.olive.optimisers import BranchAndBound
from olivine.cli.ledger.support.benign_ties import benign_tiebreak
from olivine.cli.ledger.support.families import contradiction
from olivine.reduction.family.family import Family
from olivine.reduction.run.honest import adversarial_tiebreak, honest_run
from olivine.reduction.run.schedule import n_rounds


@pytest.mark.parametrize("variant", ["paper", "normalized", "gap"])
@pytest.mark.parametrize("value", [False, True])
def test_the_hard_program_is_met_or_not_as_ties_are_broken(variant, value):
    family, y = Family(contradiction().three_sat(), variant), np.array([value])

    def run(tiebreak, most):
        given = {"optimiser": BranchAndBound(), "max_rounds": most}
        return honest_run(family, y, tiebreak=tiebreak, **given)

    against = run(adversarial_tiebreak(family), n_rounds(family) + 1)
    benign = run(benign_tiebreak(family, y), family.layout.n_states + 1)
    assert against.meets_hard_program
    assert not benign.meets_hard_program
    assert benign.result.status == "finished"
    assert benign.result.rounds[-1].optimum == benign.optimal_value
    assert [r.optimum for r in benign.result.rounds[:-1]] == [1] * len(benign.kinds)
    assert benign.kinds.count("literals") >= 1
    assert benign.kinds[-1] == "start"
