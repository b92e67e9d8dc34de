"""The variables of a session's kernel, for whoever asks over HTTP. No kernel is started for it."""

from collections.abc import Sequence

from ..errors import Conflict, KernelError, NotFound
from ..ids import SessionId
from ..records import Variable, Variables
from .sessions import Sessions

_NO_KERNEL = "this session has no kernel yet; it gets one with the first code that is run"


async def variables(sessions: Sessions, session_id: SessionId, names: Sequence[str] | None = None) -> Variables:
    """All in short, or ``names`` in more detail.

    :raises NotFound: if there is no such session
    :raises Conflict: if there is no kernel, or it cannot be looked into
    """
    try:
        executor = await sessions.running_executor(session_id)
        if executor is None:
            raise Conflict(_NO_KERNEL)
        return sessions.around.secrets.masked_variables(await executor.variables(names))
    except KernelError as exc:
        raise Conflict(str(exc)) from exc


async def variable(sessions: Sessions, session_id: SessionId, name: str) -> Variable:
    """:raises NotFound: if there is no such session, or no such variable"""
    found = await variables(sessions, session_id, [name])
    if not found.variables:
        raise NotFound("variable", name)
    return found.variables[0]
