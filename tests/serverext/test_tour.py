"""Starting the recorded tour over HTTP; that it does its job is tested with the main job."""

import pytest

from .conftest import Serve

pytestmark = [pytest.mark.server]


async def test_the_tour_begins_in_a_folder_of_its_own_each_time(serve: Serve) -> None:
    async with serve() as server:
        first, second = await server.post("/tour", status=201), await server.post("/tour", status=201)
        assert (first["space_root"], second["space_root"]) == ("pernix-tour", "pernix-tour-2")
        assert {key: first[key] for key in ("endpoint", "mode", "turns")} == {
            "endpoint": "tour",
            "mode": "auto",
            "turns": 1,
        }
        assert (server.root / "pernix-tour-2" / "data").is_dir()
        started = await server.wait(first["session_id"], lambda event: event["type"] == "turn.started")
        assert started[-1]["model"] == "recorded tour"
