"""The result of a query, where pandas is not installed: rows that show themselves as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

from ...client import JSON
from ...livetext import neutral, one_line

_SHOWN = 50
_WIDTH = 60


@dataclass(frozen=True)
class Table:
    """``rows`` as lists in the order of ``columns``; iterating gives dicts. ``truncated``: there were more."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def _end(self) -> str:
        more = " and more" if self.truncated else ""
        shown = f", the first {_SHOWN} are shown" if len(self.rows) > _SHOWN else ""
        return f"{len(self.rows)}{more} {'row' if len(self.rows) == 1 and not more else 'rows'}{shown}"

    def __repr__(self) -> str:
        lines = [list(map(_cell, self.columns)), *([_cell(value) for value in row] for row in self.rows[:_SHOWN])]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        texts = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([texts[0], "  ".join("-" * width for width in widths), *texts[1:], self._end()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(neutral(name))}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>"
            for row in self.rows[:_SHOWN]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{self._end()}</p>"


def _cell(value: Any) -> str:
    return "" if value is None else one_line(str(value), _WIDTH)


def result_table(result: JSON) -> Any:
    """An ``SqlResult`` as a DataFrame where pandas is installed (``attrs["truncated"]``), else as a ``Table``."""
    if find_spec("pandas") is None:
        return Table(result["columns"], result["rows"], result["truncated"])
    # Imported here: only for whoever asks, and only where it is installed.
    import pandas

    frame = pandas.DataFrame(result["rows"], columns=result["columns"])
    for at, kind in enumerate(result["types"]):
        if kind.startswith(("TIMESTAMP", "DATE")) and len(frame):
            frame.isetitem(at, pandas.to_datetime(frame.iloc[:, at], errors="coerce"))
    frame.attrs["truncated"] = result["truncated"]
    return frame
