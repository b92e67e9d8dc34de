"""What the agent's tests share."""

from pathlib import Path

import pytest
from agent.acting import Acting


@pytest.fixture
def acting(tmp_path: Path) -> Acting:
    """A session in mode auto on an empty space."""
    return Acting(root=tmp_path)
