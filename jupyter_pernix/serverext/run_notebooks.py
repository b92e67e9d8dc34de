"""Run notebooks: each session's log as an ``.ipynb`` file, written by a worker thread, and in the other forms that it is exported in."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from ..errors import InvalidInput
from ..events import ExecutionStarted, Stored, encode_stored
from ..fold import SessionFold
from ..ids import SessionId
from .kernels import LazyKernels
from .known_secrets import KnownSecrets

if TYPE_CHECKING:
    from ..kernel.record import KernelIdentity
    from ..masking import Masker

ExportFormat = Literal["ipynb", "html", "md", "json"]
MEDIA: dict[ExportFormat, str] = {
    "ipynb": "application/x-ipynb+json",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}


def export_format(given: str) -> ExportFormat:
    """:raises InvalidInput: if there is no such form"""
    if given not in get_args(ExportFormat):
        raise InvalidInput("query format", f"{given[:40]!r} is none of {', '.join(get_args(ExportFormat))}")
    return given  # type: ignore[return-value] - it is one of its words


class RunNotebooks:
    """``write`` is ``surroundings.WriteRecord``. Nothing that it gives holds a secret that is known or can be recognised."""

    def __init__(self, kernels: LazyKernels, secrets: KnownSecrets | None = None) -> None:
        self._kernels = kernels
        self._secrets = secrets or KnownSecrets()

    def write(self, session_id: SessionId, log: Sequence[Stored], path: Path) -> None:
        """Fold the log and replace the file (blocking, atomic).

        :raises OSError: if it cannot be written
        """
        # Imported here, as below: the start of the server does not need it.
        from ..kernel.record import write_notebook

        write_notebook(path, self._notebook(session_id, log, self._masker()))

    def export(self, session_id: SessionId, log: Sequence[Stored], form: ExportFormat) -> bytes:
        """The session in one of its forms (blocking); equal logs give equal bytes."""
        masker = self._masker()
        if form == "json":
            return _as_json(session_id, log, masker)
        notebook = self._notebook(session_id, log, masker)
        if form == "ipynb":
            from ..kernel.record import notebook_bytes

            return notebook_bytes(notebook)
        from ..kernel.export import html_page, markdown_text

        text = html_page(notebook) if form == "html" else markdown_text(notebook)
        return text.encode("utf-8", "backslashreplace")

    def _masker(self) -> "Masker":
        return self._secrets.masker

    def _notebook(self, session_id: SessionId, log: Sequence[Stored], masker: "Masker") -> dict[str, Any]:
        from ..kernel.record import run_notebook

        view = SessionFold.of(session_id, log).view
        return run_notebook(view, kernel=self._identity(log, view.kernel_name), masker=masker)

    def _identity(self, log: Sequence[Stored], fallback: str) -> "KernelIdentity | None":
        """What is installed under the name of the kernel that ran most of the code; ``None``: nothing known."""
        from ..kernel.record import KernelIdentity

        ran = Counter(stored.event.kernel_name for stored in log if isinstance(stored.event, ExecutionStarted))
        name = ran.most_common(1)[0][0] if ran else fallback
        spec = self._kernels.spec(name) if name else None
        if spec is None:
            return None
        info = self._kernels.language_info(name)
        return KernelIdentity(name=spec.name, display_name=spec.display_name, language=spec.language, info=info)


def _as_json(session_id: SessionId, log: Sequence[Stored], masker: "Masker") -> bytes:
    """``{"view": …, "events": […]}``: what is, and what happened."""
    view = masker.json(msgspec.to_builtins(SessionFold.of(session_id, log).view))
    events = [masker.json(msgspec.json.decode(encode_stored(stored))) for stored in log]
    return msgspec.json.format(msgspec.json.encode({"view": view, "events": events}), indent=1) + b"\n"
