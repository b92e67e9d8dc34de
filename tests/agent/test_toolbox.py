"""The tools that a session is told of: the same bytes as long as it lives, whatever becomes of the program's own."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.policy.broker import Targets
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel
from jupyter_pernix.agent.testing import Says, ScriptedModel, call
from jupyter_pernix.agent.toolbox import TOLD_AS, Toolbox
from jupyter_pernix.agent.tools.base import Arguments, Tool, ToolContext, ToolResult
from jupyter_pernix.agent.tools.registry import IN_NOTEBOOKS, TOOLS
from jupyter_pernix.events import InstructionsRead, PolicyDecided, SessionAttached, SessionDetached, ToolCallRequested


class Weigh(Arguments, frozen=True):
    thing: str


async def _weigh(context: ToolContext, args: Weigh) -> ToolResult:
    return ToolResult(text=f"{args.thing} weighs 3 kg")


WEIGH: Tool[Any] = Tool(
    name="weigh",
    description="Weigh a thing.",
    kind="execute",
    action="execute",
    arguments=Weigh,
    title=lambda args: f"Weigh {args.thing}",
    targets=lambda args: Targets(code=args.thing),
    carry_out=_weigh,
)


async def say(acting: Acting, *script: Says, tools: dict[str, Tool[Any]], protocol: Any = "tools") -> ScriptedModel:
    turn_id = acting.host.submit("Do it")
    model = ScriptedModel(list(script), protocol=protocol)
    await Run(acting.host, turn_id, list(acting.host.log), OneModel(model), tools=tools).carry()
    return model


async def test_a_tool_that_came_later_is_told_in_a_message_and_called_by_use_tool(acting: Acting) -> None:
    first = await say(acting, answer(), tools=dict(TOOLS))
    used = call("use_tool", name="weigh", arguments={"thing": "the cat"})
    second = await say(acting, Says(calls=(used,)), answer(), tools={**TOOLS, "weigh": WEIGH})
    third = await say(acting, answer(), tools={**TOOLS, "weigh": WEIGH})

    assert first.tools == second.tools == third.tools
    assert "use_tool" in first.tools
    said = second.requests[0][-1]["content"]
    assert f"({TOLD_AS} is now as follows" in said
    assert re.search(r"- new, call it by use_tool: weigh\. Weigh a thing\. Arguments: \{.*\"thing\"", said)
    assert "weigh" not in third.requests[0][-1]["content"]
    assert acting.results == ["the cat weighs 3 kg"]
    requested = acting.of(ToolCallRequested)[0]
    assert (requested.tool, requested.title, requested.kind) == ("use_tool", "Weigh the cat", "execute")


async def test_what_is_called_by_use_tool_is_decided_as_what_it_is(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="plan")
    await say(acting, answer(), tools=dict(TOOLS))
    used = call("use_tool", name="weigh", arguments={"thing": "x"})
    await say(acting, Says(calls=(used,)), answer(), tools={**TOOLS, "weigh": WEIGH})

    assert [(event.action, event.verdict) for event in acting.of(PolicyDecided)] == [("execute", "refuse")]


async def test_a_tool_that_is_gone_says_so(acting: Acting) -> None:
    await say(acting, answer(), tools={**TOOLS, "weigh": WEIGH})
    model = await say(acting, Says(calls=(call("weigh", thing="x"),)), answer(), tools=dict(TOOLS))

    assert "- gone: weigh" in model.requests[0][-1]["content"]
    assert acting.results[0].startswith("Not done: the tool 'weigh' is gone since this session began.")


async def test_a_tool_that_takes_other_arguments_now_is_told(acting: Acting) -> None:
    class Weigh2(Arguments, frozen=True):
        thing: str
        unit: str

    await say(acting, answer(), tools={"weigh": WEIGH})
    model = await say(acting, answer(), tools={"weigh": replace(WEIGH, arguments=Weigh2)})

    assert (
        '- weigh takes other arguments now: {"type":"object","properties":{"thing"' in model.requests[0][-1]["content"]
    )


async def test_known_tools_are_not_called_through_use_tool(acting: Acting) -> None:
    await say(
        acting,
        Says(calls=(call("use_tool", name="list_files", arguments={}), call("use_tool", name="x"))),
        answer(),
        tools=dict(TOOLS),
    )

    assert acting.results[0] == "Not done: call list_files directly, not through use_tool."
    assert acting.results[1].startswith("Not done: the arguments of use_tool are wrong:")


async def test_a_model_that_is_driven_by_actions_has_the_tools_of_now(acting: Acting) -> None:
    await say(acting, answer(), tools=dict(TOOLS), protocol="actions")
    model = await say(acting, answer(), tools={**TOOLS, "weigh": WEIGH}, protocol="actions")

    assert "weigh" in model.tools
    assert "use_tool" not in model.tools


async def test_under_actions_the_tools_of_notebooks_are_told_while_one_is_attached(acting: Acting) -> None:
    alone = await say(acting, answer(), tools=dict(TOOLS), protocol="actions")
    session_id = acting.host.session_id
    await acting.host.append(
        SessionAttached(session_id=session_id, path="a.ipynb", kernel_id="k", kernel_name="python3")
    )
    attached = await say(acting, answer(), tools=dict(TOOLS), protocol="actions")
    await acting.host.append(SessionDetached(session_id=session_id))
    detached = await say(acting, answer(), tools=dict(TOOLS), protocol="actions")

    assert set(attached.tools) - set(alone.tools) == IN_NOTEBOOKS
    assert detached.tools == alone.tools


async def test_what_is_told_is_kept_as_it_was_to_the_byte(acting: Acting) -> None:
    await say(acting, answer(), tools=dict(TOOLS))
    kept = (acting.root / "side" / "tools.json").read_bytes()
    described = {name: replace(tool, description="Something else.") for name, tool in TOOLS.items()}
    box = await Toolbox.of(acting.host, described, acting.host.log)
    await say(acting, answer(), tools=described)

    assert (acting.root / "side" / "tools.json").read_bytes() == kept
    assert [spec.description for spec in box.specs("tools")[:2]] == [tool.description for tool in TOOLS.values()][:2]
    assert [event for event in acting.of(InstructionsRead) if event.name == TOLD_AS] == []


@pytest.mark.parametrize("is_worker", [True, False])
async def test_only_a_session_of_its_own_can_delegate(tmp_path: Path, is_worker: bool) -> None:
    acting = Acting(root=tmp_path)
    acting.host.is_worker = is_worker
    model = await say(acting, answer(), tools=dict(TOOLS))

    assert ("delegate" in model.tools) is not is_worker


async def test_a_damaged_list_of_tools_is_made_anew(acting: Acting) -> None:
    await say(acting, answer(), tools=dict(TOOLS))
    (acting.root / "side" / "tools.json").write_text('[{"name":')
    model = await say(acting, answer(), tools=dict(TOOLS))

    assert "read_file" in model.tools
    assert acting.host.view.turns[-1].code == "answered"
