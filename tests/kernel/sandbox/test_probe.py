"""Whether the sandbox works here, and what is said where it does not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pernix.kernel.sandbox import Limits, finding, probe
from jupyter_pernix.kernel.sandbox.probe import Refused, explained, look_again, why_not


@pytest.fixture(autouse=True)
def works() -> None:
    """These run everywhere."""


@pytest.fixture
def looked_anew() -> Iterator[None]:
    look_again()
    yield
    look_again()


def namespaces_are_on() -> bool:
    """Asked without bubblewrap."""
    unshare = shutil.which("unshare")
    command = [unshare or "", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "true"]
    return unshare is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
def test_it_works_wherever_bubblewrap_is_and_namespaces_are_on():
    wanted = os.environ.get("PERNIX_TEST_SANDBOX") == "1" or (shutil.which("bwrap") and namespaces_are_on())
    if not wanted:
        pytest.skip(f"bubblewrap or user namespaces are not here: {why_not()}")
    assert why_not() == ""


def test_without_bubblewrap_it_is_named(looked_anew: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not installed" in why_not() and "apt-get install bubblewrap" in why_not()
    found = finding(wanted=False, limits=Limits())
    assert (found.status, "with your rights" in found.detail, found.hint) == ("warning", True, why_not())
    assert finding(wanted=True, limits=Limits()).status == "problem"


@pytest.mark.parametrize(("complaint", "code"), [("bwrap: setting up uid map: Permission denied", 1), ("", 3)])
def test_what_bubblewrap_complains_about_is_told(
    looked_anew: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, complaint: str, code: int
):
    program = tmp_path / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --help ] && exit 0\n[ -z "{complaint}" ] || echo "{complaint}" >&2\nexit {code}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    said = why_not()
    assert (complaint.removeprefix("bwrap: ") or "it ended with code 3") in said


@pytest.mark.parametrize(
    ("refused", "hint"),
    [
        (Refused(what="x", no_clone=True), "kernel.unprivileged_userns_clone=1"),
        (Refused(what="x", no_namespaces=True, apparmor=True), "user.max_user_namespaces"),
        (Refused(what="x", apparmor=True, container=True), "AppArmor"),
        (Refused(what="x", container=True), "--security-opt seccomp=unconfined"),
        (Refused(what="something new"), "something new"),
    ],
)
def test_each_reason_has_its_own_sentence(refused: Refused, hint: str):
    assert hint in explained(refused)


def test_limits_that_do_not_hold_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe, "group_places", probe.Places)
    monkeypatch.setattr(probe, "counts_processes", lambda: False)
    assert len(probe.limits_missing(Limits(memory=1, processes=1))) == 2
    assert probe.limits_missing(Limits()) == []
