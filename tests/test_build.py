"""What an installation is made of: the front end is in it, and the locked packages are the ones that are asked for."""

import gzip
import importlib.util
import re
import stat
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def install_node(folder: Path, version: str) -> None:
    for name, line in (("node", f"echo {version}"), ("npm", "true")):
        script = folder / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("version", "usable"),
    [
        ("v18.20.4", False),
        ("v20.18.3", False),
        ("v20.19.0", True),
        ("v21.7.3", False),
        ("v22.11.0", False),
        ("v22.12.0", True),
        ("v24.1.0", True),
        ("nonsense", False),
    ],
)
def test_node_is_used_when_it_can_build_the_front_end(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, usable: bool
):
    install_node(tmp_path, version)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert (hook.find_node() == str(tmp_path / "node")) is usable


def test_without_node_none_is_found(hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook.find_node() is None


def test_a_front_end_that_is_not_whole_is_named(hook: ModuleType, tmp_path: Path):
    assets = tmp_path / hook.ASSETS
    widgets = tmp_path / hook.WIDGETS
    assert len(hook.missing_assets(tmp_path)) == 8
    files = [
        assets / name for name in ("package.json", "static/remoteEntry.0a1b.js", "schemas/jupyter_pernix/plugin.json")
    ]
    files += [widgets / f"{name}.js" for name in ("tool_calls", "trace", "budget", "vram")]
    for path in [*files, widgets / "widgets.css"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert hook.missing_assets(tmp_path) == []
    (assets / "static/remoteEntry.0a1b.js").unlink()
    (widgets / "trace.js").unlink()
    assert hook.missing_assets(tmp_path) == [
        "the remote entry (static/remoteEntry.*.js)",
        "the widget trace (trace.js)",
    ]


@pytest.mark.parametrize("name", ["tool_calls", "trace", "budget", "vram"])
def test_a_widget_is_one_module_of_modest_size_that_loads_nothing(name: str):
    built = ROOT / "jupyter_pernix/kernel/widgets/static" / f"{name}.js"
    text = built.read_text(encoding="utf-8")
    style = (built.parent / "widgets.css").read_bytes()
    assert len(gzip.compress(text.encode())) + len(gzip.compress(style)) < 60_000
    assert re.search(r"export\s*\{\s*\w+ as default\s*\};?\s*$", text)
    assert re.findall(r"(?<![\w.])import\s*[\w{*(\"']", text) == []
    assert b"url(" not in style and b"@import" not in style


def test_every_package_that_is_asked_for_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(name for extra in extras.values() for name in extra)]
    names = {match[0].lower().replace("_", "-") for entry in asked if (match := re.match(r"[\w.-]+", entry))}
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert names - {"jupyter-pernix"} <= locked


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-node.lock", "labextension/package-lock.json"])
def test_no_lock_names_where_packages_come_from(name: str):
    text = (ROOT / name).read_text()
    assert (
        re.findall(
            r"\"resolved\": \"https?://[^\"]+|--(?:extra-)?index-url.*|^\s*[\w.-]+ @ https?://.*", text, re.MULTILINE
        )
        == []
    )
