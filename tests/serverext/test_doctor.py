"""What the doctor makes of endpoints and roles."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from jupyter_pernix.config import EndpointSettings, Roles, RoleSettings, Settings
from jupyter_pernix.records import Ability, EndpointInfo, Finding
from jupyter_pernix.serverext.doctor import _endpoint, _roles, _store
from jupyter_pernix.serverext.endpoints import Endpoints
from jupyter_pernix.serverext.runtime import Runtime
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.store.ingest import encode_line
from jupyter_pernix.serverext.store.journal import encode_record

DEAD = EndpointSettings(base_url="http://127.0.0.1:9/v1")


def test_each_role_that_is_set_is_named_with_what_it_uses(tmp_path: Path) -> None:
    roles = Roles(
        background=RoleSettings(endpoint="small", model="s-2", options={"temperature": 0.1}),
        backup=RoleSettings(endpoint="gone"),
    )
    settings = Settings(endpoint="big", endpoints={"big": DEAD, "small": DEAD}, roles=roles)
    found = _roles(Endpoints(settings, folder=tmp_path, environ={}))
    assert [(one.name, one.status, one.detail) for one in found] == [
        ("role background", "ok", "small with the model s-2, options temperature")
    ]


async def test_a_role_whose_endpoint_failed_says_what_to_do(tmp_path: Path) -> None:
    settings = Settings(endpoints={"dead": DEAD}, roles=Roles(backup=RoleSettings(endpoint="dead")))
    endpoints = Endpoints(settings, folder=tmp_path, environ={})
    await endpoints.probe("dead")
    (found,) = _roles(endpoints)
    assert (found.name, found.status) == ("role backup", "warning")
    assert "cannot be used" in found.detail
    assert "check that the server runs" in found.hint


def test_what_an_endpoint_can_do_what_it_cannot_and_what_is_not_known_is_all_told() -> None:
    info = EndpointInfo(
        name="lab",
        kind="vllm",
        base_url="http://h/v1",
        model="m",
        protocol="actions",
        constraint="guided_json",
        context_length=8192,
        status="ready",
        abilities=[
            Ability(name="streams", ok=True),
            Ability(name="context", ok=True, detail="8192 tokens"),
            Ability(name="tools", ok=False, detail="it made no call; start vLLM with …"),
            Ability(name="json_schema", ok=True, detail="by the field guided_json"),
            Ability(name="model", ok=None, detail="not listed"),
        ],
    )
    finding = _endpoint(info)
    assert (finding.name, finding.status) == ("endpoint lab", "ok")
    assert finding.detail == (
        "http://h/v1 m: ready; acts by one JSON object a step; context of 8192 tokens; has streams, json_schema by the field "
        "guided_json; no tools: it made no call; start vLLM with …; model: not listed"
    )


async def test_an_endpoint_that_nobody_asked_yet_is_not_called_in_order(tmp_path: Path) -> None:
    endpoints = Endpoints(Settings(endpoints={"new lab": DEAD}), folder=tmp_path, environ={})
    finding = _endpoint(endpoints.info("new lab"))
    assert (finding.name, finding.status) == ("endpoint new lab", "warning")
    assert finding.detail.endswith("not probed yet")
    assert finding.hint == "See whether it answers: jupyter pernix endpoints probe 'new lab'"


def kept_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.damaged-*"))


async def test_a_journal_that_was_damaged_is_told_with_where_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "pernix.duckdb"
    await (await EventStore.open(path)).aclose()
    body = b'{"type":"session.renamed","session_id":"ses_1","title":"a"}'
    whole = [encode_record(encode_line(seq, seq, "", body)) for seq in (1, 2)]
    path.with_suffix(".journal").write_bytes(whole[0][:-3] + b"?" + whole[0][-2:] + whole[1])
    found: list[Finding] = []
    for _ in range(2):
        store = await EventStore.open(path)
        found.append(await _store(cast(Runtime, SimpleNamespace(data_folder=tmp_path, store=store))))
        await store.aclose()
    (kept,) = kept_in(tmp_path)
    damaged, sound = found
    assert (damaged.name, damaged.status) == ("store", "warning")
    assert "was damaged in 1 places" in damaged.detail
    assert str(kept) in damaged.detail
    assert "the damaged files were kept" in damaged.hint
    assert (sound.status, sound.hint) == ("ok", "")
