"""Which folders an interpreter needs, and that no file of a space can name one that is none."""

import os
import sys
from pathlib import Path

import pytest

from jupyter_pernix.kernel.sandbox.prefixes import needed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("base/bin", "base/lib/python3.12", "env/bin", "space", "keys/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "base/lib/python3.12/os.py").touch()
    for name in ("base/bin/python3", "keys/bin/python3", "keys/id_rsa"):
        (tmp_path / name).touch()
    (tmp_path / "base/bin/python3").chmod(0o755)
    return tmp_path


def venv(folder: Path, base: Path) -> Path:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\n")
    (folder / "bin" / "python").symlink_to(base / "bin" / "python3")
    return folder / "bin" / "python"


def of(program: object, home: Path, path: str = "") -> tuple[Path, ...]:
    return needed(str(program), path=path, scope=home / "space", home=home / "me")


def test_a_virtual_environment_brings_the_python_below_it(home: Path):
    assert of(venv(home / "env", home / "base"), home) == (home / "env", home / "base")


def test_a_program_is_found_on_the_path(home: Path):
    assert of("python3", home, path=f"relative:{home / 'base' / 'bin'}") == (home / "base",)
    assert of("no-such-program", home, path="/usr/bin") == ()


def test_what_stands_in_the_space_is_shown_by_it_and_names_only_installations(home: Path):
    assert of(venv(home / "space" / ".venv", home / "base"), home) == (home / "base",)
    assert of(venv(home / "space" / "evil", home / "keys"), home) == ()
    link = home / "space" / "bin" / "python"
    link.parent.mkdir()
    link.symlink_to(home / "keys" / "id_rsa")
    assert of(link, home) == ()


def test_no_prefix_shows_the_home(home: Path):
    assert needed(str(home / "base/bin/python3"), path="", scope=home / "space", home=home / "base" / "me") == (
        home / "base/bin/python3",
    )


def test_the_running_python_is_found():
    found = needed(sys.executable, path=os.environ["PATH"], scope=Path("/nowhere"), home=Path("/nobody"))
    assert all(Path(prefix) in found or prefix.startswith("/usr") for prefix in (sys.prefix, sys.base_prefix))
