"""Text of others as a model may be shown it: what its chat template would read as a border between messages, and characters that nobody
sees, are written so that they are seen and mean nothing.

Only the model's input is written so; the log keeps the text. The same text always becomes the same, so that a prefix stays one.
"""

import re

_WORDS = (
    "start_of_turn|end_of_turn|start_of_image|end_of_image|bos|eos|s|tool_call|tool_calls|tool_response|tool_result|tools|think|"
    "function_call|function_response|unused[0-9]{1,3}"
)
_LIST_WORDS = "INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYSTEM_PROMPT|ARGS|CALL_ID|THINK|IMG|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX"
_TEMPLATE = re.compile(
    r"<(?=\|[^\s<>|][^<>|\n]{0,60}\|?>)"
    r"|<(?=/?[A-Za-z][\w/]{0,40}\|>)"
    r"|<(?=[｜][^\n<>]{1,60}[｜]>)"
    rf"|<(?=/?(?:{_WORDS})>)"
    r"|<(?=</?SYS>>)"
    rf"|\[(?=/?(?:{_LIST_WORDS})\])"
    r"|\[(?=(?:g?MASK|sMASK|CLS|SEP|BOS|EOS)\])"
)
_UNSEEN = re.compile("[\U000e0000-\U000e0fff]")
_WRITTEN = re.compile(r"([<\[])\\(?=[|/<A-Za-z｜])")


def shown(text: str) -> str:
    """``text`` for a model: a backslash stands behind the first sign of each border, ``\\u{e0041}`` for a tag that is not seen."""
    if "<" in text or "[" in text:
        text = _TEMPLATE.sub(lambda sign: sign.group() + "\\", text)
    if not text.isascii():
        text = _UNSEEN.sub(lambda tag: f"\\u{{{ord(tag.group()):x}}}", text)
    return text


def meant(text: str) -> str:
    """What a model means that writes down what it was shown; the same object if it holds nothing of the kind."""
    plain = _WRITTEN.sub(r"\1", text)
    return plain if plain != text and shown(plain) == text else text
