"""Parts to test an agent with, and to try one without a model, a kernel or a server. All of them play what they are given as data.

::

    host = MemoryHost(space=tmp_path, side=tmp_path / "side")
    turn_id = host.submit("How many rows has data.csv?")
    model = ScriptedModel([Says(calls=(call("read_file", path="data.csv"),)), Says(text="Three.")])
    finished = await Run(host, turn_id, host.log, ScriptedModels(model)).carry()
    assert host.types[-2:] == ["turn.finished", "session.state_changed"]
"""

from .hosts import EPOCH, Delegated, MemoryHost, Works
from .kernels import Executes, FakeClock, FakeExecutor, printed, shown
from .models import Says, Script, ScriptedModel, ScriptedModels, call, unreadable_call
from .notebooks import MemoryNotebooks

__all__ = [
    "EPOCH",
    "Delegated",
    "Executes",
    "FakeClock",
    "FakeExecutor",
    "MemoryHost",
    "MemoryNotebooks",
    "Says",
    "Script",
    "ScriptedModel",
    "ScriptedModels",
    "Works",
    "call",
    "printed",
    "shown",
    "unreadable_call",
]
