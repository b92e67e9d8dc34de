from typing import get_args

import pytest

from jupyter_pernix.agent.policy.modes import ACTIONS, VERDICTS, Action, refusal, verdict
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.records import Mode, Verdict

MODES: tuple[Mode, ...] = get_args(Mode)

ORDER: tuple[Action, ...] = (
    "read", "write", "delete", "execute", "shell", "network", "memory", "configure", "delegate", "none",
)  # fmt: skip
EXPECTED: dict[Mode, str] = {
    "ask": "+-------++",
    "plan": "+-------++",
    "edit": "++????+?++",
    "auto": "+++++?+?++",
}
"""A letter an action: allowed, refused, asked."""
LETTERS: dict[str, Verdict] = {"+": "allow", "-": "refuse", "?": "ask"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_says_of_each_action_what_the_table_says(mode: Mode, action: Action) -> None:
    assert verdict(mode, action) == LETTERS[EXPECTED[mode][ORDER.index(action)]]


def test_the_table_is_complete() -> None:
    assert {mode: set(row) for mode, row in VERDICTS.items()} == {mode: set(ACTIONS) for mode in MODES}


@pytest.mark.parametrize(("mode", "action"), [("auto", "fly"), ("root", "read"), ("", "")])
def test_what_the_table_does_not_know_is_refused(mode: str, action: str) -> None:
    assert verdict(mode, action) == "refuse"
    assert refusal(mode, action).startswith("Not done: ")


def test_each_tool_has_an_action_of_the_table() -> None:
    assert {tool.action for tool in TOOLS.values()} <= set(ACTIONS)
