"""What is refused, and with which words."""

import pytest


def refused(words, call, *arguments, error=ValueError, **options) -> None:
    """Assert that a call raises the error, with words that match in its message."""
    with pytest.raises(error, match=words):
        call(*arguments, **options)
