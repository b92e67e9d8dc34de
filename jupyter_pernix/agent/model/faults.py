"""What an endpoint says when it does not answer → our errors. One table of rules, read top down; pure.

Servers agree neither on status codes nor on the shape of the body, and report errors inside a 200 as well, so the wording decides
first and the status second.
"""

import json
import re
from collections.abc import Callable, Mapping

from ...errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    ModelMissing,
    RateLimited,
    ToolsUnsupported,
)
from .complaint import Complaint, read_complaint, retry_after, told_wait
from .wordings import (
    AUTH,
    BAD_CALL,
    BAD_HISTORY,
    BAD_TOOL,
    FILTER,
    HOPELESS,
    LIMITS,
    LOADING,
    NO_MODEL,
    NO_TOOLS,
    OUR_FAULT,
    OVERFLOW,
    PARAM,
    QUOTA,
    RATE,
    USED_UP,
)

Rule = Callable[[Complaint, str, float | None], ModelError | None]


def _said(complaint: Complaint, *, otherwise: str) -> str:
    said = complaint.message or otherwise
    status = f" (HTTP {complaint.status})" if complaint.status else ""
    return f"the endpoint answered{status}: {said}"


def _tools_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.param and complaint.param not in ("tools", "tool_choice", "functions"):
        return None
    for pattern, hint in NO_TOOLS:
        if re.search(pattern, words, re.IGNORECASE):
            return ToolsUnsupported(_said(complaint, otherwise="no tool calls"), hint=hint)
    return None


def _overflow_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if not OVERFLOW.search(words):
        return None
    numbers = (re.search(pattern, words, re.IGNORECASE) for pattern in LIMITS)
    limit = next((int(found[1].replace(",", "")) for found in numbers if found), complaint.limit)
    return ContextOverflow(
        _said(complaint, otherwise="the prompt is too long"),
        limit=limit,
        hint="start a new session, or serve the model with a longer context",
    )


def _quota_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status in (400, 403, 429, None) and QUOTA.search(words) and not USED_UP.search(words):
        # Some say "quota" for what they allow in a minute, and name the time: that passes.
        used_up = complaint.wait is None and told_wait(complaint.message) is None
    else:
        used_up = complaint.status == 402 or bool(complaint.status in (400, 403, 429, None) and USED_UP.search(words))
    if used_up:
        return EndpointRefused(
            _said(complaint, otherwise="no quota left"), hint="add credit to the account that the key belongs to"
        )
    return None


def _throttled_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    """Bedrock's words for a rate limit are those of others for an overflow."""
    if re.search(r"throttl", words, re.IGNORECASE):
        return RateLimited(_said(complaint, otherwise="too many requests"), retry_after=wait)
    return None


def _rate_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status == 429 and re.search(r"request too large", words, re.IGNORECASE):
        return None  # more than a minute's share at once: no waiting helps
    if complaint.status == 429 or (complaint.status in (400, None) and RATE.search(words)):
        return RateLimited(_said(complaint, otherwise="too many requests"), retry_after=wait)
    return None


def _auth_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status in (401, 403, 407) or AUTH.search(words):
        return EndpointRefused(_said(complaint, otherwise="not allowed"), hint="check the API key of this endpoint")
    return None


def _history_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if BAD_HISTORY.search(words):
        return EndpointFailed(
            _said(complaint, otherwise="bad history"), status=complaint.status, retryable=True, kind="bad_history"
        )
    return None


def _tool_schema_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    found = BAD_TOOL.search(words)
    if not found and not complaint.param.startswith("tools"):
        return None
    return EndpointFailed(
        _said(complaint, otherwise="a tool is not accepted"),
        status=complaint.status,
        kind="bad_tool_schema",
        place=(found[1] or "" if found else "") or complaint.param,
        hint="where the server enforces JSON schemas, add the endpoint with --protocol actions",
    )


def _model_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status in (404, 400, None, 422) and NO_MODEL.search(words):
        return ModelMissing(
            _said(complaint, otherwise="no such model"),
            hint="choose a model that the endpoint lists, or load this one there first",
        )
    return None


