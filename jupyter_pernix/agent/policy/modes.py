"""What each mode lets happen: one complete table of (mode, action) → verdict. Nothing else decides by mode.

``read`` looks at files of the space, ``write`` changes them, ``execute`` runs code in the kernel, ``shell`` runs a command line,
``none`` has no effect on the world. An action that is not in the table is refused.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from ...records import Mode, Verdict

Action = Literal["read", "write", "execute", "shell", "none"]

ACTIONS: tuple[Action, ...] = get_args(Action)

VERDICTS: dict[Mode, dict[Action, Verdict]] = {
    "ask": {"read": "allow", "write": "refuse", "execute": "refuse", "shell": "refuse", "none": "allow"},
    "plan": {"read": "allow", "write": "refuse", "execute": "refuse", "shell": "refuse", "none": "allow"},
    "edit": {"read": "allow", "write": "allow", "execute": "ask", "shell": "ask", "none": "allow"},
    "auto": {"read": "allow", "write": "allow", "execute": "allow", "shell": "allow", "none": "allow"},
}

_BY_NAME: Mapping[str, Mapping[str, Verdict]] = {mode: {**verdicts} for mode, verdicts in VERDICTS.items()}

_DOES: Mapping[str, str] = {
    "read": "reads files",
    "write": "changes files",
    "execute": "runs code",
    "shell": "runs a shell command",
    "none": "does nothing",
}


def verdict(mode: str, action: str) -> Verdict:
    """The table's entry; ``refuse`` for what it does not know."""
    return _BY_NAME.get(mode, {}).get(action, "refuse")


def refusal(mode: str, action: str) -> str:
    """Why ``mode`` refuses ``action``, said to the model."""
    does = _DOES.get(action)
    if does is None:
        return f"Not done: {action!r} is not a kind of action that this host knows, so it is refused."
    return (
        f"Not done: this {does}, and in mode {mode!r} only reading is allowed. "
        "Say in your answer what you would do; the user can switch to mode 'edit' or 'auto'."
    )
