import pytest

from jupyter_pernix.agent.model.hold import CallHold
from jupyter_pernix.agent.model.thoughts import ThoughtSplitter
from jupyter_pernix.agent.model.written import read_written

TOOLS = {
    "read_file": {"type": "object", "properties": {"path": {"type": "string"}, "start_line": {"type": "integer"}}},
    "finish": {"type": "object", "properties": {"answer": {"type": "string"}}},
}
CALL = '{"name": "read_file", "arguments": {"path": "a"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```\n",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}</tool_call><|im_end|>",
        f"<tool_call>{CALL}",
        f"[{CALL}]",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        f"<tools>\n{CALL}\n</tools>",
        '{"function": {"name": "read_file", "parameters": {"path": "a"}}}',
        '{"tool": "read_file", "args": {"path": "a"}}',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"a\\"}"}',
        "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
    ],
)
def test_a_text_that_is_nothing_but_a_call_is_a_call(text: str) -> None:
    written = read_written(text, TOOLS)
    assert [(call.name, call.arguments) for call in written.calls] == [("read_file", {"path": "a"})]
    assert written.text == ""


@pytest.mark.parametrize(
    "text",
    [
        "Use `<tool_call>` to call a tool.",
        f"For example:\n```json\n{CALL}\n```\nDone.",
        f"For example:\n```json\n{CALL}\n```",
        f"```\n<tool_call>\n{CALL}\n</tool_call>\n```",
        f"<tool_call>{CALL}</tool_call>\nThat is how a call looks.",
        '{"name": "other", "arguments": {}}',
        '{"name": "read_file"}',
        '{"name": "read_file", "arguments": {"a": NaN}}',
        f"{CALL} is a call",
        "plain",
    ],
)
def test_an_example_stays_text(text: str) -> None:
    written = read_written(text, TOOLS)
    assert (written.text, written.calls, written.truncated) == (text, (), "")


def test_words_before_an_envelope_stay_and_several_calls_keep_their_order() -> None:
    written = read_written(
        f'I look.\n<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "finish", "arguments": {{"answer": "x"}}}}</tool_call>',
        TOOLS,
    )
    assert written.text == "I look."
    assert [call.name for call in written.calls] == ["read_file", "finish"]


def test_values_of_the_xml_form_take_their_type_from_the_schema() -> None:
    text = "<function=read_file><parameter=path>7</parameter><parameter=start_line>7</parameter></function>"
    (call,) = read_written(text, TOOLS).calls
    assert call.arguments == {"path": "7", "start_line": 7}


def test_an_envelope_that_breaks_off_is_not_a_call() -> None:
    written = read_written('Go.\n<tool_call>{"name": "read_file", "arguments": {"pa', TOOLS)
    assert (written.truncated, written.calls) == ("read_file", ())


@pytest.mark.parametrize(
    ("text", "shown_early"),
    [
        ("Hello there", True),
        ("```python\nprint(1)\n```", True),
        ('{"rows": 3}', True),
        (CALL, False),
        (f"```json\n{CALL}\n```", False),
        (f"<tool_call>{CALL}</tool_call>", False),
        ("<b>bold</b>", True),
    ],
)
def test_only_what_may_be_a_call_is_held_back(text: str, shown_early: bool) -> None:
    hold = CallHold()
    early = "".join(hold.feed(character) for character in text)
    assert bool(early) is shown_early
    assert early + hold.finish() == text


def read_thoughts(text: str) -> tuple[str, str]:
    splitter = ThoughtSplitter()
    shown = thought = ""
    for step in [*(splitter.feed(character) for character in text), splitter.feed("", final=True)]:
        shown += step.text
        thought += step.thought
    return shown.removeprefix(splitter.reclaimed), splitter.reclaimed + thought


@pytest.mark.parametrize(
    ("text", "shown", "thought"),
    [
        ("<think>a</think>b", "b", "a"),
        ("\n<thinking>a</thinking>\n\nb", "b", "a"),
        ("a</think>b", "b", "a"),
        ("a <think> b", "a <think> b", ""),
        ("write `</think>` at the end", "write `</think>` at the end", ""),
        ("use <think> and </think> tags", "use <think> and </think> tags", ""),
        ("<think>never closed", "", "never closed"),
        ("a < b", "a < b", ""),
        ("<thin", "<thin", ""),
    ],
)
def test_thoughts_are_taken_out_wherever_the_text_is_cut(text: str, shown: str, thought: str) -> None:
    assert read_thoughts(text) == (shown, thought)
