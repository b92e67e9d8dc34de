from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.cells import CellJudgement, judge_cell

from .worlds import build

Judge = Callable[..., CellJudgement]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """``judge_cell`` in the little project."""
    root, home = build(tmp_path)
    return partial(judge_cell, root=root, home=home)
