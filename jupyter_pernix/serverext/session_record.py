"""The run notebook of one session: written from its log after each turn."""

import logging
from datetime import date

import anyio
import anyio.to_thread

from ..errors import NotFound, PernixError, StoreError
from ..events import ProblemNoticed
from . import naming
from .session_log import SessionLog

log = logging.getLogger(__name__)

_SECONDS = 20.0


class SessionRecord:
    def __init__(self, log_: SessionLog) -> None:
        self._log = log_

    def free_path(self, space_root: str, title: str) -> str:
        around = self._log.around
        used = {summary.record_path for summary in around.store.summaries()}
        return naming.record_path(
            space_root=space_root,
            records_dir=around.settings.records_dir,
            title=title,
            day=date.today(),
            taken=lambda path: path in used or (around.root / path).exists(),
        )

    async def write(self) -> None:
        """Write the run notebook from the log; a failure is noticed in the log and on the screen, nothing more."""
        with anyio.CancelScope(shield=True):
            try:
                with anyio.fail_after(_SECONDS):
                    if not self._log.space.is_dir():
                        # A space that the user has removed is not made again for the sake of its record.
                        raise NotFound("folder", str(self._log.space))
                    path = self._log.inside(self._log.summary.record_path)
                    history = await self._log.around.store.events(self._log.session_id)
                    await anyio.to_thread.run_sync(
                        self._log.around.write_record, self._log.session_id, history, path, abandon_on_cancel=True
                    )
            except StoreError:
                log.exception("session %s: its log could not be read for the record", self._log.session_id)
            except (
                Exception
            ) as exc:  # The edge of foreign code on the user's files; the session matters more than its copy.
                # what we refused ourselves needs no trace
                ours = isinstance(exc, PernixError)
                log.warning(
                    "session %s: the run notebook was not written: %s", self._log.session_id, exc, exc_info=not ours
                )
                await self._failed(exc)

    async def _failed(self, exc: Exception) -> None:
        reason = str(exc) or type(exc).__name__
        ended = [turn.turn_id for turn in (await self._log.fold()).view.turns if turn.code is not None]
        await self._log.append(
            ProblemNoticed(
                session_id=self._log.session_id,
                turn_id=ended[-1] if ended else None,
                text=f"The run notebook {self._log.summary.record_path!r} could not be written: {reason}",
                hint="The session itself is safe. Check that the folder can be written and has room; "
                "the notebook is written again after the next turn.",
            )
        )
