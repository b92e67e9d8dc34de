"""What a widget is told of a session: its views cut down to a size that a notebook can carry. Pure.

A part is plain JSON in the shape of the record it comes from, so that the components of the panel draw it. Texts are cut in the
middle and say how much is missing; of outputs stay text and small pictures, never HTML.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from ...records import JSON, Budget, CallView, SessionView, TurnView, Usage

CALLS = 50
TURNS = 12
TEXT = 4_000
LINE = 300
OUTPUTS = 12
ENTRIES = 40
DEPTH = 6
STEPS = 120
PICTURE = 150_000
PICTURES = 450_000
"""Characters of base64 of one picture, and of all that a widget holds."""
_PICTURES = ("image/png", "image/jpeg")


def cut(text: str, limit: int) -> str:
    """At most about ``limit`` characters: the beginning and the end."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def bounded(value: Any, limit: int = TEXT, depth: int = DEPTH) -> Any:
    """JSON without long texts, long lists or deep nesting."""
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, dict | list) and depth == 0:
        return "…"
    if isinstance(value, dict):
        entries = cast(dict[str, Any], value)
        kept = list(entries.items())[:ENTRIES]
        return {cut(key, LINE): bounded(each, limit, depth - 1) for key, each in kept}
    if isinstance(value, list):
        return [bounded(each, limit, depth - 1) for each in cast(list[Any], value)[:ENTRIES]]
    return value


def head(view: SessionView) -> JSON:
    """The session without its turns, and without what changes with each event."""
    return bounded(msgspec.to_builtins(msgspec.structs.replace(view, turns=[], last_seq=0)))


def calls(view: SessionView) -> list[tuple[int, JSON]]:
    """The last calls with their numbers, oldest first. Pictures go to the newest calls until there is no more room."""
    every = [call for turn in view.turns for call in turn.items if isinstance(call, CallView)]
    room = PICTURES
    told: list[tuple[int, JSON]] = []
    for number in range(len(every) - 1, max(-1, len(every) - 1 - CALLS), -1):
        part, used = _call(every[number], room)
        room -= used
        told.append((number, part))
    return told[::-1]


def _call(call: CallView, room: int) -> tuple[JSON, int]:
    """The second value: characters of pictures in it."""
    lean = msgspec.structs.replace(call, execution=None, pictures=[], earlier=[], cells=[], files=call.files[:ENTRIES])
    part: JSON = bounded(msgspec.to_builtins(lean))
    used = 0
    if call.execution is not None:
        execution = msgspec.structs.replace(call.execution, outputs=[])
        part["execution"] = bounded(msgspec.to_builtins(execution))
        outputs: list[JSON] = []
        for output in call.execution.outputs[-OUTPUTS:]:
            kept = _output(output, room - used)
            used += sum(len(kept.get("data", {}).get(mime, "")) for mime in _PICTURES)
            outputs.append(kept)
        part["execution"]["outputs"] = outputs
    return part, used


def _joined(text: Any) -> str:
    if isinstance(text, list):
        return "".join(str(each) for each in cast(list[Any], text))
    return text if isinstance(text, str) else ""


def _output(output: JSON, room: int) -> JSON:
    match output.get("output_type"):
        case "stream":
            return {
                "output_type": "stream",
                "name": str(output.get("name", "")),
                "text": cut(_joined(output.get("text")), TEXT),
            }
        case "error":
            trace = cut("\n".join(str(line) for line in output.get("traceback") or []), TEXT)
            told = {name: cut(str(output.get(name, "")), LINE) for name in ("ename", "evalue")}
            return {"output_type": "error", **told, "traceback": [trace] if trace else []}
        case _:
            return _display(output, room)


def _display(output: JSON, room: int) -> JSON:
    found: Any = output.get("data")
    data = cast(JSON, found) if isinstance(found, dict) else {}
    kept: JSON = {"text/plain": cut(_joined(data.get("text/plain")), TEXT)}
    for mime in _PICTURES:
        picture = _joined(data.get(mime)).replace("\n", "")
        if picture and len(picture) <= min(room, PICTURE):
            kept[mime] = picture
            break
    return {"output_type": "display_data", "data": kept, "metadata": {}}


def turns(view: SessionView) -> list[tuple[int, JSON]]:
    """The last turns with their numbers, oldest first; of their calls no more than what was called and when."""
    first = max(0, len(view.turns) - TURNS)
    return [(number, _turn(view.turns[number])) for number in range(first, len(view.turns))]


def _turn(turn: TurnView) -> JSON:
    bare = msgspec.structs.replace(
        turn,
        text=cut(turn.text, LINE),
        detail=cut(turn.detail, LINE),
        plan=None,
        mentions=[],
        context=[],
        items=[_timed(item) for item in turn.items if isinstance(item, CallView)][-STEPS:],
        steps=turn.steps[-STEPS:],
    )
    return msgspec.to_builtins(bare)


def _timed(call: CallView) -> CallView:
    approval, execution = call.approval, call.execution
    if approval is not None:
        approval = msgspec.structs.replace(approval, question="", detail="", text="")
    if execution is not None:
        inputs = [msgspec.structs.replace(each, prompt="", text=None) for each in execution.inputs[-ENTRIES:]]
        execution = msgspec.structs.replace(execution, code="", outputs=[], evalue="", detail="", inputs=inputs)
    return msgspec.structs.replace(
        call,
        title=cut(call.title, LINE),
        arguments={},
        rule="",
        approval=approval,
        execution=execution,
        earlier=[],
        files=[],
        result="",
        worker=None,
        cells=[],
        pictures=[],
    )


# ---- budget -----------------------------------------------------------------------------------------------------------------


def limits(view: SessionView) -> list[JSON]:
    """What was used of each limit of the session, and of the turn that runs or ran last: ``of``, ``what``, ``used``, ``limit``.

    ``limit`` ``None``: there is none. ``used`` ``None``: nobody can say, as the cost of a model without a price.
    """
    told = list(_used("session", view.turns, view.budget, view.usage, view.cost))
    turn = next((each for each in reversed(view.turns) if each.started_at is not None), None)
    if turn is not None:
        usage = Usage(
            prompt_tokens=sum(step.usage.prompt_tokens or 0 for step in turn.steps if step.usage),
            completion_tokens=sum(step.usage.completion_tokens or 0 for step in turn.steps if step.usage),
        )
        costs = [step.cost for step in turn.steps if step.cost is not None]
        told += _used("turn", [turn], turn.budget, usage, sum(costs) if costs else None)
    return told


def _used(
    of: str, those: Iterable[TurnView], budget: Budget | None, usage: Usage, cost: float | None
) -> Iterator[JSON]:
    every = list(those)
    all_calls = [call for turn in every for call in turn.items if isinstance(call, CallView)]
    spent = [call.worker.spent for call in all_calls if call.worker is not None]
    paid = [each.cost for each in spent if each.cost is not None] + ([cost] if cost is not None else [])
    used: dict[str, float | None] = {
        "rounds": sum(step.purpose == "act" for turn in every for step in turn.steps)
        + sum(each.rounds for each in spent),
        "tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) + sum(each.tokens for each in spent),
        "cost": sum(paid) if paid else None,
        "changed_lines": sum(change.added_lines + change.removed_lines for call in all_calls for change in call.files)
        + sum(each.changed_lines for each in spent),
    }
    for what, amount in used.items():
        yield {"of": of, "what": what, "used": amount, "limit": None if budget is None else getattr(budget, what)}