def _param_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status not in (400, 422, None):
        return None
    found = PARAM.search(words)
    if not found and "unsupported_parameter" not in words:
        return None
    named = complaint.param or next((group for group in found.groups() if group), "") if found else complaint.param
    return EndpointFailed(
        _said(complaint, otherwise="a parameter is not supported"),
        status=complaint.status,
        retryable=True,
        kind="unsupported_param",
        place=named,
    )


def _filter_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    return content_filtered(complaint.message) if FILTER.search(words) else None


def _call_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    """The server could not read the call that the model wrote: the next one may be better."""
    if not BAD_CALL.search(words):
        return None
    return EndpointFailed(
        _said(complaint, otherwise="the model wrote a bad call"),
        status=complaint.status,
        retryable=True,
        kind="empty_reply",
    )


def _hopeless_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    for pattern, hint in HOPELESS:
        if re.search(pattern, words, re.IGNORECASE):
            return EndpointFailed(_said(complaint, otherwise=""), status=complaint.status, kind="server", hint=hint)
    return None


def _status_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    status = complaint.status
    if status == 413 or (status == 429 and "too large" in words):
        return EndpointFailed(
            _said(complaint, otherwise="the request is too large"),
            status=status,
            kind="too_large",
            hint="the endpoint, or a proxy in front of it, limits the size of a request: ask for less, or raise its limit",
        )
    if status == 404:
        return EndpointFailed(
            _said(complaint, otherwise="nothing at this address"),
            status=status,
            kind="protocol",
            hint="check the base URL; it usually ends in /v1",
        )
    if status is not None:
        hint = "the model is still loading" if status == 503 and LOADING.search(words) else ""
        retryable = (status >= 500 and status != 501) or status in (408, 409, 425)
        kind = "server" if retryable else "protocol"
        return EndpointFailed(
            _said(complaint, otherwise="no reason given"),
            status=status,
            retryable=retryable,
            kind=kind,
            hint=hint,
            retry_after=wait if retryable else None,
        )
    return None


_RULES: tuple[Rule, ...] = (
    _tools_rule,
    _throttled_rule,
    _overflow_rule,
    _quota_rule,
    _rate_rule,
    _auth_rule,
    _filter_rule,
    _call_rule,
    _hopeless_rule,
    _history_rule,
    _model_rule,
    _tool_schema_rule,
    _param_rule,
    _status_rule,
)


def classify(complaint: Complaint, *, headers: Mapping[str, str] | None = None) -> ModelError:
    """The error of ours that a complaint means."""
    words = f"{complaint.message} {complaint.code}"
    wait = retry_after(headers or {})
    if wait is None:
        wait = complaint.wait if complaint.wait is not None else told_wait(complaint.message)
    for rule in _RULES:
        error = rule(complaint, words, wait)
        if error is not None:
            return error
    # Inside a 200 there is no status: an error without known words is a server's, and most of those pass.
    ours = bool(OUR_FAULT.search(words))
    return EndpointFailed(
        _said(complaint, otherwise="an error without a reason"),
        retryable=not ours,
        kind="protocol" if ours else "server",
    )


def classify_body(status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
    """The error that a response other than 200 means."""
    text = body.decode("utf-8", "replace")
    try:
        decoded: object = json.loads(text)
    except (ValueError, RecursionError):
        decoded = text
    return classify(read_complaint(decoded, status), headers=headers)


def content_filtered(message: str = "") -> EndpointFailed:
    said = f": {message}" if message else ""
    return EndpointFailed(
        f"the endpoint's content filter stopped the answer{said}",
        kind="content_filter",
        hint="say it in other words, or use another model",
    )


def not_a_stream(what: str) -> EndpointFailed:
    return EndpointFailed(
        f"the endpoint answered with {what} instead of a model's answer",
        kind="protocol",
        hint="check the base URL; it usually ends in /v1",
    )
