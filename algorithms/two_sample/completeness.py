"""What the two-sample algorithm's guarantee asks of its classes.

The paper asks for policy-value completeness: for each g' ∈ G_{h+1}, Π_h has a
policy that is greedy for Q(x, a) = E[r + g'(x') | x, a], and G_h the function
max_a Q(x, a). To the letter, the class of all functions to [0, 1] is not complete
where rewards are paid before the last level, for r + g' leaves [0, 1].

It is enough that G_h has min(1, max_a Q(x, a)). Let b = Q(x, π̂_h(x)), the Bayes
predictor of the regression, and c(v) = min(1, v). For g to [0, 1],
(g - b)² - (c(b) - b)² ≥ (g - c(b))², since c(b) is the point of [0, 1] nearest to
b; and (c(max Q) - b)² - (c(b) - b)² ≤ max Q - b: both sides are 0 or more, the
left is 0 where b ≥ 1 and at most c(max Q) - b elsewhere. So the proof's bound on
E_s[(ĝ_h - g)²] holds with c(b) for b and c(max Q) for max Q; and |g* - c(b)| ≤
|g* - b|, as g* is in [0, 1]. The tabular classes pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from algorithms.assumptions.hidden import HiddenModel, Vector, best
from algorithms.assumptions.members import Policies, Values
from algorithms.assumptions.result import Assumption
from algorithms.classes import PolicyClass, ValueClass
from algorithms.environments.protocol import Environment

NAME = "policy-value-completeness, clipped"


def clipped_completeness(
    environment: Environment, value_class: ValueClass, policy_class: PolicyClass
) -> Assumption:
    """Check policy-value completeness up to clipping at 1, in rationals.

    Parameters
    ----------
    environment
        Any; decided only where observations are finite.
    value_class, policy_class
        G and Π; decided where they are tabular at a level, or finite with a
        finite G_{h+1}.

    Returns
    -------
    Holds, with a counterexample where it does not; None where it is not decided.

    Raises
    ------
    ValueError
        If a class does not admit the environment's observations.
    """
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(NAME, None, str(error))
    doubt = ""
    for h in range(model.horizon, 0, -1):
        values = Values(model, value_class, h)
        policies = Policies(model, policy_class, h)
        if values.kind == policies.kind == "tabular":
            continue  # whatever g' asks for is there
        if not {values.kind, policies.kind} <= {"tabular", "finite"}:
            doubt = doubt or f"level {h}: G is a {values.kind}, Π a {policies.kind}"
            continue
        vectors = _vectors(model, value_class, h + 1)
        if vectors is None:
            doubt = doubt or f"G_{h + 1} is not finite, but G_{h} or Π_{h} is"
            continue
        for vector in vectors:
            gains = model.gains(h, vector)
            wanted = [min(v, 1) for v in gains.max(axis=1).tolist()]
            missing = policies.lacks(best(gains)) or values.lacks(wanted)
            if missing is not None:
                return Assumption(NAME, False, str(missing), missing)
    if doubt:
        return Assumption(NAME, None, doubt)
    return Assumption(NAME, True, "every backup of G, clipped, is in G")


def _vectors(
    model: HiddenModel, value_class: ValueClass, level: int
) -> Iterable[Vector] | None:
    """Averages over the hidden states of all g' of a level; None if infinite."""
    if level > model.horizon:
        return [()]
    following = Values(model, value_class, level)
    if following.kind != "finite":
        return None
    return dict.fromkeys(model.averages(level, row) for row in following.rows)
