"""Conversations that grow too long: what is left out, what is told instead, and when it stops."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal_messages
from agent.test_context import rebuilt

from jupyter_pernix.agent.compaction import compact_now, host_summary
from jupyter_pernix.agent.constraints import Standing, rules_in
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import Says, ScriptedModel, ScriptedModels, call
from jupyter_pernix.errors import ContextOverflow, EndpointFailed, EndpointUnreachable, ModelError
from jupyter_pernix.events import (
    ContextCompacted,
    FileChanged,
    ProblemNoticed,
    SessionStateChanged,
    StepStarted,
    ToolCallFinished,
)
from jupyter_pernix.records import JSON, TerminalCode

SMALL = 7_000
"""Tokens: the system part and the tools take about two thirds of it."""


WIDE = 13_500
"""The same takes less than a fifth, so that leaving out results is enough."""


def reads(acting: Acting, count: int, *, lines: int = 30) -> list[Says]:
    """Steps that each read another file of about 1.5 KB."""
    for number in range(count):
        (acting.space / f"{number}.txt").write_text(f"{number} is written here, line after line of it\n" * lines)
    return [Says(text=f"I read {number}.", calls=(call("read_file", path=f"{number}.txt"),)) for number in range(count)]


def told(messages: Sequence[JSON]) -> str:
    return "\n".join(str(message["content"]) for message in messages[1:])


async def test_old_results_are_left_out_first_and_calls_keep_their_results(acting: Acting) -> None:
    script = [*reads(acting, 16, lines=40), answer()]
    await acting.say(ScriptedModel(script, context_length=WIDE), text="Read all files.")

    compacted = acting.of(ContextCompacted)
    assert compacted[0].level == "outputs"
    assert compacted[0].tokens_after < compacted[0].tokens_before
    request = acting.model.requests[-1]
    assert_legal_messages(request)
    results = [message["content"] for message in request if message["role"] == "tool"]
    assert len(results) == 16
    assert re.fullmatch(
        r"\[Read 0\.txt: completed, [\d,]+ characters, left out here to save space\. Call again if you need it\.\]",
        results[0],
    )
    assert "15 is written here" in results[-1]
    moves = [event.reason for event in acting.of(SessionStateChanged)]
    assert moves[1:3] == ["compaction_started", "compaction_done"]


async def test_a_shortened_input_is_the_same_live_and_from_the_log(acting: Acting) -> None:
    sent: list[bytes] = []
    for number in range(6):
        model = ScriptedModel([*reads(acting, 9, lines=60 + number), answer("So.")], context_length=10_100)
        await acting.say(model, text=f"Request {number}: read them, but never write.")
        sent += model.sent
    levels = [event.level for event in acting.of(ContextCompacted)]

    assert set(levels) == {"outputs", "summary"}
    assert rebuilt(acting).startswith(sent[-1][:-1])
    assert_legal_messages(acting.model.requests[-1])


async def test_the_step_after_is_no_break_of_the_prefix_and_those_behind_it_repeat_it_whole(acting: Acting) -> None:
    await acting.say(ScriptedModel([*reads(acting, 16, lines=40), answer()], context_length=WIDE))

    started = acting.of(StepStarted)
    aside = [index for index, step in enumerate(started) if step.prefix_bytes == 0]
    assert len(aside) == 1 + len(acting.of(ContextCompacted))
    for before, after in itertools.pairwise(started):
        assert after.prefix_bytes in (0, before.prompt_bytes)


RULES = (
    "Please tidy up the importer. Do not touch the db folder. Never use pandas.\n"
    "- keep Python 3.9 working\nSome other talk. ```\nnever mind this code\n```"
)


async def test_what_the_user_forbade_is_in_the_next_request_word_for_word(acting: Acting) -> None:
    background = ScriptedModel([Says(text="They tidied the importer.")] * 20)
    acting.background = background
    acting.settings = RunSettings(scout=False)
    await acting.say(ScriptedModel([answer("Tidied.")], context_length=SMALL), text=RULES)
    for number in range(4):
        model = ScriptedModel([*reads(acting, 4, lines=25), answer("Read.")], context_length=SMALL)
        await acting.say(model, text=f"Read them again, round {number}.")

    summary = [event for event in acting.of(ContextCompacted) if event.level == "summary"][-1]
    assert summary.summary == "They tidied the importer."
    assert "The user said: Do not touch the db folder." in summary.kept
    assert "The user said: Never use pandas." in summary.kept
    assert "The user said: keep Python 3.9 working" in summary.kept
    assert not any("mind this code" in line for line in summary.kept)
    request = told(acting.model.requests[-1])
    assert "- The user said: Do not touch the db folder." in request
    assert "Please tidy up the importer." not in request
    purposes = [(step.purpose, step.role) for step in acting.of(StepStarted) if step.purpose != "act"]
    assert set(purposes) == {("summary", "background")}


async def test_done_work_comes_from_the_record_and_not_from_the_summary(acting: Acting) -> None:
    acting.background = ScriptedModel([Says(text="Nothing was done yet.")] * 20)
    acting.settings = RunSettings(scout=False)
    work = [
        Says(calls=(call("write_file", path="a.py", content="x = 1\n"),)),
        Says(calls=(call("run_shell", command="test -f a.py"),)),
    ]
    await acting.say(ScriptedModel([*work, answer("Done.")], context_length=SMALL), text="Write a.py with x = 1")
    for number in range(4):
        model = ScriptedModel([*reads(acting, 4, lines=25), answer("Read.")], context_length=SMALL)
        await acting.say(model, text=f"Read them, round {number}.")

    kept = [event for event in acting.of(ContextCompacted) if event.level == "summary"][-1].kept
    assert "Done: Write a.py: completed" in kept
    assert "Done: Run: test -f a.py: exit code 0" in kept or any("exit code 0" in line for line in kept)
    assert [line for line in kept if line.startswith("File changed: a.py (+1 -0 lines, sha256 now ")]


async def test_an_edit_that_is_repeated_after_a_compaction_is_not_done_twice(acting: Acting) -> None:
    acting.settings = RunSettings(scout=False)
    (acting.space / "a.py").write_text("x = 1\n")
    edit = call("edit_file", path="a.py", old_text="x = 1", new_text="y = 2")
    await acting.say(
        ScriptedModel(
            [Says(calls=(call("read_file", path="a.py"),)), Says(calls=(edit,)), answer()], context_length=SMALL
        )
    )
    for number in range(4):
        model = ScriptedModel([*reads(acting, 4, lines=25), answer("Read.")], context_length=SMALL)
        await acting.say(model, text=f"Read them, round {number}.")
    assert [event for event in acting.of(ContextCompacted) if event.level == "summary"]
    await acting.say([Says(calls=(edit,)), answer()], text="Make it y = 2")

    assert (acting.space / "a.py").read_text() == "y = 2\n"
    assert len(acting.of(FileChanged)) == 1


async def test_without_a_model_that_can_write_one_the_host_makes_the_summary(acting: Acting) -> None:
    acting.background = ScriptedModel([Says(error=EndpointFailed("down"))] * 20)
    acting.settings = RunSettings(scout=False)
    await acting.say(
        ScriptedModel([answer("The db has 7 tables.")], context_length=SMALL), text="How many tables has the db?"
    )
    for number in range(4):
        model = ScriptedModel([*reads(acting, 4, lines=25), answer("Read.")], context_length=SMALL)
        await acting.say(model, text=f"Read them, round {number}.")

    summary = [event for event in acting.of(ContextCompacted) if event.level == "summary"][-1].summary
    assert "Asked: How many tables has the db?\nSaid last: The db has 7 tables." in summary


async def test_without_a_background_role_the_primary_writes_the_summary(acting: Acting) -> None:
    acting.settings = RunSettings(scout=False)

    def reply(number: int) -> object:
        def says(messages: Sequence[JSON]) -> Says:
            if str(messages[0]["content"]).startswith("You write the summary"):
                return Says(text="In short.")
            return Says(calls=(call("read_file", path=f"{number}.txt"),))

        return says

    reads(acting, 30, lines=25)
    script = [reply(number) for number in range(30)]
    await acting.say(ScriptedModel(script, context_length=SMALL))  # type: ignore[arg-type]

    summaries = [event for event in acting.of(ContextCompacted) if event.level == "summary"]
    assert summaries
    assert summaries[0].summary == "In short."
    assert {step.role for step in acting.of(StepStarted)} == {"primary"}


async def compactions_in(acting: Acting, length: int) -> list[tuple[ContextCompacted, ContextCompacted]]:
    """Each that left more than the threshold, with the one that came after it. The system part and the tools fill most of the context."""
    acting.background = ScriptedModel([Says(text="Files were read. " * 40)] * 60)
    acting.settings = RunSettings(scout=False)
    for number in range(3):
        model = ScriptedModel([*reads(acting, 10, lines=4), answer()], context_length=length)
        await acting.say(model, text=f"Read them, round {number}.")
    threshold = acting.settings.compaction.threshold * length
    return [pair for pair in itertools.pairwise(acting.of(ContextCompacted)) if pair[0].tokens_after > threshold]


@pytest.mark.parametrize("length", [2_200, 2_300])
async def test_a_summary_that_leaves_more_than_the_threshold_is_not_made_anew_at_every_step(
    acting: Acting, length: int
) -> None:
    pairs = await compactions_in(acting, length)
    assert pairs
    assert all(after.tokens_before >= min(length, 1.1 * before.tokens_after) for before, after in pairs)


async def test_an_input_that_no_longer_fits_is_made_shorter_before_it_has_grown_by_a_tenth(acting: Acting) -> None:
    pairs = await compactions_in(acting, 2_000)
    assert pairs
    assert all(after.tokens_before > 2_000 for _, after in pairs)
    assert any(after.tokens_before < 1.1 * before.tokens_after for before, after in pairs)


# ---- overflow -----------------------------------------------------------------------------------------------------------


def overflows(limit: int | None = 4_096) -> Says:
    return Says(error=ContextOverflow("too many tokens", limit=limit))


async def test_an_input_that_is_refused_is_made_shorter_and_sent_once_more(acting: Acting) -> None:
    model = ScriptedModel(
        [*reads(acting, 8), overflows(5_000), Says(text="In short."), answer("Fits now.")], context_length=None
    )
    finished = await acting.say(model)

    assert finished.code == TerminalCode.ANSWERED
    assert model.context_length == 5_000
    assert len(acting.of(ContextCompacted)) == 1
    assert len(model.sent[-1]) < len(model.sent[-3])
    closed = [event.finish_reason for event in acting.host.events if type(event).__name__ == "StepFinished"]
    assert closed.count("failed") == 1


@pytest.mark.parametrize("limit", [4_096, None])
async def test_a_server_that_always_refuses_is_asked_twice_at_most(acting: Acting, limit: int | None) -> None:
    model = ScriptedModel([*reads(acting, 8), *[overflows(limit)] * 9], context_length=None)
    finished = await acting.say(model)

    assert finished.code == TerminalCode.CONTEXT_OVERFLOW
    assert len(model.requests) <= 8 + 3
    sent_after = [step for step in acting.of(StepStarted) if step.purpose == "act"][8:]
    assert len(sent_after) == 2


async def test_a_compaction_that_frees_nothing_ends_the_turn_at_once(acting: Acting) -> None:
    finished = await acting.say([overflows()] * 3)

    assert finished.code == TerminalCode.CONTEXT_OVERFLOW
    assert len(acting.model.requests) == 1
    assert acting.of(ContextCompacted) == []


async def test_a_result_that_is_larger_than_the_context_is_cut_when_it_comes_and_kept_whole(acting: Acting) -> None:
    (acting.space / "big.txt").write_text("".join(f"line {number} of many\n" for number in range(20_000)))
    model = ScriptedModel([Says(calls=(call("run_shell", command="cat big.txt"),)), answer()], context_length=4_096)
    finished = await acting.say(model)

    assert finished.code == TerminalCode.ANSWERED
    ended = acting.of(ToolCallFinished)[0]
    assert len(ended.result) < 10_000
    whole = acting.root / "side" / Path(ended.side_file).name
    assert "line 11111 of many" in whole.read_text()


async def test_a_limit_of_zero_compacts_only_when_it_must(acting: Acting) -> None:
    settings = acting.settings.compaction
    acting.settings = RunSettings(compaction=type(settings)(threshold=0))
    await acting.say(ScriptedModel([*reads(acting, 16), answer()], context_length=10_100))

    assert acting.of(ContextCompacted) == []


# ---- by order of the user -------------------------------------------------------------------------------------------------


async def test_the_user_may_have_an_idle_session_made_shorter(acting: Acting) -> None:
    for number in range(3):
        await acting.say([*reads(acting, 4), answer(f"Read {number}.")], text="Read them, and only read.")
    writer = ScriptedModel([Says(text="Files were read.")] * 3)
    event = await compact_now(acting.host, list(acting.host.log), OneModel(writer), RunSettings())

    assert event is not None
    assert acting.host.events[-1] == event
    assert event.turn_id is None
    assert event.tokens_after < event.tokens_before / 2
    await acting.say([answer("Yes.")], text="And now?")
    assert_legal_messages(acting.model.requests[0])
    assert rebuilt(acting).startswith(acting.model.sent[0][:-1])
    assert "The user said: Read them, and only read." in told(acting.model.requests[0])


async def test_a_session_in_which_there_is_nothing_to_free_stays_as_it_is(acting: Acting) -> None:
    await acting.say([answer("Hello.")], text="Hi")
    count = len(acting.host.log)

    assert await compact_now(acting.host, list(acting.host.log), OneModel(acting.model), RunSettings()) is None
    assert len(acting.host.log) == count


async def test_the_backup_carries_it_when_the_primary_cannot_be_had(acting: Acting) -> None:
    for number in range(3):
        await acting.say([*reads(acting, 4), answer(f"Read {number}.")], text="Read them, and only read.")
    spare = ScriptedModel([Says(text="Files were read.")] * 3, endpoint="spare", name="spare-1")
    models = ScriptedModels(EndpointUnreachable("nothing listens at big"), backup=spare)
    event = await compact_now(acting.host, list(acting.host.log), models, RunSettings())

    assert event is not None
    assert event.summary == "Files were read."
    (asked,) = [step for step in acting.of(StepStarted) if step.purpose == "summary"]
    assert (asked.role, asked.endpoint) == ("backup", "spare")
    (said,) = acting.of(ProblemNoticed)
    assert said.text == "nothing listens at big, so spare-1 at spare writes the summary."


@pytest.mark.parametrize(
    ("backup", "said"),
    [
        (None, "nothing listens at big"),
        (EndpointUnreachable("spare is away"), "nothing listens at big; the backup too: spare is away"),
    ],
)
async def test_without_any_model_nothing_is_made_shorter_and_it_is_said_why(
    acting: Acting, backup: EndpointUnreachable | None, said: str
) -> None:
    await acting.say([*reads(acting, 4), answer()], text="Read them.")
    models = ScriptedModels(EndpointUnreachable("nothing listens at big", hint="Start it."), backup=backup)
    with pytest.raises(ModelError) as caught:
        await compact_now(acting.host, list(acting.host.log), models, RunSettings())
    assert (str(caught.value), caught.value.hint) == (said, "Start it.")
    assert acting.of(ContextCompacted) == []


async def test_no_compaction_happens_without_a_turn(acting: Acting) -> None:
    long = Says(text=" ".join(f"word{number}" for number in range(3_000)))
    await acting.say(ScriptedModel([*reads(acting, 6), long], context_length=10_100))
    over = acting.model
    assert acting.of(ContextCompacted) == []
    assert len(over.requests) == 7
    await acting.say(ScriptedModel([Says(text="In short."), answer()], context_length=10_100), text="And now?")

    assert len(over.requests) == 7
    compacted = acting.of(ContextCompacted)
    assert len(compacted) == 1
    assert compacted[0].turn_id == acting.host.view.turns[-1].turn_id


# ---- facts ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Don't change the API",
        "You must not commit",
        "Use only the standard library.",
        "keep the file names",
        "Ändere nichts in src, nur die Tests.",
        "Niemals pushen!",
        "From now on, use tabs.",
        "No emojis in messages.",
        "Nothing below data/ may be changed.",
        "Ne supprime rien dans data.",
        "Il faut utiliser des tabulations.",
        "No toques la carpeta data.",
        "Non toccare la cartella data.",
        "Não apague nada.",
        "Raak de map data niet aan.",
        "永远不要修改 data 文件夹。",
        "data フォルダーは変更しないでください。",
        "Никогда не трогай папку data.",
        "لا تحذف أي ملف أبدا.",
    ],
)
def test_sentences_that_bind_are_found(text: str) -> None:
    assert rules_in(f"Good morning. {text} Thank you.")


def test_sentences_end_where_their_script_ends_them() -> None:
    assert rules_in("规则：不要修改 data 文件夹。用制表符！") == ["规则：不要修改 data 文件夹。", "用制表符！"]


def test_sentences_that_do_not_bind_are_left_to_the_summary() -> None:
    assert rules_in("Good morning. Read data.csv and tell me the mean.") == []
    assert (
        rules_in("Plot the non-empty rows by month. Guten Tag, zeige die Summen. Lis le fichier et donne la moyenne.")
        == []
    )


async def test_facts_are_bounded_and_say_so(acting: Acting) -> None:
    for number in range(40):
        await acting.say([answer()], text=f"Never do thing number {number}, {'x' * 300}.")
    standing = Standing.of(acting.host.log, upto=10**9)
    lines = standing.lines_for(None, limit=4_000)

    assert sum(map(len, lines)) < 6_000
    assert lines[0].endswith("earlier ones are not shown)")
    assert "number 39" in lines[-1]


def test_a_summary_of_the_host_tells_each_request_with_its_answer() -> None:
    assert host_summary([], upto=0).startswith("(Made by the host")
