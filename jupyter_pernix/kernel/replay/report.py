"""What came of a replay, for programs and for people. Pure."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ...livetext import duration, neutral, one_line

Status = Literal["same", "differs", "failed", "skipped"]
MARKS: dict[Status, str] = {"same": "✓", "differs": "≠", "failed": "✗", "skipped": "–"}


@dataclass(frozen=True, kw_only=True)
class CellReport:
    """``number`` counts the notebook's cells from 1. ``why``: of what was skipped or failed, a sentence. ``diff``: lines of a diff of the
    outputs, without what differs in every run."""

    number: int
    cell_id: str
    status: Status
    source: str
    why: str = ""
    diff: list[str] = field(default_factory=list[str])
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EditReport:
    """A recorded change of a file. ``status``: ``applied``, or ``left`` out, with the reason."""

    number: int
    title: str
    status: Literal["applied", "skipped", "failed"]
    why: str = ""


@dataclass(kw_only=True)
class ReplayReport:
    """``notes``: what was odd about the notebook, its kernel and its folder. ``interrupted``: the user stopped it before its end."""

    notebook: str
    kernel: str = ""
    notes: list[str] = field(default_factory=list[str])
    cells: list[CellReport] = field(default_factory=list[CellReport])
    edits: list[EditReport] = field(default_factory=list[EditReport])
    interrupted: bool = False

    @property
    def counts(self) -> Counter[Status]:
        return Counter(cell.status for cell in self.cells)

    def as_json(self) -> dict[str, Any]:
        counts = {status: self.counts[status] for status in MARKS}
        return {**asdict(self), "counts": counts, "exit_code": exit_code(self)}


def exit_code(report: ReplayReport) -> int:
    """0: all the same; 1: something differs; 3: something failed; 130: it was interrupted."""
    if report.interrupted:
        return 130
    return 3 if report.counts["failed"] else 1 if report.counts["differs"] else 0


def cell_lines(cell: CellReport, *, width: int = 100) -> list[str]:
    why = f": {neutral(cell.why)}" if cell.why else ""
    took = f"  {duration(cell.seconds)}" if cell.status != "skipped" else ""
    head = (
        f"{MARKS[cell.status]} [{cell.number}] {one_line(cell.source, max(width - 40, 20))}  {cell.status}{why}{took}"
    )
    return [head, *(f"    {neutral(line)}" for line in cell.diff)]


def edit_line(edit: EditReport) -> str:
    why = f": {neutral(edit.why)}" if edit.why else ""
    return f"{'✎' if edit.status == 'applied' else '–'} [{edit.number}] {one_line(edit.title, 80)}  {edit.status}{why}"


def summary_line(report: ReplayReport) -> str:
    counts = report.counts
    parts = [f"{counts[status]} {status}" for status in MARKS if counts[status]]
    ended = "; interrupted before the end" if report.interrupted else ""
    return (", ".join(parts) or "no code cells") + ended
