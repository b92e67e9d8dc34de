"""What a session is told when it goes on after a turn that did not come to its end. Pure."""

from ..records import CallView, SessionView, TerminalCode, TurnView

_ENDED = {
    TerminalCode.INTERRUPTED: "its turn was interrupted before it was finished",
    TerminalCode.CANCELLED: "its turn was stopped before it was finished",
}
_OTHERWISE = "its turn ended before it was finished"
_NEW_KERNEL = (
    "The kernel is a new one: variables, imports and everything else that earlier code left in memory are gone; "
    "files are as they were left."
)
_LONGEST_TITLE = 200


def request_to_go_on(view: SessionView, *, kernel_is_new: bool) -> str:
    """The message that asks to go on from the last finished step. It names the calls of which nobody knows whether they had their
    effect, so that they are looked into before anything is done again."""
    turn = view.turns[-1]
    ended = _ENDED.get(turn.code, _OTHERWISE) if turn.code is not None else _OTHERWISE
    parts = [f"Go on with the previous request: {ended}."]
    unknown = _unknown(turn)
    if unknown:
        parts.append(
            "It is not known whether these calls had their effect; look before you do any of it again:\n"
            + "\n".join(f"- {call.tool}: {call.title[:_LONGEST_TITLE]}" for call in unknown)
        )
    if kernel_is_new and _ran_code(view):
        parts.append(_NEW_KERNEL)
    parts.append("Look at what has been done so far and do the rest.")
    return "\n\n".join(parts)


def _unknown(turn: TurnView) -> list[CallView]:
    return [item for item in turn.items if isinstance(item, CallView) and item.status == "unknown"]


def _ran_code(view: SessionView) -> bool:
    """In the session's own kernel; a cell's belongs to its notebook."""
    calls = (item for turn in view.turns for item in turn.items if isinstance(item, CallView))
    return any(call.execution is not None and call.execution.place == "own" for call in calls)
