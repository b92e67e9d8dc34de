"""What the model is told beside a message: where the kernel works, what it holds, and what the message is about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent import beside
from jupyter_pernix.agent.beside import INVENTORY_LIMIT, mentioned_names
from jupyter_pernix.agent.constraints import Standing
from jupyter_pernix.agent.context import Transcript
from jupyter_pernix.agent.testing import FakeExecutor, Says, call
from jupyter_pernix.agent.testing.notebooks import MemoryNotebooks
from jupyter_pernix.errors import KernelError, NotebookRefused
from jupyter_pernix.events import (
    Event,
    ExecutionFinished,
    KernelRestarted,
    SessionAttached,
    TurnContextAdded,
    TurnSubmitted,
)
from jupyter_pernix.ports import Surroundings
from jupyter_pernix.records import CellSnapshot, ContextItem, Mention, Variable, Variables

PNG = "iVBORw0KGgo="
AROUND = Surroundings("python3", "python", "3.11.7", "/usr/bin/python3", "", {"numpy": "2.4", "pandas": "3.1"})
TOLD = (
    "(The kernel is python3: python 3.11.7 (/usr/bin/python3), working in the space's folder. "
    "Installed are, among others: numpy 2.4, pandas 3.1.)"
)


@pytest.fixture
def acting(tmp_path: Path) -> Acting:
    acting = Acting(root=tmp_path)
    acting.executor.stands_in = AROUND._replace(cwd=str(acting.host.space))
    return acting


def items(acting: Acting) -> list[ContextItem]:
    return [event.item for event in acting.of(TurnContextAdded)]


async def say(acting: Acting, text: str = "Hello", mentions: Sequence[Mention] = (), *says: Says) -> str:
    """Carry a turn; the user's message as its first request had it."""
    turn_id = acting.host.submit(text, mentions)
    await acting.go_on(turn_id, [*says, answer()]).carry()
    return str(next(one["content"] for one in reversed(acting.model.requests[0]) if one["role"] == "user"))


async def store(acting: Acting, *events: Event) -> None:
    await acting.host.append(*events)


def attached(acting: Acting, path: str = "a.ipynb", kernel_id: str = "k1") -> SessionAttached:
    return SessionAttached(session_id=acting.host.session_id, path=path, kernel_id=kernel_id, kernel_name="python3")


def restarted(acting: Acting) -> KernelRestarted:
    text = "The kernel was restarted: all variables are gone."
    return KernelRestarted(session_id=acting.host.session_id, turn_id=None, kernel_name="python3", text=text)


RUNS = Says(calls=(call("run_code", code="1"),))


# ---- the surroundings -----------------------------------------------------------------------------------------------------


async def test_the_surroundings_of_a_kernel_are_told_once_with_the_message_after_its_start(acting: Acting) -> None:
    assert await say(acting, "One", (), RUNS) == "One\n\n(Mode: auto. Time: 2026-01-01 00:00 UTC.)"
    assert items(acting) == []
    assert TOLD in await say(acting, "Two")
    assert TOLD not in await say(acting, "Three")
    assert [item.kind for item in items(acting)] == ["environment"]


async def test_after_a_restart_only_what_changed_is_told_again(acting: Acting) -> None:
    acting.host.has_kernel = True
    await say(acting)
    await store(acting, restarted(acting))
    assert "all variables are gone" in await say(acting)
    assert [item.kind for item in items(acting)] == ["environment", "kernel"]
    acting.executor.stands_in = acting.executor.stands_in._replace(packages={"numpy": "3.0"})
    await store(acting, restarted(acting))
    assert "numpy 3.0" in await say(acting)
    assert [item.kind for item in items(acting)] == ["environment", "kernel", "kernel", "environment"]
    assert "gone" not in await say(acting)


async def test_a_restart_that_a_result_has_told_is_not_told_again(acting: Acting) -> None:
    acting.host.has_kernel = True
    await say(acting, "Go on", (), RUNS)
    finished = acting.of(ExecutionFinished)[0]
    await store(acting, restarted(acting), finished)
    assert "gone" not in await say(acting)


