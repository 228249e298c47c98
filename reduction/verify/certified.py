"""The exact value of an assignment, by certificates both ways."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from olivine.reduction.family.family import Family
from olivine.reduction.program.witness import back, check, forward


def certify(family: Family, assignment: NDArray[np.bool_]) -> Fraction:
    """Exact value of the certificate forward, with every constraint checked.

    The certificate back of it must be worth no less.

    Raises
    ------
    RuntimeError
        If one of the two certificates is wrong.
    """
    pair = forward(family, assignment)
    try:
        value = check(family, pair)
        again = check(family, forward(family, back(family, pair)))
    except ValueError as error:
        raise RuntimeError(
            f"the certificate of an assignment fails: {error}"
        ) from error
    if again < value:
        raise RuntimeError(
            f"a pair of value {value} came back as an assignment worth {again}"
        )
    return value
