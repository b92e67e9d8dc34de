"""Which model answers: the primary, the backup when it fails for good, the background for what is beside the conversation."""

from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal, assert_legal_messages, stop_when

from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.testing import MemoryHost, Says, ScriptedModel, ScriptedModels, call
from jupyter_pernix.agent.titles import tidy, title_for
from jupyter_pernix.config import Price
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
    ModelError,
    StreamBroken,
)
from jupyter_pernix.events import (
    MessageCompleted,
    PlanUpdated,
    ProblemNoticed,
    SessionStateChanged,
    StepFallbackTaken,
    StepFinished,
    StepRetryScheduled,
    StepStarted,
    Stored,
    TurnStarted,
)
from jupyter_pernix.records import ApprovalAnswer, Plan, PlanStep, TerminalCode, Usage

WORK = "Read data.csv and tell me how many rows it has, please"


def backup(*script: Says, context_length: int | None = 32_768) -> ScriptedModel:
    return ScriptedModel(list(script), endpoint="spare", name="spare-1", context_length=context_length)


async def test_when_the_primary_fails_for_good_the_backup_goes_on_and_it_is_said(acting: Acting) -> None:
    acting.backup = backup(Says(calls=(call("list_files", path="."),)), answer("Empty."))
    finished = await acting.say(
        [Says(thought="Ponderous.", calls=(call("list_files"),)), Says(error=EndpointRefused("the key was refused"))]
    )

    assert finished.code == TerminalCode.ANSWERED
    taken = acting.of(StepFallbackTaken)
    assert [(one.failed_endpoint, one.endpoint, one.model) for one in taken] == [("script", "spare", "spare-1")]
    assert "the key was refused" in taken[0].text
    steps = acting.of(StepStarted)
    assert [(step.role, step.endpoint) for step in steps] == [
        ("primary", "script"),
        ("primary", "script"),
        ("backup", "spare"),
    ]
    assert taken[0].step_id == steps[1].step_id
    assert len(acting.of(StepFinished)) == 3
    assert_legal_messages(acting.backup.requests[0])
    assert "Ponderous" not in acting.backup.sent[0].decode()
    assert [view.role for view in acting.host.view.turns[0].steps] == ["primary", "backup", "backup"]


async def test_the_next_turn_begins_with_the_primary_again(acting: Acting) -> None:
    acting.backup = backup(answer("I am the spare one."))
    await acting.say([Says(error=EndpointRefused("no"))])
    await acting.say([answer("I am back.")])

    assert [event.text for event in acting.of(MessageCompleted)] == ["I am the spare one.", "I am back."]
    assert acting.of(StepStarted)[-1].role == "primary"


async def test_what_a_failed_stream_showed_is_taken_back_before_the_backup_speaks(acting: Acting) -> None:
    acting.backup = backup(answer("Four."))
    await acting.say([Says(text="Fi", error=StreamBroken("cut"))] * 4)

    assert len(acting.of(StepRetryScheduled)) == 3
    texts = [(delta.offset, delta.text) for delta in acting.host.deltas]
    assert texts[-3:-1] == [(0, ""), (0, "")]
    assert texts[-1] == (0, "Four.")


async def test_when_the_backup_fails_too_the_ending_names_both(acting: Acting) -> None:
    acting.backup = backup(Says(error=EndpointRefused("no credit")))
    finished = await acting.say([Says(error=EndpointRefused("the key was refused"))])

    assert finished.code == TerminalCode.MODEL_FAILED
    assert "scripted-1 at script: the key was refused" in finished.detail
    assert "the backup too: no credit" in finished.detail
    assert [event.finish_reason for event in acting.of(StepFinished)] == ["failed"]
    assert_legal(acting.host)


async def test_a_backup_that_cannot_be_connected_is_named_too(acting: Acting) -> None:
    turn_id = acting.host.submit("Do it")
    models = ScriptedModels(
        ScriptedModel([Says(error=EndpointRefused("no"))]), backup=EndpointUnreachable("spare is away")
    )
    finished = await Run(acting.host, turn_id, list(acting.host.log), models).carry()

    assert finished.detail == "no; the backup too: spare is away."


async def test_what_never_reached_the_endpoint_is_not_counted_as_known_to_it(acting: Acting) -> None:
    await acting.say([Says(error=EndpointRefused("no"))])
    await acting.say([answer()])

    assert [step.prefix_bytes for step in acting.of(StepStarted)] == [0, 0]


async def test_a_conversation_that_is_too_long_goes_to_a_backup_that_holds_more(acting: Acting) -> None:
    acting.backup = backup(answer("Fits."), context_length=100_000)
    script = [Says(calls=(call("run_shell", command=f"seq {number} {number + 3000}"),)) for number in range(4)]
    refused = Says(error=ContextOverflow("too long", limit=5_000))
    finished = await acting.say(ScriptedModel([*script, refused, Says(text="In short."), refused], context_length=None))

    assert finished.code == TerminalCode.ANSWERED
    assert acting.of(StepFallbackTaken)[0].endpoint == "spare"


