"""Run notebooks: each session's log as an ``.ipynb`` file, written by a worker thread."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..events import ExecutionStarted, Stored
from ..fold import SessionFold
from ..ids import SessionId
from .kernels import LazyKernels

if TYPE_CHECKING:
    from ..kernel.record import KernelIdentity


class RunNotebooks:
    """``write`` is ``surroundings.WriteRecord``."""

    def __init__(self, kernels: LazyKernels) -> None:
        self._kernels = kernels

    def write(self, session_id: SessionId, log: Sequence[Stored], path: Path) -> None:
        """Fold the log and replace the file (blocking, atomic).

        :raises OSError: if it cannot be written
        """
        # Imported here: the start of the server does not need it.
        from ..kernel.record import run_notebook, write_notebook

        view = SessionFold.of(session_id, log).view
        write_notebook(path, run_notebook(view, kernel=self._identity(log, view.kernel_name)))

    def _identity(self, log: Sequence[Stored], fallback: str) -> "KernelIdentity | None":
        """What is installed under the name of the kernel that ran most of the code; ``None``: nothing known."""
        from ..kernel.record import KernelIdentity

        ran = Counter(stored.event.kernel_name for stored in log if isinstance(stored.event, ExecutionStarted))
        name = ran.most_common(1)[0][0] if ran else fallback
        spec = self._kernels.spec(name) if name else None
        if spec is None:
            return None
        return KernelIdentity(name=spec.name, display_name=spec.display_name, language=spec.language)
