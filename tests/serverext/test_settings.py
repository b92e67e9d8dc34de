"""The settings of a running server: all layers, what its API tells of them, and a project file that it will not have."""

from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from .carrying import Told, echo
from .conftest import Serve

pytestmark = pytest.mark.server


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(
        '[endpoints.home]\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "sk-SECRET"\n[roles.backup]\nendpoint = "gone"\n'
    )
    return path


def traits(user_file: Path, **given: Any) -> Config:
    return Config({"PernixApp": {"settings_file": str(user_file), **given}})


async def test_the_api_tells_each_setting_with_its_layer_and_no_secret(
    serve: Serve, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERNIX_BUDGET__TOKENS", "1000")
    config = traits(user_file, overrides={"retry": {"attempts": 2}}, assignments=["budget.rounds=20"])
    async with serve(carry=Told(echo), config=config) as server:
        told = {each["key"]: each for each in await server.get("/config")}
        assert {key: (told[key]["value"], told[key]["source"]) for key in told if told[key]["source"] != "default"} == {
            "data_dir": (str(server.extension.data_folder), "traits"),
            "discover": (False, "environment"),
            "budget.rounds": (20, "command line"),
            "budget.tokens": (1000, "environment"),
            "retry.attempts": (2, "traits"),
            "roles.backup.endpoint": ("gone", "user file"),
            "endpoints.home.base_url": ("http://127.0.0.1:9/v1", "user file"),
            "endpoints.home.api_key": ("(hidden)", "user file"),
        }
        assert told["roles.backup.endpoint"]["place"] == f"{user_file}, line 5"
        assert "SECRET" not in repr(told)


async def test_the_doctor_warns_of_a_role_without_its_endpoint(serve: Serve, user_file: Path) -> None:
    async with serve(carry=Told(echo), config=traits(user_file)) as server:
        (finding,) = [each for each in await server.get("/doctor") if each["name"].startswith("role ")]
        assert (finding["name"], finding["status"]) == ("role backup", "warning")
        assert finding["detail"] == f"the settings name the endpoint 'gone' ({user_file}, line 5), and there is none"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('mode = "plan"\n', ""),
        (
            'endpoints.home.base_url = "http://elsewhere.example/v1"\n',
            "a project may not set 'endpoints.home.base_url'",
        ),
    ],
)
async def test_the_folders_own_file_is_read_and_held_to_what_it_may_say(
    serve: Serve, user_file: Path, tmp_path: Path, text: str, message: str
) -> None:
    async with serve(carry=Told(echo)) as server:
        root = server.root
    (root / ".pernix").mkdir()
    (root / ".pernix/config.toml").write_text(text)
    async with serve(carry=Told(echo), config=traits(user_file)) as server:
        response = await server.http.get("/config")
        if message:
            assert response.status_code == 503
            assert f"{root / '.pernix/config.toml'}: line 1: {message}" in response.json()["message"]
        else:
            (mode,) = [each for each in response.json() if each["key"] == "mode"]
            assert (mode["value"], mode["source"]) == ("plan", "project file")
            session = await server.get(f"/sessions/{await server.new_session()}")
            assert session["mode"] == "plan"