async def test_a_primary_that_cannot_be_connected_ends_the_turn_and_says_what_to_do(acting: Acting) -> None:
    turn_id = acting.host.submit("Do it")
    models = ScriptedModels(ModelError("there is no endpoint 'x' any more", hint="Add one."))
    finished = await Run(acting.host, turn_id, list(acting.host.log), models).carry()

    assert (finished.code, finished.detail) == (TerminalCode.NO_MODEL, "there is no endpoint 'x' any more")
    assert acting.of(ProblemNoticed)[0].hint == "Add one."
    assert_legal(acting.host)


async def test_a_primary_that_cannot_be_connected_leaves_the_turn_to_the_backup_and_it_is_said(acting: Acting) -> None:
    turn_id = acting.host.submit("Do it")
    models = ScriptedModels(
        EndpointUnreachable("no connection to big"), backup=backup(answer("Done by the spare one."))
    )
    finished = await Run(acting.host, turn_id, list(acting.host.log), models).carry()

    assert finished.code == TerminalCode.ANSWERED
    assert [event.endpoint for event in acting.of(TurnStarted)] == ["spare"]
    assert [(step.role, step.endpoint) for step in acting.of(StepStarted)] == [("backup", "spare")]
    said = "no connection to big, so spare-1 at spare carries this turn."
    assert acting.of(ProblemNoticed)[0].text == said
    assert_legal(acting.host)


async def test_when_neither_can_be_connected_the_ending_names_both(acting: Acting) -> None:
    turn_id = acting.host.submit("Do it")
    models = ScriptedModels(
        EndpointUnreachable("no connection to big", hint="Start it."), backup=EndpointUnreachable("spare is away")
    )
    finished = await Run(acting.host, turn_id, list(acting.host.log), models).carry()

    assert finished.code == TerminalCode.NO_MODEL
    assert finished.detail == "no connection to big; the backup too: spare is away"
    assert acting.of(ProblemNoticed)[0].hint == "Start it."
    assert_legal(acting.host)


async def test_stopped_while_a_request_runs_its_step_is_closed(acting: Acting) -> None:
    model = ScriptedModel([Says(text="It is beca", waits=True)])
    await stop_when(acting.run(model), model.streaming.wait)

    assert [event.finish_reason for event in acting.of(StepFinished)] == ["failed"]
    assert acting.host.types.index("message.completed") < acting.host.types.index("step.finished")


async def test_costs_are_stored_with_each_step_and_the_turn(acting: Acting) -> None:
    usage = Usage(prompt_tokens=1_000, completion_tokens=100, cached_tokens=0)
    price = Price(prompt=2.0, completion=10.0)
    model = ScriptedModel([Says(calls=(call("list_files"),), usage=usage), Says(text="x", usage=usage)], price=price)
    finished = await acting.say(model)

    assert [event.cost for event in acting.of(StepFinished)] == [0.003, 0.003]
    assert finished.cost == 0.006


async def test_a_turn_with_a_step_without_a_price_has_no_cost(acting: Acting) -> None:
    finished = await acting.say([Says(text="x", usage=Usage(prompt_tokens=5, completion_tokens=5))])

    assert finished.cost is None


# ---- the scout ------------------------------------------------------------------------------------------------------------


def planner(*script: Says) -> ScriptedModel:
    return ScriptedModel(list(script), endpoint="small", name="small-1")


PLAN = 'Sure!\n```json\n{"approach": "Look, then count.", "steps": ["read it", {"step": "count"}], "tools": ["read_file", "magic"]}\n```'


async def test_a_substantive_turn_is_planned_by_the_background_role_first(acting: Acting) -> None:
    acting.background = planner(Says(text=PLAN, usage=Usage(prompt_tokens=100, completion_tokens=20)))
    finished = await acting.say([answer()], text=WORK)

    plan = Plan(
        approach="Look, then count.", steps=[PlanStep(text="read it"), PlanStep(text="count")], tools=["read_file"]
    )
    assert [event.plan for event in acting.of(PlanUpdated)] == [plan]
    steps = [(step.purpose, step.role, step.endpoint, step.index) for step in acting.of(StepStarted)]
    assert steps == [("scout", "background", "small", 0), ("act", "primary", "script", 1)]
    assert acting.model.requests[0][1]["content"] == (
        f"{WORK}\n\n(A plan made beforehand; follow it where it fits, leave it where you know better.)\nLook, then count."
        "\n1. read it\n2. count\nTools: read_file.\n\n(Mode: auto. Time: 2026-01-01 00:00 UTC.)"
    )
    moves = [event.reason for event in acting.of(SessionStateChanged)]
    assert moves == ["turn_started", "scout_started", "scout_done", "turn_ending", "turn_ended"]
    assert finished.usage.prompt_tokens == 100
    assert_legal_messages(acting.model.requests[0])