class Slow(FakeExecutor):
    async def surroundings(self) -> Surroundings:
        await anyio.sleep_forever()
        raise AssertionError


class Broken(FakeExecutor):
    async def surroundings(self) -> Surroundings:
        raise KernelError("the kernel is busy")

    async def variables(self, names: Any = None) -> Variables:
        raise KernelError("the kernel is busy")


async def test_a_kernel_that_does_not_answer_holds_no_turn_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "WITHIN", 0.01)
    acting = Acting(root=tmp_path, executor=Slow())
    acting.host.has_kernel = True
    await store(acting, restarted(acting))
    await say(acting)
    assert [item.kind for item in items(acting)] == ["kernel"]  # what was found before stays


async def test_a_kernel_that_cannot_be_looked_into_is_no_failure(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, executor=Broken())
    acting.host.has_kernel = True
    assert await say(acting, "About @x", [Mention(kind="variable", name="df")])
    assert [(item.kind, item.name) for item in items(acting)] == [("variable", "df")]
    assert (
        items(acting)[0].text == "(The message is about the variable df; it cannot be looked at: the kernel is busy.)"
    )


# ---- a notebook that was attached -----------------------------------------------------------------------------------------


async def test_the_first_message_after_attaching_has_a_short_inventory(acting: Acting) -> None:
    acting.host.has_kernel = True
    acting.executor.has = [Variable(name=f"v{number}", type="int", preview="5") for number in range(300)]
    await store(acting, attached(acting))
    text = await say(acting)
    assert (
        "(You are attached to the notebook a.ipynb: run_code runs in its kernel, which holds 300 variables:\n- v0: int = 5"
        in text
    )
    (inventory,) = [item for item in items(acting) if item.kind == "inventory"]
    assert len(inventory.text) < INVENTORY_LIMIT + 200
    await store(acting, attached(acting, path="renamed.ipynb"))
    await say(acting)
    assert len([item for item in items(acting) if item.kind == "inventory"]) == 1
    acting.executor.has = []
    await store(acting, attached(acting, path="other.ipynb", kernel_id="k2"))
    assert "holds no variables" in await say(acting)


# ---- what the message is about --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Plot @df, please", ["df"]),
        ("@df and @df_2.", ["df", "df_2"]),
        ("(@x) @x", ["x"]),
        ("größe @größe?", ["größe"]),
        ("mail me@example.org or a.b+c@x.de", []),
        ("```python\n@decorator\ndef f(): ...\n```", []),
        ("`@inline` and\n```\n@open", []),
        ("@file:src/a.py, @scope/package, x/@y", []),
        ("@7 @@x", []),
        ("Plot @df and @other\n\n@df:\n```\na | b\n```", ["other"]),  # a cell puts what it tells below its question
        ("Use @key\n\n@key: not shown, it looks like a secret", []),
        ("@df:\nplot it", ["df"]),
    ],
)
def test_a_name_behind_an_at_sign_is_a_mention_unless_it_is_something_else(text: str, names: list[str]) -> None:
    assert mentioned_names(text) == names


async def test_variables_that_a_message_is_about_are_told(acting: Acting) -> None:
    acting.host.has_kernel = True
    acting.executor.has = [
        Variable(name="df", type="DataFrame", shape=[2, 3]),
        Variable(name="n", type="int", preview="5"),
    ]
    text = await say(
        acting, "What is @n and @someone?", [Mention(kind="variable", name="df"), Mention(kind="variable", name="m")]
    )
    assert text.startswith("What is @n and @someone?\n\n")
    told = {item.name: item.text for item in items(acting) if item.kind == "variable"}
    assert told == {
        "df": "(The message is about this variable of the kernel:)\ndf: DataFrame (2 × 3)",
        "m": "(The message is about the variable m, but the kernel has none of that name.)",
        "n": "(The message is about this variable of the kernel:)\nn: int\nvalue: 5",
    }
    assert all(one in text for one in told.values())


