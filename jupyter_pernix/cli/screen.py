"""What a person sees of a turn in a terminal: the answer on stdout, everything about it on stderr."""

import os
import select
import shutil
import sys
from typing import TextIO

from ..asked import resolved_line
from ..client import JSON
from ..livetext import LiveText, duration, neutral, one_line

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}
MARKS = {"completed": "✓", "failed": "✗", "cancelled": "✗", "unknown": "?"}
NOBODY = "nobody is at this terminal to allow it; see --mode"
PLAN_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Coloured only where a terminal shows it and the user has not set ``NO_COLOR``."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def correction_lines(corrections: list[str]) -> list[str]:
    """What the host says against the text that follows."""
    return ["! " + " ".join(neutral(each).split()) for each in corrections]


def plan_lines(plan: JSON) -> list[str]:
    lines = [f"plan: {' '.join(neutral(str(plan['approach'])).split())}"]
    return lines + [f"  {PLAN_MARKS.get(step['status'], '·')} {one_line(step['text'], 100)}" for step in plan["steps"]]


def spending(usage: JSON | None, cost: float | None) -> str:
    """Tokens and cost for people; "" when the endpoint said nothing of tokens."""
    prompt, completion = (usage or {}).get("prompt_tokens"), (usage or {}).get("completion_tokens")
    if prompt is None and completion is None:
        return ""
    cached = (usage or {}).get("cached_tokens")
    read = f"{prompt or 0:,} tokens read" + (f" ({cached:,} of them cached)" if cached else "")
    return f"{read}, {completion or 0:,} written, {'unpriced' if cost is None else f'cost {cost:.4g}'}"


