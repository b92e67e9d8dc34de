"""A shell in this process, for what needs no kernel."""

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    yield shell
    assert shell.history_manager is not None
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()
