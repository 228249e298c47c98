"""Lines put together in arrays are those that ``%`` makes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.model.bulk_text import NumberedText, text_of

PIECES = st.sampled_from(["%d", "%-4d", "%-7d", "x", " ", "\n", ": + 1 x"])


@given(st.data())
def test_lines_are_those_of_percent(data) -> None:
    template = "".join(data.draw(st.lists(PIECES, max_size=8)))
    digits = data.draw(st.integers(1, 10))
    places, n = template.count("%"), data.draw(st.integers(0, 12))  # few and many
    number = st.integers(0, min(10**digits, 2**32) - 1)
    rows = [[data.draw(number) for _ in range(places)] for _ in range(n)]
    numbers = np.array(rows, dtype=np.int64).reshape(n, places)
    lines = NumberedText(template, digits).lines(numbers)
    assert text_of(lines) == "".join(template % tuple(row) for row in rows)