class Screen:
    """Shows the events of one turn. ``out`` gets the text of the answer alone, so that it can be piped on; a terminal gets it as it
    is written, anything else when it is complete, with what the host says against it first."""

    def __init__(self, turn_id: str, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._turn_id = turn_id
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._streams = self._out.isatty()
        self._live: dict[str, LiveText] = {}
        self._shown = ""
        self._shown_step = ""
        self._calls: dict[str, JSON] = {}
        self._plan: list[str] = []
        self._workers: dict[str, str] = {}
        self._problem = ""

    def note(self, text: str, colour: str = "dim") -> None:
        """A line about the turn. ``text`` must be neutral already."""
        self._end_text()
        print(paint(text, colour, self._err), file=self._err, flush=True)

    def delta(self, data: JSON) -> None:
        """:raises BrokenPipeError: if nobody reads the answer any more"""
        if data.get("type") != "message.delta" or data.get("turn_id") != self._turn_id:
            return
        if not self._streams:
            if _is_unread(self._out):
                raise BrokenPipeError
            return
        live = self._live.setdefault(data["step_id"], LiveText())
        live.write(int(data["offset"]), str(data["text"]))
        self._show(data["step_id"], live.text)

    def event(self, event: JSON) -> None:
        if event.get("turn_id") != self._turn_id:
            return
        show = getattr(self, "_" + str(event["type"]).replace(".", "_"), None)
        if show is not None:
            show(event)

    def _show(self, step_id: str, text: str) -> None:
        """Bring the screen to ``text``; what is printed cannot be taken back, so a text that began otherwise is told again."""
        if step_id != self._shown_step or not (text.startswith(self._shown) or self._shown.startswith(text)):
            self._end_text()
            self._shown_step = step_id
        if len(text) > len(self._shown):
            self._out.write(neutral(text[len(self._shown) :]))
            self._out.flush()
            self._shown = text

    def _end_text(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            self._out.write("\n")
            self._out.flush()
        self._shown = self._shown_step = ""

    # ---- what the model says ----------------------------------------------------------------------------------------------

    def _message_completed(self, event: JSON) -> None:
        corrections = correction_lines(event.get("corrections") or [])
        if corrections:
            # A terminal has seen the text without them: it is told again, in the right order.
            self._end_text()
            for line in corrections:
                print(paint(line, "yellow", self._out), file=self._out, flush=True)
        self._show(event["step_id"], str(event["text"]))
        self._end_text()

    def _plan_updated(self, event: JSON) -> None:
        lines = plan_lines(event["plan"])
        for line in [line for line in lines if line not in self._plan]:
            self.note(line)
        self._plan = lines

    # ---- what it does -----------------------------------------------------------------------------------------------------

    def _tool_call_requested(self, event: JSON) -> None:
        self._calls[event["call_id"]] = event

    def _tool_call_finished(self, event: JSON) -> None:
        call = self._calls.get(event["call_id"], {})
        good = event["status"] == "completed"
        title = one_line(str(call.get("title") or call.get("tool", "")), max(width() - 20, 20))
        taken = duration(event["duration"])
        self._end_text()
        mark = paint(MARKS.get(event["status"], "✗"), "green" if good else "red", self._err)
        print(f"{mark} {title} {paint(taken, 'dim', self._err)}", file=self._err, flush=True)
        if not good:
            self.note("  " + one_line(str(event["result"]), max(width() - 4, 20)))

    def _policy_decided(self, event: JSON) -> None:
        if event["verdict"] == "refuse":
            rule = NOBODY if event["rule"] == "nobody_to_ask" else str(event["rule"])
            why = str(event.get("why") or "")
            said = f"{rule} ({why})" if why and rule != "denied" else why or rule
            self.note(f"  refused: {one_line(said, max(width() - 12, 20))}", "yellow")

    def _hook_ended(self, event: JSON) -> None:
        if event["decision"] != "allow":
            what = {"deny": "denied by a hook", "failed": "a hook failed"}.get(event["decision"], "a hook")
            said = f"{what}: {event['reason']}".rstrip(": ")
            self.note(f"  {one_line(said, max(width() - 4, 20))}", "yellow")

    def _approval_resolved(self, event: JSON) -> None:
        if event.get("rules"):
            self.note(f"  {resolved_line(event)}")

    def _file_restored(self, event: JSON) -> None:
        self.note(f"put back: {one_line(str(event['path']), width() - 12)}")

    def _kernel_restarted(self, event: JSON) -> None:
        self.note(neutral(str(event["text"])), "yellow")

    def _worker_spawned(self, event: JSON) -> None:
        self._workers[event["worker_id"]] = one_line(str(event["title"]), 80)
        self.note(f"↳ worker: {self._workers[event['worker_id']]} ({event['worker_id']})")

    def _worker_reported(self, event: JSON) -> None:
        self.note(f"↳ worker {event['code']}: {self._workers.get(event['worker_id'], '')}".rstrip(": "))

    # ---- what the host does -----------------------------------------------------------------------------------------------

    def _turn_started(self, event: JSON) -> None:
        model = f"{neutral(str(event['model']))} at {neutral(str(event['endpoint']))}, " if event["model"] else ""
        self.note(f"{model}mode {event['mode']}")

    def _turn_edited(self, event: JSON) -> None:
        self.note(f"the message was changed: {one_line(str(event['text']), width() - 26)}", "yellow")

    def _turn_resumed(self, event: JSON) -> None:
        self.note(neutral(str(event["text"])), "yellow")

    def _session_state_changed(self, event: JSON) -> None:
        if event["after"] == "paused":
            self.note(f"paused; go on with: jupyter pernix resume {event['session_id']}", "yellow")

    def _step_retry_scheduled(self, event: JSON) -> None:
        self._problem_noticed(event)

    def _step_fallback_taken(self, event: JSON) -> None:
        self._problem_noticed(event)

    def _context_compacted(self, event: JSON) -> None:
        self.note(compaction_line(event))

    def _instructions_read(self, event: JSON) -> None:
        if event["text"] or not event["digest"]:
            self.note(f"{neutral(str(event['name']))} {'changed' if event['digest'] else 'is gone'}")

    def _problem_noticed(self, event: JSON) -> None:
        self._problem = str(event["text"])
        self.note(neutral(str(event["text"])), "yellow")
        if event.get("hint"):
            self.note(neutral(str(event["hint"])))

    def _turn_finished(self, event: JSON) -> None:
        if event["code"] != "answered":
            told = event.get("detail") in (None, "", self._problem)
            detail = "" if told else f": {neutral(str(event['detail']))}"
            self.note(f"{event['code']}{detail}", "red")
        spent = spending(event.get("usage"), event.get("cost"))
        if spent:
            self.note(spent)


def compaction_line(event: JSON) -> str:
    """For ``context.compacted``."""
    shorter = f"the conversation was made shorter: {event['tokens_before']:,} → {event['tokens_after']:,} tokens"
    dropped = " ".join(neutral(str(event["dropped"])).split())
    return f"{shorter}; {dropped}" if dropped else shorter


def _is_unread(stream: TextIO) -> bool:
    """Whoever read this pipe has gone."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(happened & select.POLLERR for _, happened in poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return False  # no descriptor, or a system without poll
