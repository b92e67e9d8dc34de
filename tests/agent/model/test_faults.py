"""Wordings of servers beyond those in the quirk cases: HTTP status, message, code → our error."""

import json
from typing import Any

import pytest

from jupyter_pernix.agent.model.complaint import masked, retry_after
from jupyter_pernix.agent.model.faults import classify_body
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    ModelMissing,
    RateLimited,
    ToolsUnsupported,
)


def error(status: int, message: Any, headers: dict[str, str] | None = None, **more: Any) -> ModelError:
    return classify_body(status, json.dumps({"error": {"message": message, **more}}).encode(), headers or {})


@pytest.mark.parametrize(
    ("status", "message", "limit"),
    [
        (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
            128000,
        ),
        (
            400,
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            272000,
        ),
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
        (400, "request (5013 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        (500, "the request exceeds the available context size. try increasing the context size", None),
        (400, "prompt is too long: 215034 tokens > 200000 maximum", 200000),
        (
            400,
            "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length",
            200000,
        ),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
        (
            400,
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32768,
        ),
        (400, "Please reduce the length of the messages or completion.", None),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081", 4081),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 10000", 8193),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072),
        (
            400,
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
            32768,
        ),
        (400, "prompt token count of 128001 exceeds the limit of 128000", 128000),
        (400, "Requested token count exceeds the model's maximum context length of 8192 tokens.", 8192),
        (400, "Input is too long for requested model.", None),
        (400, "The number of tokens to keep from the initial prompt is greater than the context length.", None),
    ],
)
def test_overflow_is_known_by_its_words(status: int, message: str, limit: int | None) -> None:
    found = error(status, message)
    assert type(found) is ContextOverflow
    assert found.limit == limit
    assert not found.retryable


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "library/gemma:2b does not support tools"),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
        (400, "tool calling is not supported with this model"),
        (400, "`tools` is not supported in this model."),
        (400, "This model doesn't support tool use"),
        (400, "Function calling is not enabled for models/gemma-3-27b-it"),
        (400, '"required" tool choice requires --tool-call-parser to be set'),
    ],
)
def test_missing_tool_calls_are_known_and_carry_a_hint(status: int, message: str) -> None:
    found = error(status, message)
    assert type(found) is ToolsUnsupported
    assert found.hint


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "The model `gpt-9` does not exist or you do not have access to it."),
        (400, "foo/bar is not a valid model ID"),
        (400, "Invalid model: x"),
        (400, "The model `llama2-70b` has been decommissioned and is no longer supported."),
        (404, "No models loaded. Please load a model in the developer page."),
    ],
)
def test_missing_models_are_known(status: int, message: str) -> None:
    assert type(error(status, message)) is ModelMissing


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (402, "Insufficient Balance"),
        (400, "Your credit balance is too low"),
        (401, "no"),
        (403, "no"),
        (429, "check billing"),
    ],
)
def test_keys_and_accounts_that_are_refused_are_not_tried_again(status: int, message: str) -> None:
    found = error(status, message)
    assert type(found) is EndpointRefused
    assert not found.retryable
    assert found.hint


def test_a_share_that_is_too_large_for_a_minute_is_not_waited_for() -> None:
    found = error(
        429, "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000", code="rate_limit_exceeded"
    )
    assert isinstance(found, EndpointFailed)
    assert (found.kind, found.retryable) == ("too_large", False)


def test_a_model_that_still_loads_is_asked_again() -> None:
    found = error(503, "Loading model", type="unavailable_error")
    assert (found.retryable, found.hint) == (True, "the model is still loading")


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"Retry-After": "7"}, "slow", 7),
        ({"retry-after-ms": "1500"}, "slow", 1.5),
        ({}, "Please try again in 7.66s.", 7.66),
        ({}, "Please try again in 500ms.", 0.5),
        ({}, "slow", None),
    ],
)
def test_the_time_to_wait_is_read_wherever_it_stands(
    headers: dict[str, str], message: str, seconds: float | None
) -> None:
    found = error(429, message, headers)
    assert type(found) is RateLimited
    assert found.retry_after == seconds


def test_a_date_to_wait_for_is_turned_into_seconds() -> None:
    headers = {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert retry_after(headers, now=lambda: 1792567670.0) == 10
    assert retry_after({"retry-after": "Soon, maybe"}) is None


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"text"', b"[1]", b'{"error": null}', b'{"error": []}', b"\xff\xfe", b"{" * 100_000]
)
def test_any_body_of_an_error_makes_an_error(body: bytes) -> None:
    assert classify_body(500, body, {}).retryable


def test_pydantic_details_are_read() -> None:
    body = {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
    }
    found = classify_body(422, json.dumps(body).encode(), {})
    assert isinstance(found, EndpointFailed)
    assert (found.kind, found.place) == ("unsupported_param", "stream_options")


def test_a_long_page_becomes_one_short_line() -> None:
    page = b"<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head>" + b"<p>x</p>" * 5000
    assert str(classify_body(502, page, {})) == "the endpoint answered (HTTP 502): 502 Bad Gateway"


def test_what_looks_like_a_key_is_masked() -> None:
    for key in ("sk-proj-abc123XYZ", "hf_abcdefgh", "Bearer abcdef123456", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi"):
        assert key not in masked(f"wrong: {key}!")
    assert masked("the task-force asked for a token") == "the task-force asked for a token"
