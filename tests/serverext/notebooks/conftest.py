"""Pages that do not answer are not waited for as long as in life."""

import pytest

from jupyter_pernix.serverext.notebooks import page as page_module


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of pages that are silent."""
    monkeypatch.setattr(page_module, "CHANGE_SECONDS", 1.5)
