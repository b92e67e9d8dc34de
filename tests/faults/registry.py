"""Names the faults of other agents that a test shows to be absent here."""

from collections.abc import Callable
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


def fault(*ids: str) -> Callable[[Test], Test]:
    """This test is about these faults; ``tests/test_faults.py`` reads the names from the source."""
    assert ids

    def same(test: Test) -> Test:
        return test

    return same
