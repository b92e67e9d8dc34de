"""The agent behind a script, in a real server."""

from collections.abc import Callable, Sequence
from typing import Any

from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import FakeClock, Says, Script, ScriptedModel, ScriptedModels, call
from jupyter_pernix.cells import cell_digest
from jupyter_pernix.events import Stored
from jupyter_pernix.ids import TurnId
from jupyter_pernix.ports import TurnHost
from jupyter_pernix.records import JSON
from jupyter_pernix.serverext.surroundings import Carry

from ..served import Served


def scripted(*scripts: Sequence[Script]) -> Carry:
    """Each turn plays the next script, and then says that it is done."""
    left = list(scripts)

    async def carry(host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        model = ScriptedModel([*left.pop(0), Says(text="Done.")])
        await Run(host, turn_id, log, ScriptedModels(model), RunSettings(scout=False), FakeClock()).carry()

    return carry


def read(**arguments: Any) -> Says:
    return Says(calls=(call("read_notebook", **arguments),))


def edit(cell_id: str, old: str, new: str, **more: Any) -> Says:
    """Edit a code cell that is known to have the source ``old``."""
    base = cell_digest("code", old)
    return Says(calls=(call("edit_notebook", op="edit", cell_id=cell_id, base=base, source=new, **more),))


def insert(source: str, **more: Any) -> Says:
    return Says(calls=(call("edit_notebook", op="insert", source=source, **more),))


def delete(cell_id: str, old: str) -> Says:
    return Says(calls=(call("edit_notebook", op="delete", cell_id=cell_id, base=cell_digest("code", old)),))


def move(cell_id: str, old: str, behind: str) -> Says:
    base = cell_digest("code", old)
    return Says(calls=(call("edit_notebook", op="move", cell_id=cell_id, base=base, behind=behind),))


def run(*cell_ids: str) -> Says:
    return Says(calls=(call("run_cells", cell_ids=list(cell_ids)),))


async def turn(server: Served, session: str, *, after: Callable[[], int] | None = None, can_ask: bool = True) -> JSON:
    """Carry the next turn to its end; it as it is told then."""
    before = len((await server.get(f"/sessions/{session}"))["turns"])
    seq = (await server.get(f"/sessions/{session}"))["last_seq"]
    await server.submit(session, "Do it", can_ask=can_ask)
    await server.wait_idle(session, after=seq)
    return (await server.get(f"/sessions/{session}"))["turns"][before]


def calls(turn_: JSON) -> list[JSON]:
    return [item for item in turn_["items"] if item["type"] == "call"]


def results(turn_: JSON) -> list[str]:
    return [item["result"] for item in calls(turn_)]


async def listed(server: Served, what: str, path: str = "a.ipynb") -> list[JSON]:
    """The open changes or executions of a notebook."""
    response = await server.http.get(f"/notebooks/{what}", params={"path": path})
    assert response.status_code == 200, response.text
    return response.json()
