"""Every error of ours, one tree. A name is a condition; the error carries its thing and builds its own sentence.

::

    PernixError
    ├── InvalidInput            a value from outside is wrong: where, and why          (HTTP 400)
    ├── NotFound                no such session, turn, approval, endpoint, file        (404)
    ├── Conflict                right request, wrong moment                            (409)
    │   ├── InvalidTransition   the state table has no entry
    │   └── NotebookRefused     a notebook was not read or changed; nothing was done
    ├── ConfigError             a setting is unknown or malformed
    ├── StoreError
    │   ├── StoreTooNew         written by a newer program
    │   └── StoreLocked         another server holds the file
    ├── ModelError              the endpoint did not give a usable answer; has ``hint``
    │   ├── EndpointUnreachable
    │   ├── EndpointRefused     key or permission
    │   ├── ModelMissing        the endpoint does not serve this model
    │   ├── ToolsUnsupported
    │   ├── RateLimited         has ``retry_after``
    │   ├── ContextOverflow     has ``limit``
    │   ├── EndpointFailed      any other status or error body
    │   └── StreamBroken        ended without its end; nothing of it may be used
    ├── KernelError
    │   ├── KernelMissing       no such kernelspec
    │   ├── KernelStartFailed
    │   └── KernelDied
    ├── ToolError               speaks to the model
    │   ├── ToolRetry           try again, this was wrong
    │   └── ToolFailed          final; adapt
    └── ServerError             what a client of the HTTP API meets (command line, magics)
        ├── ServerAway          no server answers, or none could be started
        ├── ServerRefused       it does not know us (401, 403)
        └── RequestFailed       any other error answer; has ``status`` and ``hint``
"""


class PernixError(Exception):
    """Base of all errors raised on purpose by this package; ``str()`` is a sentence for a person."""


class InvalidInput(PernixError):
    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)


class NotFound(PernixError):
    def __init__(self, kind: str, key: str) -> None:
        self.kind = kind
        self.key = key
        super().__init__(f"there is no {kind} {key!r}")


class Conflict(PernixError):
    """The request is well formed but does not fit what is true now."""


class InvalidTransition(Conflict):
    def __init__(self, state: str, reason: str) -> None:
        self.state = state
        self.reason = reason
        super().__init__(f"a session that is {state} cannot take {reason!r}")


class ConfigError(PernixError):
    def __init__(self, source: str, reason: str) -> None:
        self.source = source
        super().__init__(f"{source}: {reason}")


class StoreError(PernixError):
    """The session store cannot do what was asked; ``hint`` says what the user can do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class StoreTooNew(StoreError):
    def __init__(self, path: str, found: int, known: int) -> None:
        self.path, self.found, self.known = path, found, known
        super().__init__(
            f"{path} was written by a newer jupyter_pernix (schema {found}, this version knows {known}); "
            "upgrade jupyter_pernix, or set another data directory"
        )


class StoreLocked(StoreError):
    def __init__(self, path: str, detail: str) -> None:
        self.path = path
        super().__init__(f"{path} is held by another server: {detail}")


class ModelError(PernixError):
    """An endpoint gave no usable answer. ``hint`` says what the user can do; ``retryable`` whether the same request may succeed."""

    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class EndpointUnreachable(ModelError):
    retryable = True


class EndpointRefused(ModelError):
    pass


class ModelMissing(ModelError):
    pass


class ToolsUnsupported(ModelError):
    pass


class RateLimited(ModelError):
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        self.retry_after = retry_after
        super().__init__(message, hint=hint)


class ContextOverflow(ModelError):
    def __init__(self, message: str, *, limit: int | None = None, hint: str = "") -> None:
        self.limit = limit
        super().__init__(message, hint=hint)


class EndpointFailed(ModelError):
    """``kind`` is one word for the condition (``server``, ``protocol``, ``too_large``, ``empty_reply``, ``content_filter``,
    ``bad_history``, ``bad_pictures``, ``bad_tool_schema``, ``unsupported_param``); ``place`` names the parameter or tool that it is about;
    ``retry_after``: seconds that the server asked to wait."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        kind: str = "server",
        place: str = "",
        hint: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable
        self.kind = kind
        self.place = place
        super().__init__(message, hint=hint)


class StreamBroken(ModelError):
    retryable = True


class KernelError(PernixError):
    """A kernel cannot do what was asked."""


class KernelMissing(KernelError):
    def __init__(self, name: str, installed: list[str]) -> None:
        self.name, self.installed = name, installed
        super().__init__(f"there is no kernelspec {name!r}; installed: {', '.join(installed) or 'none'}")


class KernelStartFailed(KernelError):
    def __init__(self, name: str, detail: str) -> None:
        self.name = name
        super().__init__(f"the kernel {name!r} did not start: {detail}")


class KernelDied(KernelError):
    def __init__(self, name: str, detail: str) -> None:
        self.name = name
        super().__init__(f"the kernel {name!r} died: {detail}")


class NotebookRefused(Conflict):
    """A notebook cannot be read or was not changed: it is damaged, the cell is gone or changed meanwhile, the page did not answer."""


class NotebookMissing(NotebookRefused):
    """Nothing stands at the path of a notebook, which may be written, and no page has it open."""


class ToolError(PernixError):
    """Ends one tool call; its sentence is the result that the model reads."""


class ToolRetry(ToolError):
    """The call was wrong in a way the model can mend; nothing was done."""


class ToolFailed(ToolError):
    """The call was right and did not succeed; trying the same again will not help."""


class ServerError(PernixError):
    """A client of the HTTP API did not get what it asked for; ``hint`` says what the user can do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class ServerAway(ServerError):
    pass


class ServerRefused(ServerError):
    pass


class RequestFailed(ServerError):
    def __init__(self, message: str, *, status: int, hint: str = "") -> None:
        self.status = status
        super().__init__(message, hint=hint)
