"""The words by which servers tell one failure from another: the tables that ``faults.py`` reads. Data only."""

import re

OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_max_prompt_tokens_exceeded"
    r"|maximum (?:context|model|prompt) length|max(?:imum)? context length|context (?:length|size|window) (?:of|is|exceeded)"
    r"|longer than the (?:model's |maximum )?(?:context|model)|exceeds? (?:the )?(?:available |model'?s? |maximum )*context"
    r"|loaded with context length|greater than the context length|prompt (?:is )?too long|input is too long"
    r"|too many (?:input )?tokens(?!, please wait)|range of input length|model token limit|exceeds max length|maximum allowed length"
    r"|max size: \d+ tokens|max_seq_len|model is loaded with context|context the overflows|reached context length|exceeds the context length"
    r"|exceed(?:s|ed)? (?:max input tokens|(?:the )?context (?:limit|window))|n_ctx: \d+|cannot exceed the total tokens"
    r"|token count.{0,40}exceeds|tokens exceed|inputs`? must have less than"
    r"|max_new_tokens`? must be|reduce the length of the (?:messages|prompt)|exceeds the model's max(?:imum)? (?:input|token)",
    re.IGNORECASE,
)
LIMITS = (
    r"range of input length should be \[\d+, *(\d[\d,]*)",
    r"model token limit: (\d[\d,]*)",
    r"max size: (\d[\d,]*) tokens",
    r"max_seq_len (?:of )?(\d[\d,]*)",
    r"maximum allowed length \((\d[\d,]*)",
    r"\bn_ctx: (\d[\d,]*)",
    r"maximum context length: (\d[\d,]*)",
    r"context length is only (\d[\d,]*)",
    r"max input tokens of (\d[\d,]*)",
    r"total tokens limit (\d[\d,]*)",
    r"tokens allowed (\d[\d,]*)",
    r"while limit is (\d[\d,]*)",
    r"exceed context window of (\d[\d,]*)",
    r"reached context length of (\d[\d,]*)",
    r"(?:maximum|max) (?:context|model|prompt) length (?:is|of)\s+(\d[\d,]*)",
    r"(\d[\d,]*) maximum context length",
    r"context length \((\d[\d,]*)",
    r"context length of (?:only )?(\d[\d,]*)",
    r"available context size \((\d[\d,]*)",
    r"context (?:window|size|length) (?:is|of) (\d[\d,]*)",
    r"(?:tokens?|\d) > (\d[\d,]*)(?! - \d)",
    r"number of tokens allowed \((\d[\d,]*)",
    r"(?:configured|exceeds the) limit of (\d[\d,]*)",
    r"must have less than (\d[\d,]*)",
    r"must be <= (\d[\d,]*)",
    r"prompt cannot exceed (\d[\d,]*)",
)
SGLANG_TOOLS = "start SGLang with --tool-call-parser <the parser for this model>"
VLLM_TOOLS = "start vLLM with --enable-auto-tool-choice --tool-call-parser <the parser for this model>"
OTHER_MODEL = (
    "choose a model that can call tools; where the server enforces JSON schemas, "
    "`jupyter pernix endpoints add … --protocol actions` does too"
)
NO_TOOLS: tuple[tuple[str, str], ...] = (
    (r"--enable-auto-tool-choice", VLLM_TOOLS),
    (r"--tool-call-parser", SGLANG_TOOLS),
    (r"requires? --jinja|--jinja flag", "start llama-server with --jinja"),
    (
        r"(?:does not|doesn.t) support (?:tool|function)",
        OTHER_MODEL,
    ),
    (
        r"no endpoints found that support tool",
        OTHER_MODEL,
    ),
    (
        r"(?:tool|function)[ _-]?(?:use|call(?:ing|s)?|choice)\b.{0,60}(?:not (?:supported|enabled|available)|unsupported|is disabled)",
        OTHER_MODEL,
    ),
    (
        r"[`'\"]?tools[`'\"]? (?:is|are) not supported|does not support parameters: \[[^\]]*'tools'",
        OTHER_MODEL,
    ),
    (
        r"(?:unrecognized|unknown|unsupported|unexpected)[^.]{0,40}(?:argument|parameter|field)[^.]{0,20}\b(?:tools|functions)\b",
        OTHER_MODEL,
    ),
    (r"extra_forbidden.{0,80}?\"body\", ?\"tools\"", OTHER_MODEL),
)
PARAM = re.compile(
    r"(?:unsupported|unknown|unrecognized) (?:request )?(?:parameter|argument|field)s?(?: supplied)?:? *[`'\"]?([a-z_]{3,40})"
    r"|[`'\"]([a-z_]{3,40})[`'\"] (?:is not|are not|does not) support|unexpected keyword argument '([a-z_]{3,40})'"
    r"|extra_forbidden.{0,80}?\"body\", ?\"([a-z_]{3,40})\"",
    re.IGNORECASE,
)
BAD_TOOL = re.compile(
    r"invalid schema for function '([^']+)'|invalid '?tools?[\[.']|invalid tool schema|function\.name", re.IGNORECASE
)
BAD_HISTORY = re.compile(
    r"must be followed by tool messages|tool_call_ids? did not have response|messages with role '?tool'? must|"
    r"(?:conversation )?roles must alternate|tool_use.{0,40}without.{0,20}tool_result|tool call id .{0,60}not found",
    re.IGNORECASE,
)
USED_UP = re.compile(
    r"insufficient_quota|billing_(?:hard_limit|not_active)|billing hard limit|credit balance|insufficient (?:credits|balance|funds)"
    r"|budget has been exceeded|budget_exceeded|余额不足|欠费|arrearage",
    re.IGNORECASE,
)
QUOTA = re.compile(
    r"exceeded your current quota|billing",
    re.IGNORECASE,
)
NO_MODEL = re.compile(
    r"model_not_found|model\b.{0,120}(?:not found|does not exist|not exist|is not (?:loaded|available|found)|unknown)"
    r"|(?:unknown|no such|invalid) model\b|try pulling it|not a valid model|decommissioned|no models? (?:is |are )?loaded",
    re.IGNORECASE,
)
RATE = re.compile(r"rate.?limit|too many requests|throttl", re.IGNORECASE)
OUR_FAULT = re.compile(r"invalid_request|bad ?request|validation", re.IGNORECASE)
AUTH = re.compile(
    r"invalid[_ ]api[_ ]key|incorrect api key|authentication_error|unauthori[sz]ed|invalid x-api-key", re.IGNORECASE
)
FILTER = re.compile(
    r"content_filter|content management policy|content_policy_violation|data_inspection_failed", re.IGNORECASE
)
LOADING = re.compile(r"loading|starting|warming up|not ready", re.IGNORECASE)
HOPELESS: tuple[tuple[str, str], ...] = (
    (
        r"more (?:system )?memory .{0,40}than is available|out of memory",
        "choose a smaller model, or free memory on that machine",
    ),
    (r"increase the physical batch size", "start llama-server with a larger --ubatch-size, or ask for less"),
)
"""Errors with a status of the server's own that come again each time."""
BAD_CALL = re.compile(r"tool_use_failed|failed to call a function|failed to parse (?:the )?tool call", re.IGNORECASE)
