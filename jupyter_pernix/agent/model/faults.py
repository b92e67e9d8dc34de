"""What an endpoint says when it does not answer → our errors. One table of wordings, read top down; pure.

Servers agree neither on status codes nor on the shape of the body, and report errors inside a 200 as well, so the wording decides
first and the status second.
"""

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    ModelMissing,
    RateLimited,
    ToolsUnsupported,
)
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
    )


def _short(text: str) -> str:
    line = masked(" ".join(text.split()))
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + " …"


# ---- the table ------------------------------------------------------------------------------------------------------------

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_max_prompt_tokens_exceeded"
    r"|maximum (?:context|model|prompt) length|max(?:imum)? context length|context (?:length|size|window) (?:of|is|exceeded)"
    r"|longer than the (?:model's |maximum )?(?:context|model)|exceeds? (?:the )?(?:available |model'?s? |maximum )*context"
    r"|loaded with context length|greater than the context length|prompt (?:is )?too long|input is too long"
    r"|too many (?:input )?tokens|token count.{0,40}exceeds|tokens exceed|inputs must have less than"
    r"|max_new_tokens`? must be|reduce the length of the (?:messages|prompt)|exceeds the model's max(?:imum)? (?:input|token)",
    re.IGNORECASE,
)
_LIMITS = (
    r"(?:maximum|max) (?:context|model|prompt) length (?:is|of)\s+(\d[\d,]*)",
    r"(\d[\d,]*) maximum context length",
    r"context length \((\d[\d,]*)",
    r"context length of (?:only )?(\d[\d,]*)",
    r"available context size \((\d[\d,]*)",
    r"context (?:window|size|length) (?:is|of) (\d[\d,]*)",
    r"(?:tokens?|\d) > (\d[\d,]*)",
    r"number of tokens allowed \((\d[\d,]*)",
    r"(?:configured|exceeds the) limit of (\d[\d,]*)",
    r"must have less than (\d[\d,]*)",
    r"must be <= (\d[\d,]*)",
    r"prompt cannot exceed (\d[\d,]*)",
)
_VLLM_TOOLS = "start vLLM with --enable-auto-tool-choice --tool-call-parser <the parser for this model>"
_OTHER_MODEL = (
    "choose a model that can call tools; where the server enforces JSON schemas, "
    "`jupyter pernix endpoints add … --protocol actions` does too"
)
_NO_TOOLS: tuple[tuple[str, str], ...] = (
    (r"--enable-auto-tool-choice|--tool-call-parser", _VLLM_TOOLS),
    (r"requires? --jinja|--jinja flag", "start llama-server with --jinja"),
    (
        r"(?:does not|doesn.t) support (?:tool|function)",
        _OTHER_MODEL,
    ),
    (
        r"no endpoints found that support tool",
        _OTHER_MODEL,
    ),
    (
        r"(?:tool|function)[ _-]?(?:use|call(?:ing|s)?|choice)\b.{0,60}(?:not (?:supported|enabled|available)|unsupported|is disabled)",
        _OTHER_MODEL,
    ),
    (
        r"[`'\"]?tools[`'\"]? (?:is|are) not supported",
        _OTHER_MODEL,
    ),
)
_PARAM = re.compile(
    r"(?:unsupported|unknown|unrecognized) (?:request )?(?:parameter|argument|field)s?(?: supplied)?:? *[`'\"]?([a-z_]{3,40})"
    r"|[`'\"]([a-z_]{3,40})[`'\"] (?:is not|are not|does not) support|unexpected keyword argument '([a-z_]{3,40})'"
    r"|extra_forbidden.{0,80}?\"body\", ?\"([a-z_]{3,40})\"",
    re.IGNORECASE,
)
_BAD_TOOL = re.compile(
    r"invalid schema for function '([^']+)'|invalid '?tools?[\[.']|invalid tool schema|function\.name", re.IGNORECASE
)
_BAD_HISTORY = re.compile(
    r"must be followed by tool messages|tool_call_ids? did not have response|messages with role '?tool'? must|"
    r"(?:conversation )?roles must alternate|tool_use.{0,40}without.{0,20}tool_result|tool call id .{0,60}not found",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|insufficient (?:credits|balance|funds)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|model\b.{0,120}(?:not found|does not exist|not exist|is not (?:loaded|available|found)|unknown)"
    r"|(?:unknown|no such|invalid) model\b|try pulling it|not a valid model|decommissioned|no models? (?:is |are )?loaded",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)
