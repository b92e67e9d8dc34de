"""Ways in which servers vary framing, text, thoughts, endings and counts."""

import json

from agent.model.varied import ARGS, DONE, END, HELLO, TAG, A, Case, call, delta, said, sse

from jupyter_pernix.errors import StreamBroken
from jupyter_pernix.records import Usage

FRAMING = {
    "CRLF everywhere": Case(HELLO.replace(b"\n", b"\r\n"), "Héllo"),
    "a byte order mark first": Case(b"\xef\xbb\xbf" + HELLO, "Héllo"),
    "a byte order mark, then CRLF": Case(b"\xef\xbb\xbf" + HELLO.replace(b"\n", b"\r\n"), "Héllo"),
    "comments between and inside of events": Case(
        b": ping\n\n" + HELLO.replace(b"data: {", b": keep-alive\ndata: {"), "Héllo"
    ),
    "ids, retries and unknown fields": Case(
        b"retry: 100\n\n" + HELLO.replace(b"data: {", b"id: 7\nfoo: bar\ndata: {"), "Héllo"
    ),
    "no space behind the colon": Case(HELLO.replace(b"data: ", b"data:"), "Héllo"),
    "blank lines before the first event": Case(b"\n\n\r\n" + HELLO, "Héllo"),
    "three blank lines between events": Case(HELLO.replace(b"\n\n", b"\n\n\n\n"), "Héllo"),
    "an event over several data lines": Case(HELLO.replace(b'{"id": "c", ', b'{"id": "c",\ndata: '), "Héllo"),
    "NUL bytes as keep-alive": Case(HELLO.replace(b"\n\n", b"\n\n\x00"), "Héllo"),
    "a NUL character in the text": Case(sse(delta(content="a\x00b"), delta("stop")), "a\x00b"),
    "DONE in other words": Case(HELLO.replace(b"[DONE]", b"[done]"), "Héllo"),
    "DONE without a space and blank line": Case(HELLO.replace(b"data: [DONE]\n\n", b"data:[DONE]"), "Héllo"),
    "DONE as JSON string": Case(HELLO.replace(b"[DONE]", b'"[DONE]"'), "Héllo"),
    "a null event": Case(sse(None)[: -len(DONE)] + HELLO, "Héllo"),
    "an event that is no object": Case(sse(1, "x", [])[: -len(DONE)] + HELLO, "Héllo"),
    "lines of JSON without data": Case(
        b"".join(
            json.dumps(one).encode() + b"\n" for one in (delta(content="Hel"), delta(content="lo"), delta("stop"))
        ),
        "Hello",
    ),
    "an event named ping": Case(b'event: ping\ndata: {"type": "ping"}\n\n' + HELLO, "Héllo"),
}

TEXTS = {
    "the role in every delta": Case(
        sse(
            delta(role="assistant", content="a"), delta(role="assistant", content="b"), delta("stop", role="assistant")
        ),
        "ab",
    ),
    "content as a list of pieces": Case(
        sse(
            delta(content=[{"type": "text", "text": "a"}]),
            delta(content=[{"type": "text", "text": "b"}]),
            delta("stop"),
        ),
        "ab",
    ),
    "content as an object": Case(sse(delta(content={"type": "text", "text": "ab"}), delta("stop")), "ab"),
    "content as a list of plain words": Case(sse(delta(content=["a", "b"]), delta("stop")), "ab"),
    "tool_calls null and empty beside text": Case(
        sse(delta(content="a", tool_calls=None), delta(content="b", tool_calls=[]), delta("stop")), "ab"
    ),
    "text of the old completions": Case(
        sse(
            {"choices": [{"index": 0, "text": "ab", "finish_reason": None}]},
            {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]},
        ),
        "ab",
    ),
    "a refusal in its own field": Case(sse(delta(refusal="I cannot help."), delta("stop")), "I cannot help."),
    "choices without index": Case(sse({"choices": [{"delta": {"content": "ab"}, "finish_reason": "stop"}]}), "ab"),
    "the index of the choice as a string": Case(
        sse({"choices": [{"index": "0", "delta": {"content": "ab"}, "finish_reason": "stop"}]}), "ab"
    ),
    "the last chunk repeats the whole message": Case(
        sse(
            delta(content="a"),
            delta(content="b"),
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {},
                        "message": {"role": "assistant", "content": "ab"},
                        "finish_reason": "stop",
                    }
                ]
            },
        ),
        "ab",
    ),
}

