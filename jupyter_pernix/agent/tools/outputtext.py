"""What the model reads of code that ran: how it ended, and its outputs as text. Pure."""

from typing import cast

from ...records import JSON, ExecutionResult
from ..excerpt import excerpt, without_ansi

_LONGEST_TRACEBACK = 4_000


def headline(result: ExecutionResult) -> str:
    """How an execution ended, in a line."""
    count = f" [{result.execution_count}]" if result.execution_count is not None else ""
    detail = f" ({result.detail})" if result.detail else ""
    match result.status:
        case "ok":
            return f"ok{count}{detail}"
        case "error":
            name = f": {result.ename}: {excerpt(result.evalue, limit=1000).text}" if result.ename else ""
            return f"error{count}{without_ansi(name)}{detail}"
        case "timeout":
            return f"timeout{count}: the code ran too long and was interrupted{detail}"
        case "dead":
            return f"dead: the kernel died; its variables are gone, the next call starts a new one{detail}"
        case "restarted":
            return f"restarted: the kernel was restarted while the code ran; its variables are gone{detail}"
        case "cancelled" | "aborted" | "not_run":
            return f"{result.status}{count}: the code did not run to its end{detail}"


def output_text(output: JSON) -> str:
    """One nbformat output as text that ends with a line feed."""
    match output.get("output_type"):
        case "stream":
            text = joined(output.get("text"))
        case "error":
            lines = cast(list[str], output.get("traceback") or [])
            trace = excerpt(without_ansi("\n".join(lines)), limit=_LONGEST_TRACEBACK).text
            text = trace or f"{output.get('ename', '')}: {output.get('evalue', '')}"
        case _:
            text = _data_text(cast(JSON, output.get("data") or {}))
    text = without_ansi(text)
    return text if not text or text.endswith("\n") else text + "\n"


def _data_text(data: JSON) -> str:
    """The plain form of a mime bundle, and a note for each picture; other forms are for the screen only."""
    parts = [joined(data["text/plain"])] if "text/plain" in data else []
    parts += [f"[{mime}, shown to the user]" for mime in data if mime.startswith(("image/", "video/", "audio/"))]
    if not parts:
        parts = [f"[{mime}, shown to the user]" for mime in data]
    return "\n".join(parts)


def joined(text: object) -> str:
    return "".join(cast(list[str], text)) if isinstance(text, list) else str(text or "")