async def test_without_a_kernel_a_mention_starts_none(acting: Acting) -> None:
    await say(acting, "What is @n?", [Mention(kind="variable", name="df")])
    assert [item.text for item in items(acting)] == ["(The message is about the variable df, but there is no kernel.)"]
    assert not acting.host.has_kernel


ERROR = {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["\x1b[31mKeyError\x1b[0m: 'x'"]}
PLOT = {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure>"}, "metadata": {}}


async def test_a_cell_is_told_with_its_source_its_error_and_its_picture(acting: Acting) -> None:
    cells = [
        CellSnapshot(cell_id="c1", cell_type="code", source="d['x']", outputs=[PLOT, ERROR]),
        CellSnapshot(cell_id="c2", cell_type="markdown", source="# Title"),
        CellSnapshot(cell_id="c3", cell_type="code", source="x = 1"),
    ]
    acting.host.notebooks = MemoryNotebooks({"a.ipynb": cells}, attached="a.ipynb")
    mentions = [Mention(kind="cell", name=name) for name in ("c1", "c2", "c3", "gone")]
    text = await say(acting, "Fix it", mentions)
    assert [item.text for item in items(acting)] == [
        "(The user's message is about the code cell c1 of a.ipynb:)\nd['x']\n(Its outputs:)\n<Figure>\n[image/png, shown to the user]\nKeyError: 'x'",
        "(The user's message is about the markdown cell c2 of a.ipynb:)\n# Title",
        "(The user's message is about the code cell c3 of a.ipynb:)\nx = 1\n(It has no outputs.)",
        "(The message is about a cell of the attached notebook that is not there any more.)",
    ]
    assert [len(item.pictures) for item in items(acting)] == [1, 0, 0, 0]
    assert all(item.text in text for item in items(acting))


async def test_a_notebook_that_cannot_be_read_is_told(acting: Acting) -> None:
    def refuse(what: str) -> None:
        raise NotebookRefused("it is damaged")

    acting.host.notebooks.by_hand = refuse
    await say(acting, "Fix it", [Mention(kind="cell", name="c1", path="b.ipynb")])
    assert [item.text for item in items(acting)] == [
        "(The message is about a cell of b.ipynb, which cannot be read: it is damaged.)"
    ]


# ---- the model's input ----------------------------------------------------------------------------------------------------


async def test_what_was_told_is_rebuilt_to_the_same_bytes_and_only_grows(acting: Acting) -> None:
    acting.host.has_kernel = True
    acting.executor.has = [Variable(name="n", type="int", preview="5")]
    await say(acting, "What is @n?", (), RUNS)
    await store(acting, restarted(acting))
    await say(acting, "And @n now?", (), RUNS)
    sent = acting.model.sent
    assert sent[1].startswith(sent[0][:-1])
    rebuilt = Transcript.of(system_of(acting), acting.host.log)
    assert rebuilt.conversation.encoded().startswith(sent[-1][:-1])


def system_of(acting: Acting) -> str:
    return str(acting.model.requests[0][0]["content"])


async def test_a_summary_keeps_the_surroundings_and_what_the_request_is_about(acting: Acting) -> None:
    acting.host.has_kernel = True
    acting.executor.has = [Variable(name="n", type="int", preview="5")]
    await say(acting, "What is @n?", [Mention(kind="cell", name="c1", path="b.ipynb")])
    await say(acting, "And now?")
    standing = Standing.of(acting.host.log, upto=acting.host.log[-1].seq)
    first, second = (event.turn_id for event in acting.of(TurnSubmitted))
    about = "(The message is about this variable of the kernel:)\nn: int\nvalue: 5"
    assert TOLD in standing.lines_for(second, limit=4_000)
    assert about not in standing.lines_for(second, limit=4_000)
    assert {TOLD, about} < set(standing.lines_for(first, limit=4_000))
