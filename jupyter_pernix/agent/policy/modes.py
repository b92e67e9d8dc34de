"""What each mode lets happen: one complete table of (mode, action) → verdict. Nothing else decides by mode.

``read`` looks at files, ``write`` changes them, ``delete`` takes them away, ``execute`` runs code in the kernel, ``shell`` runs a command
line, ``network`` speaks with another machine, ``memory`` keeps something for later sessions, ``configure`` changes what the agent or
Jupyter does, ``delegate`` hands work to another session in the same mode, ``none`` has no effect on the world. An action that is not in
the table is refused.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from ...records import Mode, Verdict

Action = Literal["read", "write", "delete", "execute", "shell", "network", "memory", "configure", "delegate", "none"]

ACTIONS: tuple[Action, ...] = get_args(Action)

_LOOKING: dict[Action, Verdict] = {
    "read": "allow",
    "write": "refuse",
    "delete": "refuse",
    "execute": "refuse",
    "shell": "refuse",
    "network": "refuse",
    "memory": "refuse",
    "configure": "refuse",
    "delegate": "allow",
    "none": "allow",
}

VERDICTS: dict[Mode, dict[Action, Verdict]] = {
    "ask": _LOOKING,
    "plan": _LOOKING,
    "edit": {
        "read": "allow",
        "write": "allow",
        "delete": "ask",
        "execute": "ask",
        "shell": "ask",
        "network": "ask",
        "memory": "allow",
        "configure": "ask",
        "delegate": "allow",
        "none": "allow",
    },
    "auto": {
        "read": "allow",
        "write": "allow",
        "delete": "allow",
        "execute": "allow",
        "shell": "allow",
        "network": "ask",
        "memory": "allow",
        "configure": "ask",
        "delegate": "allow",
        "none": "allow",
    },
}

_BY_NAME: Mapping[str, Mapping[str, Verdict]] = {mode: {**verdicts} for mode, verdicts in VERDICTS.items()}

_DOES: Mapping[str, str] = {
    "read": "reads files",
    "write": "changes files",
    "delete": "deletes files",
    "execute": "runs code",
    "shell": "runs a shell command that does more than read the space",
    "network": "uses the network",
    "memory": "changes what is remembered",
    "configure": "changes settings",
    "delegate": "hands work on",
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
