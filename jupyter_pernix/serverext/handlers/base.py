"""What every handler does: wait for the runtime, decode a body once, answer with a record, turn an error into a status and a ``Problem``."""

import re
from http.client import responses
from typing import Any, Protocol, TypeVar

import msgspec
from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from ...errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    KernelError,
    KernelMissing,
    ModelError,
    NotFound,
    PernixError,
    StoreError,
)
from ...records import JSON, Problem
from ..runtime import Runtime

T = TypeVar("T")

BODY_LIMIT = 8 * 1024 * 1024

STATUS: tuple[tuple[type[PernixError], int], ...] = (
    (InvalidInput, 400),
    (KernelMissing, 400),
    (NotFound, 404),
    (Conflict, 409),
    (ModelError, 502),
    (KernelError, 502),
    (StoreError, 503),
    (ConfigError, 503),
    (PernixError, 500),
)
"""The first that fits decides."""

_PLACE = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")
_encode = msgspec.json.Encoder().encode


def status_of(error: PernixError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


def problem_of(error: PernixError) -> Problem:
    place = error.place if isinstance(error, InvalidInput) else ""
    message = error.reason if isinstance(error, InvalidInput) else str(error)
    return Problem(message=message, place=place, hint=str(getattr(error, "hint", "")))


def decode(body: bytes, kind: type[T]) -> T:
    """``body`` as a record.

    :raises InvalidInput: naming the place of the fault, as a path from ``$``
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as exc:
        message = str(exc)
        place = _PLACE.search(message)
        raise InvalidInput(place[1] if place else "$", _PLACE.sub("", message)) from exc
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise InvalidInput("$", f"the body is not JSON: {exc}") from exc
    except RecursionError as exc:
        raise InvalidInput("$", "the body is nested too deeply") from exc


class App(Protocol):
    """The extension, as its handlers know it."""

    async def runtime(self) -> Runtime: ...

    def api_description(self) -> JSON: ...


class PernixHandler(APIHandler):
    """Base of our handlers."""

    auth_resource = "pernix"

    def initialize(self, app: App) -> None:
        self._app = app

    async def runtime(self) -> Runtime:
        """:raises StoreError: if it cannot be had, with the reason"""
        return await self._app.runtime()

    def who(self) -> str:
        """As the server knows them; without users it makes up a name for each browser."""
        user = self.current_user
        return str(getattr(user, "name", "") or getattr(user, "username", "") or "user")

    def api_description(self) -> JSON:
        """The OpenAPI document."""
        return self._app.api_description()

    def record(self, kind: type[T]) -> T:
        """:raises InvalidInput: if the body is not such a record"""
        body = self.request.body
        if len(body) > BODY_LIMIT:
            raise HTTPError(413, f"a body has at most {BODY_LIMIT} bytes")
        return decode(body, kind)

    def number(self, name: str, default: int | None) -> int | None:
        """A whole number from the query.

        :raises InvalidInput: if it is none
        """
        text = self.get_query_argument(name, None)
        if text is None:
            return default
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise InvalidInput(f"query {name}", f"{text[:40]!r} is not a whole number")
        return int(text)

    def answer(self, body: Any = None, *, status: int = 200, location: str | None = None) -> None:
        self.set_status(status)
        if location is not None:
            self.set_header("Location", location)
        if status == 204:
            self.finish()
        else:
            self.finish(_encode(body))

    # ---- errors ---------------------------------------------------------------------------------------------------------

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        super().send_error(status_of(error) if isinstance(error, PernixError) else status_code, **kwargs)

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if isinstance(value, PernixError):
            self.log.info("%s %s: %s", self.request.method, self.request.path, value)
        else:
            super().log_exception(typ, value, tb)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        match error:
            case PernixError():
                problem = problem_of(error)
            case HTTPError(log_message=str(message)) if status_code < 500:
                problem = Problem(message=message)
            case _:
                problem = Problem(message=responses.get(status_code, "error"))
        self.finish(_encode(problem))
