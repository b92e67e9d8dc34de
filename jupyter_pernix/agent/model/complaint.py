"""What an endpoint says when it does not answer, whatever its shape: the message, its code, and the times that it names. Pure."""

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...records import JSON
from .calls import as_object

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|hf|gsk|xai|key|token|api)[-_][\w*.-]{4,}|(?i:bearer)\s+[\w.~+/=-]{6,}|\beyJ[\w-]{10,}[\w.-]*"
)
_LONGEST_MESSAGE = 400


def masked(text: str) -> str:
    """``text`` without anything that looks like a key."""
    return _SECRETS.sub("[key]", text)


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """An endpoint's error, whatever its shape was."""

    message: str
    code: str = ""
    param: str = ""
    status: int | None = None
    limit: int | None = None
    wait: float | None = None
    """Seconds after which the body says to come back."""


def read_complaint(body: object, status: int | None = None) -> Complaint:
    """The error in a decoded JSON body, or in text; HTML is reduced to its title or first heading."""
    if isinstance(body, dict):
        return _complaint_in(cast(JSON, body), status)
    if isinstance(body, list) and body:
        return read_complaint(cast(list[Any], body)[0], status)
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    if re.match(r"\s*<(?:!doctype|html|head|body)", text, re.IGNORECASE):
        heading = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text, re.IGNORECASE | re.DOTALL)
        text = re.sub(r"<[^>]+>", "", heading[2]) if heading else "a web page"
    return Complaint(message=_short(text), status=status)


def _complaint_in(body: JSON, status: int | None) -> Complaint:
    inner = body.get("error", body.get("detail", body))
    if isinstance(inner, list):
        inner = {"message": json.dumps(inner)}
    if isinstance(inner, str):
        inner = {"message": inner}
    fault = as_object(inner)
    inside = _from_provider(fault)
    if inside is not None:
        return read_complaint(inside, status)
    message = (
        fault.get("message")
        or fault.get("error")
        or fault.get("msg")
        or fault.get("detail")
        or body.get("message")
        or ""
    )
    code, kind = fault.get("code", body.get("code")), fault.get("type", body.get("type"))
    number = code if isinstance(code, int) else int(code) if isinstance(code, str) and code.isdigit() else None
    if status is None and number is not None and 400 <= number < 600:
        status = number
    limit = fault.get("n_ctx")
    return Complaint(
        message=_short(message if isinstance(message, str) else json.dumps(message)),
        code=" ".join(str(word) for word in (code, kind) if word),
        param=str(fault.get("param") or ""),
        status=status,
        limit=limit if isinstance(limit, int) else None,
        wait=_wait_in(fault) or _wait_in(body),
    )


def _from_provider(fault: JSON) -> object:
    """A router's error that holds the one of the provider behind it."""
    raw = as_object(fault.get("metadata")).get("raw")
    try:
        inside = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return None
    return as_object(cast(object, inside)) or None


def _wait_in(fault: JSON) -> float | None:
    for key in ("retry_after", "retry_after_seconds", "estimated_time"):
        value = fault.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value)
    details = fault.get("details")
    for one in cast(list[Any], details) if isinstance(details, list) else []:
        delay = as_object(one).get("retryDelay")
        if isinstance(delay, str) and (seconds := span(delay)) is not None:
            return seconds
    return None


def _short(text: str) -> str:
    line = masked(" ".join(text.split()))
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + " …"


# ---- times ----------------------------------------------------------------------------------------------------------------

_SPAN = re.compile(r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>[\d.]+)s)?(?:(?P<ms>[\d.]+)ms)?")
_TOLD = re.compile(
    r"(?:try again|retry|wait|come back)(?: again)?(?: in| after)? "
    r"(?:(?P<number>[\d.]+) ?(?P<unit>ms|s|sec|seconds?|minutes?|hours?)\b|(?P<span>(?=\d)(?:\d+h)?(?:\d+m(?![a-z]))?(?:[\d.]+m?s)?))",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HEADERS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens")


def span(text: str) -> float | None:
    """Seconds of ``"7m12.5s"``, ``"340ms"``, ``"22s"``."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        return None
    try:
        return sum(float(value) * _UNITS[unit] for unit, value in found.groupdict().items() if value)
    except ValueError:
        return None


def told_wait(message: str) -> float | None:
    """Seconds that a sentence says to wait."""
    found = _TOLD.search(message)
    if found is None:
        return None
    if not found["number"]:
        return span(found["span"].lower())
    unit = found["unit"].lower()
    try:
        return float(found["number"]) * (_UNITS["ms"] if unit == "ms" else _UNITS[unit[0]])
    except ValueError:
        return None


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the server asks to wait."""
    lowered = {key.lower(): value for key, value in headers.items()}
    if (millis := lowered.get("retry-after-ms", "")).replace(".", "", 1).isdigit():
        return float(millis) / 1000
    value = lowered.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdigit():
        return float(value)
    for header in _HEADERS:
        if (seconds := span(lowered.get(header, ""))) is not None:
            return seconds
    date = email.utils.parsedate_to_datetime(value) if re.match(r"[A-Z][a-z]{2},", value) else None
    return max(0.0, date.timestamp() - now()) if date else None