THOUGHTS = {
    "reasoning": Case(sse(delta(reasoning="hm"), delta(content="4"), delta("stop")), "4", "hm"),
    "reasoning_content and reasoning alike": Case(
        sse(delta(reasoning="hm", reasoning_content="hm"), delta(content="4"), delta("stop")), "4", "hm"
    ),
    "thinking": Case(sse(delta(thinking="hm"), delta(content="4"), delta("stop")), "4", "hm"),
    "reasoning as an object": Case(
        sse(delta(reasoning={"content": "hm"}), delta(content="4"), delta("stop")), "4", "hm"
    ),
    "thinking pieces in the content": Case(
        sse(
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            delta(content="4"),
            delta("stop"),
        ),
        "4",
        "hm",
    ),
    "an empty think block": Case(said("<think>\n\n</think>\n\n4"), "4"),
    "think in capitals": Case(said("<Think>hm</Think>4"), "4", "hm"),
    "Magistral's marks": Case(said("[THINK]hm[/THINK]4"), "4", "hm"),
    "Seed's marks": Case(said("<seed:think>hm</seed:think>4"), "4", "hm"),
    "a thought that never ends, then a call": Case(
        sse(delta(content="<think>hm"), call(ARGS, name="read_file", index=0, id="x"), END), thought="hm", calls=[A]
    ),
    "the closing tag only": Case(said("hm, let me see\n</think>\n\n4"), "4", "hm, let me see"),
    "the thought before the call, in one text": Case(
        said(f"<think>hm</think>\n<tool_call>{TAG}</tool_call>"), thought="hm", calls=[A]
    ),
}

ENDS = {
    "eos": Case(sse(delta(content="4"), delta("eos")), "4", finish="stop"),
    "stop_sequence": Case(sse(delta(content="4"), delta("stop_sequence")), "4", finish="stop"),
    "STOP": Case(sse(delta(content="4"), delta("STOP")), "4", finish="stop"),
    "max_tokens": Case(sse(delta(content="4"), delta("max_tokens")), "4", finish="length"),
    "MAX_TOKENS": Case(sse(delta(content="4"), delta("MAX_TOKENS")), "4", finish="length"),
    "max_output_tokens": Case(sse(delta(content="4"), delta("max_output_tokens")), "4", finish="length"),
    "insufficient_system_resource": Case(
        sse(delta(content="4"), delta("insufficient_system_resource")), error=StreamBroken
    ),
    "function_call with text only": Case(sse(delta(content="4"), delta("function_call")), "4", finish="stop"),
    "stop with calls": Case(
        sse(call(ARGS, name="read_file", index=0, id="x"), delta("stop")), calls=[A], finish="tool_calls"
    ),
    "null to the end, but DONE": Case(sse(delta(content="4")), "4", finish="stop"),
    "an empty reason, then stop": Case(sse(delta("", content="4"), delta("stop")), "4", finish="stop"),
    "a reason beside the last text": Case(sse(delta("stop", content="4")), "4", finish="stop"),
    "an object": Case(sse(delta(content="4"), delta({"type": "stop"})), "4", finish="stop"),
    "malformed_function_call": Case(sse(delta(content=""), delta("malformed_function_call")), error=StreamBroken),
}

USED = Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=4)
COUNT = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
USAGES = {
    "in every chunk, cumulative": Case(
        sse(
            {**delta(content="4"), "usage": {"prompt_tokens": 10, "completion_tokens": 1}},
            {**delta("stop"), "usage": COUNT},
        ),
        "4",
        usage=USED,
    ),
    "null in every chunk, then in one without choices": Case(
        sse({**delta(content="4"), "usage": None}, {**delta("stop"), "usage": None}, {"choices": [], "usage": COUNT}),
        "4",
        usage=USED,
    ),
    "in x_groq": Case(
        sse(delta(content="4"), {**delta("stop"), "x_groq": {"id": "r", "usage": COUNT}}), "4", usage=USED
    ),
    "in the choice": Case(
        sse(delta(content="4"), {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": COUNT}]}),
        "4",
        usage=USED,
    ),
    "a chunk that has choices null": Case(
        sse(delta(content="4"), delta("stop"), {"choices": None, "usage": COUNT}), "4", usage=USED
    ),
    "Anthropic's words": Case(
        sse(
            delta(content="4"),
            {**delta("stop"), "usage": {"input_tokens": 6, "output_tokens": 2, "cache_read_input_tokens": 4}},
        ),
        "4",
        usage=USED,
    ),
    "DeepSeek's cache words": Case(
        sse(
            delta(content="4"),
            {**delta("stop"), "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}},
        ),
        "4",
        usage=USED,
    ),
    "cached_tokens beside the others": Case(
        sse(
            delta(content="4"),
            {**delta("stop"), "usage": {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4}},
        ),
        "4",
        usage=USED,
    ),
    "zeros at first": Case(
        sse(
            {**delta(content="4"), "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
            {**delta("stop"), "usage": COUNT},
        ),
        "4",
        usage=USED,
    ),
    "zeros at last": Case(
        sse(
            {**delta(content="4"), "usage": COUNT},
            delta("stop"),
            {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
        ),
        "4",
        usage=USED,
    ),
    "floats": Case(
        sse(
            delta(content="4"),
            {**delta("stop"), "usage": {"prompt_tokens": 10.0, "completion_tokens": 2.0, "cached_tokens": 4.0}},
        ),
        "4",
        usage=USED,
    ),
    "llama.cpp's timings only": Case(
        sse(delta(content="4"), {**delta("stop"), "timings": {"prompt_n": 6, "cache_n": 4, "predicted_n": 2}}),
        "4",
        usage=USED,
    ),
    "none": Case(sse(delta(content="4"), delta("stop")), "4", usage=Usage()),
    "behind DONE": Case(HELLO + sse({"choices": [], "usage": COUNT}, done=False), "Héllo"),
}
