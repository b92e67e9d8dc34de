"""A session of a real server whose model does what a test says, in a folder that may be a git repository."""

import hashlib
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.model_server import ModelServer
from traitlets.config import Config

from .conftest import Serve
from .served import JSON, Served

Call = tuple[str, dict[str, Any]]


def write(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


def read(path: str) -> Call:
    return "read_file", {"path": path}


def edit(path: str, old: str, new: str) -> Call:
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def shell(command: str) -> Call:
    return "run_shell", {"command": command}


def git(folder: Path, *arguments: str) -> str:
    """git as the user of the tests has it."""
    found = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=GIT_ENV)
    return found.stdout


GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def repository(folder: Path, files: dict[str, str]) -> None:
    """Make ``folder`` a repository with one commit of these files."""
    git(folder, "init", "-q")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")


def sha(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@dataclass(kw_only=True)
class Desk:
    """``turn`` has the model make these calls, one a step, and answer; whatever is asked is allowed."""

    server: Served
    model: ModelServer
    session: str
    turns: list[str] = field(default_factory=list[str])

    async def turn(self, *calls: Call, code: str = "answered") -> str:
        replies: list[JSON] = [{"tool_calls": [{"name": name, "arguments": given}]} for name, given in calls]
        self.model.ctl("reset", {})
        self.model.ctl("script", {"turns": [*replies, {"text": "Done."}], "advance": "counter", "on_end": "last"})
        turn = await self.server.submit(self.session, "Go on")
        after = 0
        while True:
            events = await self.server.wait(
                self.session,
                lambda event: (
                    event["type"] == "approval.requested"
                    or (event.get("after") == "idle_ready" and event.get("turn_id") == turn)
                ),
                after=after,
            )
            after = events[-1]["seq"]
            if events[-1]["type"] != "approval.requested":
                break
            await self.server.post(
                f"/approvals/{events[-1]['approval_id']}", {"choice": "allow_once", "text": ""}, status=200
            )
        self.turns.append(turn)
        return turn

    async def results(self) -> list[JSON]:
        events = await self.server.get("/events", session=self.session, limit=1000)
        return [event for event in events if event["type"] == "tool_call.finished"]

    async def events(self, tag: str) -> list[JSON]:
        events = await self.server.get("/events", session=self.session, limit=1000)
        return [event for event in events if event["type"] == tag]

    async def files(self, **query: Any) -> dict[str, JSON]:
        response = await self.server.http.get(f"/sessions/{self.session}/files", params=query)
        assert response.status_code == 200, response.text
        return {file["path"]: file for file in response.json()}

    async def undo(self, *paths: str, turn: str | None = None) -> dict[str, str]:
        """Path → reason, "" if it was put back."""
        body = {"turn_id": turn, "paths": list(paths)}
        return {
            one["path"]: one["reason"]
            for one in await self.server.post(f"/sessions/{self.session}/undo", body, status=200)
        }


def configured(root: Path, model: ModelServer) -> Config:
    file = root.parent / "undoing.toml"
    file.write_text(
        'endpoint = "e"\nmode = "auto"\nscout = false\n[endpoints.e]\nmodel = "scripted-1"\nprotocol = "tools"\n'
        f'context_length = 100000\nbase_url = "{model.url}"\n',
        encoding="utf-8",
    )
    return Config({"PernixApp": {"settings_file": str(file)}})


@asynccontextmanager
async def at_desk(serve: Serve, root: Path, *, space: str = "", session: str = "") -> AsyncGenerator[Desk]:
    """``session``: one of an earlier server on the same data, else a new one in ``space``."""
    with ModelServer(program="builtin:echo") as model:
        async with serve(config=configured(root, model)) as server:
            yield Desk(
                server=server, model=model, session=session or await server.new_session(mode="auto", space_root=space)
            )
