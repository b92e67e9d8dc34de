"""What servers say when they do not answer, in their own words (``tests/cases/endpoint_wordings.json``), and what it means."""

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.agent.model.complaint import read_complaint
from jupyter_pernix.agent.model.faults import classify, classify_body
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    ModelMissing,
    RateLimited,
    ToolsUnsupported,
)

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "cases/endpoint_wordings.json").read_text(encoding="utf-8")
)


def cases(kind: str) -> Any:
    return pytest.mark.parametrize("case", CASES[kind], ids=[case["server"] for case in CASES[kind]])


def told(case: dict[str, Any]) -> ModelError:
    """The error of a whole answer; one with status 200 was an event of a stream."""
    if case["status"] == 200:
        return classify(read_complaint(case["body"]))
    body = case["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    return classify_body(case["status"], text.encode(), case.get("headers", {}))


@cases("overflow")
@pytest.mark.parametrize("inside", [False, True], ids=["as status", "inside a 200"])
def test_an_overflow_gives_the_limit_where_it_names_one(case: dict[str, Any], inside: bool) -> None:
    body = {"error": {"message": case["said"], "type": "invalid_request_error"}}
    error = told({"status": 200 if inside else case["status"], "body": body})
    assert isinstance(error, ContextOverflow), error
    assert (error.limit, error.retryable) == (case["limit"], False)


@cases("rate_limit")
def test_a_rate_limit_waits_as_long_as_the_server_says(case: dict[str, Any]) -> None:
    error = told(case)
    assert isinstance(error, RateLimited), error
    assert error.retry_after == (None if case["seconds"] is None else pytest.approx(case["seconds"]))


@cases("quota")
def test_a_used_up_quota_is_no_rate_limit(case: dict[str, Any]) -> None:
    error = told(case)
    assert isinstance(error, EndpointRefused), error
    assert not error.retryable
    assert "credit" in error.hint


@cases("no_tools")
def test_a_refusal_of_tools_says_what_to_do(case: dict[str, Any]) -> None:
    error = told(case)
    assert isinstance(error, ToolsUnsupported), error
    assert error.hint


@cases("server")
def test_what_passes_by_itself_is_asked_again_and_what_does_not_is_not(case: dict[str, Any]) -> None:
    error = told(case)
    assert type(error) is EndpointFailed, error
    assert error.retryable is case["retryable"]
    assert error.retryable or error.hint


def refusal(status: int, message: str, **fields: Any) -> ModelError:
    return told({"status": status, "body": {"error": {"message": message, **fields}}})


def test_a_loading_model_says_so_and_how_long_it_may_take() -> None:
    error = classify_body(503, b'{"error": "Model x is currently loading", "estimated_time": 20.0}', {})
    assert isinstance(error, EndpointFailed)
    assert (error.hint, error.retry_after) == ("the model is still loading", 20)


def test_a_call_that_the_server_could_not_read_is_the_model_s_whim() -> None:
    error = refusal(
        400,
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        code="tool_use_failed",
    )
    assert isinstance(error, EndpointFailed)
    assert (error.kind, error.retryable) == ("empty_reply", True)


@pytest.mark.parametrize(
    "said",
    [
        "The model `gpt-9` does not exist or you do not have access to it.",
        "model 'llama9' not found",
        "The model `x` has been decommissioned and is no longer supported.",
        "x is not a valid model ID",
        "No models loaded. Please load a model in the developer page or use the `lms load` command.",
        "Unknown Model, please check the model code.",
        "Model Not Exist",
        "Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.",
    ],
)
def test_a_missing_model_is_told_from_a_bad_request(said: str) -> None:
    assert isinstance(refusal(400, said), ModelMissing)


def test_what_a_router_s_provider_said_counts_and_not_the_router_s_word_for_it() -> None:
    raw = json.dumps({"error": {"message": "This model's maximum context length is 8192 tokens."}})
    error = refusal(400, "Provider returned error", metadata={"raw": raw, "provider_name": "P"})
    assert isinstance(error, ContextOverflow)
    assert error.limit == 8192


def test_a_web_page_s_text_does_not_decide() -> None:
    error = classify_body(
        502, b"<html><head><title>Bad Gateway</title></head><body>rate limit tools context length</body></html>", {}
    )
    assert type(error) is EndpointFailed
    assert error.retryable
