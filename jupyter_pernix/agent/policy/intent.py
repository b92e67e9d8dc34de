"""A call as the gate sees it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What a call would touch, as the model wrote it. ``code``: what a kernel would run; ``codes``: the same as single cells, if there are
    several. ``cells``: cells of notebooks, each with what it is now: a yes is for that. ``shown``: what a person is shown of it instead."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    command: str = ""
    code: str = ""
    codes: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """One call as the broker sees it. ``title`` is a line for a person. ``question`` "": what is usual for the action. ``tool``: its name,
    for rules about whole tools."""

    action: str
    title: str
    targets: Targets = field(default_factory=Targets)
    question: str = ""
    tool: str = ""
