"""The sandbox of each session: one temporary folder for its kernel and its commands, and the wall around both."""

import os
import shutil
import tempfile
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from ..agent.policy.places import RUNS_LATER_FILES, RUNS_LATER_FOLDERS
from ..config import Sandbox
from ..ids import SessionId
from ..records import SandboxStatus

if TYPE_CHECKING:
    from ..kernel.sandbox import Group, Limits, Wall

_KEPT = frozenset({*RUNS_LATER_FILES, *RUNS_LATER_FOLDERS} - {"kernels"})
"""``kernels`` is a folder of many meanings; Jupyter's own are not below a space."""


@dataclass(kw_only=True)
class _Space:
    """What is kept read-only in a space was looked up before anything ran there: from inside, a folder could be made a link in the moment
    in which it is shown."""

    kept: tuple[Path, ...]
    users: set[SessionId] = field(default_factory=set[SessionId])


class Sandboxes:
    """Everything that blocks says so; it may be called from several threads."""

    def __init__(self, settings: Sandbox, *, home: Path, hidden: Collection[Path] = ()) -> None:
        """``hidden``: our own files and Jupyter's, shown to nobody even where a space holds them."""
        self._settings = settings
        self._home = home
        self._hidden = tuple(path.resolve() for path in hidden)
        self._folder: Path | None = None
        self._spaces: dict[Path, _Space] = {}
        self._groups: dict[SessionId, Group] = {}
        self._lock = threading.Lock()

    async def status(self, *, again: bool = False) -> SandboxStatus:
        """Found out by starting one; ``again``: not as it was found out before."""
        return await anyio.to_thread.run_sync(partial(self._status, again))

    def _status(self, again: bool) -> SandboxStatus:
        # Imported here, as everywhere below: most servers never need it.
        from ..kernel.sandbox import limits_missing, look_again, why_not

        if again:
            look_again()
        why = why_not()
        return SandboxStatus(works=not why, why=why, unlimited=[] if why else limits_missing(self.limits))

    def wall(self, session_id: SessionId, scope: Path, *, network: bool) -> "Wall":
        """Blocking.

        :raises WallFailed: if there can be none around this folder, or at all
        """
        from ..kernel.sandbox import Wall, WallFailed, kept_in, refusal, why_not

        scope = scope.resolve()
        said = why_not() or refusal(scope, self._home)
        if said:
            raise WallFailed(said)
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="pernix-")).resolve()
            temporary = self._folder / session_id
            temporary.mkdir(mode=0o700, exist_ok=True)
            space = self._spaces.get(scope)
            if space is None:
                space = self._spaces[scope] = _Space(kept=kept_in(scope, _KEPT))
            space.users.add(session_id)
        return Wall(
            scope=scope,
            temporary=temporary,
            home=self._home,
            network=network,
            readable=tuple(Path(path).expanduser().absolute() for path in self._settings.readable),
            kept=space.kept,
            hidden=self._hidden,
            limits=self.limits,
        )

    def command(self, session_id: SessionId, scope: Path, command: Sequence[str], *, network: bool) -> list[str]:
        """``command`` behind the session's wall. Blocking.

        :raises WallFailed: as ``wall``
        """
        from ..kernel.sandbox import behind, limited_by

        wall = self.wall(session_id, scope, network=network)
        with self._lock:
            group = self._groups.get(session_id)
            if group is None:
                group = self._groups[session_id] = limited_by(wall.limits)
        return behind(wall, command, environ=os.environ, group=group)

    def let_go(self, session_id: SessionId) -> None:
        """The session is put away: nothing of it runs any more. Blocking."""
        with self._lock:
            group = self._groups.pop(session_id, None)
            for scope, space in list(self._spaces.items()):
                space.users.discard(session_id)
                if not space.users:
                    del self._spaces[scope]
        if group is not None:
            group.remove()
        if self._folder is not None:
            shutil.rmtree(self._folder / session_id, ignore_errors=True)

    def close(self) -> None:
        """Blocking."""
        for group in self._groups.values():
            group.remove()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def limits(self) -> "Limits":
        from ..kernel.sandbox import Limits

        memory = self._settings.memory_gib
        return Limits(memory=None if memory is None else int(memory * 2**30), processes=self._settings.processes)
