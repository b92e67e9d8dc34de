"""What a ``%%pernix`` cell leaves: the answer, and what was done for it."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ...client import JSON
from ...livetext import neutral
from ..markdown import as_text, safe_markdown


@dataclass(frozen=True)
class Answer:
    """``ended``: how the turn ended, ``answered`` or why not. ``corrections``: what the host says against ``text``. ``usage``: tokens
    as the endpoint reported them. ``code``: all code that was run, in order."""

    text: str
    session_id: str
    turn_id: str
    ended: str
    code: str = ""
    usage: JSON = field(default_factory=dict[str, Any])
    corrections: tuple[str, ...] = ()
    call_list: tuple[JSON, ...] = ()

    @property
    def calls(self) -> Any:
        """The tool calls, in order: ``tool``, ``title``, ``status``, ``seconds``, ``arguments``, ``result``, ``call_id``. A DataFrame
        where pandas is installed, else a list."""
        if find_spec("pandas") is None:
            return [dict(call) for call in self.call_list]
        # Imported here: only for whoever asks.
        import pandas

        columns = ["tool", "title", "status", "seconds", "arguments", "result", "call_id"]
        return pandas.DataFrame(list(self.call_list), columns=columns)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "\n".join([*(f"! {line}" for line in map(_line, self.corrections)), neutral(self.text)])

    def _repr_markdown_(self) -> str:
        said = [f"> **Correction:** {as_text(_line(each))}" for each in self.corrections]
        return "\n\n".join([*said, safe_markdown(self.text)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _line(text: str) -> str:
    return " ".join(neutral(text).split())