async def test_small_talk_and_a_yes_are_not_planned(acting: Acting) -> None:
    acting.background = planner(Says(text=PLAN))
    for text in ("Hello, how are you?", "yes, go ahead", "Fix it"):
        await acting.say([answer()], text=text)

    assert acting.background.requests == []


async def test_a_worker_and_a_model_that_only_talks_are_not_planned_for(acting: Acting) -> None:
    acting.background = planner(Says(text=PLAN))
    await acting.say(ScriptedModel([answer()], protocol="chat"), text=WORK)
    acting.host.is_worker = True
    await acting.say([answer()], text=WORK)

    assert acting.background.requests == []


async def test_without_a_usable_plan_the_turn_begins_without_one(acting: Acting) -> None:
    acting.background = planner(Says(text="I would rather not."), Says(error=EndpointFailed("down")))
    for _ in range(2):
        finished = await acting.say([answer()], text=WORK)
        assert finished.code == TerminalCode.ANSWERED

    assert acting.of(PlanUpdated) == []
    assert acting.of(ProblemNoticed) == []
    assert [event.finish_reason for event in acting.of(StepFinished)] == ["stop", "stop", "failed", "stop"]


async def test_a_plan_that_goes_on_without_end_is_cut_off(acting: Acting) -> None:
    acting.background = planner(Says(text="and then " * 10_000, chunk=400))
    finished = await acting.say([answer()], text=WORK)

    assert finished.code == TerminalCode.ANSWERED
    assert acting.of(StepFinished)[0].finish_reason == "length"


async def test_stopped_while_it_is_planned_the_log_is_legal(acting: Acting) -> None:
    acting.background = planner(Says(text="{", waits=True))
    await stop_when(acting.run([answer()], text=WORK), acting.background.streaming.wait)

    assert_legal(acting.host)
    assert [event.finish_reason for event in acting.of(StepFinished)] == ["failed"]


async def test_a_background_role_without_an_endpoint_stops_nothing(acting: Acting) -> None:
    turn_id = acting.host.submit(WORK)
    models = ScriptedModels(ScriptedModel([answer()]), background=EndpointUnreachable("away"))
    finished = await Run(acting.host, turn_id, list(acting.host.log), models).carry()

    assert finished.code == TerminalCode.ANSWERED


# ---- titles -----------------------------------------------------------------------------------------------------------------


async def _title(acting: Acting, model: ScriptedModel | None) -> tuple[list[str], str | None]:
    await acting.say([answer("It has 3 rows.")], text=WORK)
    events, title = await title_for(
        list(acting.host.log), ScriptedModels(ScriptedModel([]), background=model), clock=acting.clock
    )
    return [type(event).__name__ for event in events], title


async def test_a_title_is_made_by_the_background_role_and_its_request_is_told(acting: Acting) -> None:
    model = planner(Says(text='Title: "Rows of data.csv."\nBecause that is it.'))
    assert await _title(acting, model) == (["StepStarted", "StepFinished"], "Rows of data.csv")
    assert "It has 3 rows." in model.requests[0][1]["content"]


async def test_without_a_background_role_there_is_no_title_and_no_request(acting: Acting) -> None:
    assert await _title(acting, None) == ([], None)


async def test_a_title_that_fails_is_no_title(acting: Acting) -> None:
    names, title = await _title(acting, planner(Says(error=EndpointRefused("no"))))
    assert (names, title) == (["StepStarted", "StepFinished"], None)


def test_titles_are_tidied() -> None:
    assert tidy("**Counting rows**") == "Counting rows"
    assert tidy("\n\n\u202eevil\x1b[31m title") == "evil [31m title"
    assert tidy(" \n\"'.") is None
    assert tidy("word " * 40) == "word word word word word word word word word word word word…"


# ---- going on with the backup after a restart -----------------------------------------------------------------------------


async def test_a_turn_that_goes_on_in_another_program_stays_with_the_backup(acting: Acting) -> None:
    acting.host.mode = "edit"
    acting.host.can_ask = True
    acting.backup = backup(Says(calls=(call("run_code", code="1"),)))
    run = acting.run([Says(error=EndpointRefused("no"))])
    await stop_when(run, acting.host.asking.wait)
    log: list[Stored] = acting.host.log[: acting.host.types.index("approval.requested") + 2]

    yes = [ApprovalAnswer(choice="allow_once")]
    later = MemoryHost(space=acting.space, side=acting.root / "side", mode="edit", answers=yes, log=log)
    assert later.state == "awaiting_user"
    spare = backup(answer("Done."))
    models = ScriptedModels(ScriptedModel([]), backup=spare)
    turn_id = acting.of(StepStarted)[0].turn_id
    finished = await Run(later, turn_id, list(log), models).carry()

    assert finished.code == TerminalCode.ANSWERED
    assert len(spare.requests) == 1
