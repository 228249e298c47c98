"""One BLAS thread for arithmetic on tall arrays with few columns.

On data sets of thousands of rows and about ten features the threads of a BLAS wait
for each other longer than they work: on two cores a run takes several times the CPU
seconds, and its time depends on what else the machine does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def single_threaded(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, _Result]:
    """Run a function with one BLAS thread; the setting before comes back after it.

    The setting belongs to the process: other threads of Python see it meanwhile.
    """

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Look for the libraries once: it takes a millisecond.

    NumPy's and SciPy's are loaded by then, as what is decorated has imported them.
    """
    return ThreadpoolController()