_OUR_FAULT = re.compile(r"invalid_request|bad ?request|validation", re.IGNORECASE)
_AUTH = re.compile(
    r"invalid[_ ]api[_ ]key|incorrect api key|authentication_error|unauthori[sz]ed|invalid x-api-key", re.IGNORECASE
)
_FILTER = re.compile(
    r"content_filter|content management policy|content_policy_violation|data_inspection_failed", re.IGNORECASE
)

Rule = Callable[[Complaint, str, float | None], ModelError | None]


def _said(complaint: Complaint, *, otherwise: str) -> str:
    said = complaint.message or otherwise
    status = f" (HTTP {complaint.status})" if complaint.status else ""
    return f"the endpoint answered{status}: {said}"


def _tools_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.param and complaint.param not in ("tools", "tool_choice", "functions"):
        return None
    for pattern, hint in _NO_TOOLS:
        if re.search(pattern, words, re.IGNORECASE):
            return ToolsUnsupported(_said(complaint, otherwise="no tool calls"), hint=hint)
    return None


def _overflow_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if not _OVERFLOW.search(words):
        return None
    numbers = (re.search(pattern, words, re.IGNORECASE) for pattern in _LIMITS)
    limit = next((int(found[1].replace(",", "")) for found in numbers if found), complaint.limit)
    return ContextOverflow(
        _said(complaint, otherwise="the prompt is too long"),
        limit=limit,
        hint="start a new session, or serve the model with a longer context",
    )


def _quota_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status == 402 or (complaint.status in (400, 429, 403, None) and _QUOTA.search(words)):
        return EndpointRefused(
            _said(complaint, otherwise="no quota left"), hint="add credit to the account that the key belongs to"
        )
    return None


def _rate_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status == 429 and re.search(r"request too large", words, re.IGNORECASE):
        return None  # more than a minute's share at once: no waiting helps
    if complaint.status == 429 or (complaint.status is None and _RATE.search(words)):
        said = re.search(r"try again in ([\d.]+) ?(m?s)\b", words, re.IGNORECASE)
        if wait is None and said:
            wait = float(said[1]) / (1000 if said[2].lower() == "ms" else 1)
        return RateLimited(_said(complaint, otherwise="too many requests"), retry_after=wait)
    return None


def _auth_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status in (401, 403, 407) or _AUTH.search(words):
        return EndpointRefused(_said(complaint, otherwise="not allowed"), hint="check the API key of this endpoint")
    return None


def _history_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if _BAD_HISTORY.search(words):
        return EndpointFailed(
            _said(complaint, otherwise="bad history"), status=complaint.status, retryable=True, kind="bad_history"
        )
    return None


def _tool_schema_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    found = _BAD_TOOL.search(words)
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
    if complaint.status in (404, 400, None, 422) and _NO_MODEL.search(words):
        return ModelMissing(
            _said(complaint, otherwise="no such model"),
            hint="choose a model that the endpoint lists, or load this one there first",
        )
    return None


def _param_rule(complaint: Complaint, words: str, wait: float | None) -> ModelError | None:
    if complaint.status not in (400, 422, None):
        return None
    found = _PARAM.search(words)
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
    return content_filtered(complaint.message) if _FILTER.search(words) else None


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
        hint = "the model is still loading" if status == 503 and "loading" in words.lower() else ""
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
    _overflow_rule,
    _quota_rule,
    _rate_rule,
    _auth_rule,
    _filter_rule,
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
    for rule in _RULES:
        error = rule(complaint, words, wait)
        if error is not None:
            return error
    # Inside a 200 there is no status: an error without known words is a server's, and most of those pass.
    ours = bool(_OUR_FAULT.search(words))
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


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the server asks to wait."""
    lowered = {key.lower(): value for key, value in headers.items()}
    if (millis := lowered.get("retry-after-ms", "")).replace(".", "", 1).isdigit():
        return float(millis) / 1000
    value = lowered.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdigit():
        return float(value)
    date = email.utils.parsedate_to_datetime(value) if re.match(r"[A-Z][a-z]{2},", value) else None
    return max(0.0, date.timestamp() - now()) if date else None


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
