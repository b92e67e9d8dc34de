"""What an answer claims is checked before it is stored, and what the host says about it reaches the model too."""

from agent.acting import Acting, answer
from agent.test_context import rebuilt

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import MessageCompleted
from jupyter_pernix.records import TerminalCode

FIX = "Fix the bug in a.py"


async def test_a_claim_that_nothing_shows_is_corrected_before_it_is_stored(acting: Acting) -> None:
    (acting.space / "a.py").write_text("x = 1\n")
    finished = await acting.say([answer("I fixed a.py and all tests pass.")], text=FIX)

    said = acting.of(MessageCompleted)[0]
    assert finished.code == TerminalCode.ANSWERED
    assert said.text == "I fixed a.py and all tests pass."
    assert said.corrections
    assert acting.host.view.turns[0].items[-1].corrections == said.corrections  # type: ignore[union-attr]


async def test_the_next_request_says_what_was_corrected_once(acting: Acting) -> None:
    await acting.say([answer("I fixed a.py and all tests pass.")], text=FIX)
    correction = acting.of(MessageCompleted)[0].corrections[0]
    await acting.say([answer("Sorry.")], text="Really?")
    first = acting.model.requests[0][-1]["content"]
    await acting.say([answer("Yes.")], text="Well then")

    assert "(The host corrected your last answer before it was shown: " in first
    assert correction in first
    assert correction not in acting.model.requests[0][-1]["content"]
    assert rebuilt(acting).startswith(acting.model.sent[0][:-1])


async def test_an_answer_that_is_given_by_finish_is_checked_too_and_told_once(acting: Acting) -> None:
    text = "I fixed a.py and all tests pass."
    await acting.say([Says(text=text, calls=(call("finish", answer=text),))], text=FIX)

    said = acting.of(MessageCompleted)
    assert [event.text for event in said] == [text]
    assert said[0].corrections


async def test_what_the_record_shows_is_not_corrected(acting: Acting) -> None:
    script = [
        Says(calls=(call("write_file", path="a.py", content="x = 2\n"),)),
        Says(calls=(call("run_shell", command="python -m py_compile a.py"),)),
        answer("I wrote a.py."),
    ]
    await acting.say(script, text="Write a.py with x = 2")

    assert acting.of(MessageCompleted)[-1].corrections == []


async def test_words_that_go_with_calls_are_no_answer_and_not_checked(acting: Acting) -> None:
    await acting.say([Says(text="All tests pass.", calls=(call("list_files"),)), answer("Nothing to do.")], text="Hi")

    assert acting.of(MessageCompleted)[0].corrections == []
