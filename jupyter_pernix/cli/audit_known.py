"""What is known of the audit beside its files: by the server that writes it, or by the store when none runs."""

from dataclasses import dataclass, field
from pathlib import Path

from ..audit import Fault, Head, Report
from ..client import Client


@dataclass(kw_only=True)
class Found:
    """``known_to``: what the end of the chain was compared with, in words."""

    report: Report
    known_to: str
    notes: list[str]

    @property
    def sound(self) -> bool:
        return self.report.sound


@dataclass(frozen=True, kw_only=True)
class Known:
    """``head``: what the files must hold. ``exact``: nothing behind it. ``unfinished``: a last line without an end is as it should be.
    ``faults`` and ``notes``: beside what a look at the files will find."""

    head: Head
    to: str
    exact: bool = True
    unfinished: bool = False
    faults: list[Fault] = field(default_factory=list[Fault])
    notes: list[str] = field(default_factory=list[str])

    def found(self, report: Report) -> Found:
        report.faults += self.faults
        return Found(report=report, known_to=self.to, notes=self.notes)


def known_to_server(client: Client) -> Known:
    told = client.audit()
    problem = str(told["problem"])
    return Known(
        head=Head(n=told["n"], hash=told["hash"], day=told["day"]),
        to=f"the server (process {client.address.pid})",
        notes=[problem] if problem else [],
    )


def known_to_store(data_dir: Path) -> Known:
    """:raises StoreError: if it cannot be read"""
    # Imported here: with a running server none of it is needed.
    from ..serverext.audit.due import compare, due_lines
    from ..serverext.audit.files import behind
    from ..serverext.store.audit_peek import peek

    found = peek(data_dir / "pernix.duckdb")
    if found is None:
        return Known(head=Head(), to="the store, which has had no audit")
    due = due_lines(found.state, found.marks, found.events)
    there = behind(data_dir / "audit", found.state.head)
    if there.fault:
        return Known(head=found.state.head, to="the store", exact=False)
    compared = compare(due, there.lines)
    faults = [Fault(file="", line=0, says=compared.strange)] if compared.strange else []
    missing = len(due) - compared.there
    notes = [f"The last {missing} lines are not written yet; the server's next start does it."] if missing else []
    head = due[compared.there - 1].head if compared.there else found.state.head
    return Known(
        head=head,
        to="the store",
        unfinished=compared.torn > 0,
        faults=faults,
        notes=notes,
    )
