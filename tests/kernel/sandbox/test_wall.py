"""The wall as data: what is shown, in which order, and how the command line says it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jupyter_pernix.kernel.sandbox import environment
from jupyter_pernix.kernel.sandbox.limits import Group, Limits, Places, new_group, places, sweep
from jupyter_pernix.kernel.sandbox.machine import Machine, cards
from jupyter_pernix.kernel.sandbox.wall import Mount, Wall, mounts, refusal, walled

MACHINE = Machine(
    bwrap="/usr/bin/bwrap",
    options=frozenset({"--disable-userns"}),
    links=(("usr/bin", "/bin"),),
    shown=(Path("/usr"),),
    shown_with_network=(Path("/etc/resolv.conf"),),
    devices=(Path("/dev/nvidia0"),),
    prlimit="/usr/bin/prlimit",
)


@pytest.fixture
def wall(tmp_path: Path) -> Wall:
    for name in ("home/space/.git", "home/space/sub", "temporary", "data"):
        (tmp_path / name).mkdir(parents=True)
    return Wall(scope=tmp_path / "home" / "space", temporary=tmp_path / "temporary", home=tmp_path / "home")


def test_each_mount_comes_after_the_one_that_holds_it(wall: Wall, tmp_path: Path):
    kept, data, hidden = wall.scope / ".git", tmp_path / "data", wall.scope / "sub"
    shown = mounts(
        replace(wall, kept=(kept,), readable=(tmp_path, data, wall.scope / "sub"), hidden=(hidden, Path("/else")))
    )
    assert shown == [
        Mount(place=Path("/tmp"), access="write"),
        Mount(place=tmp_path, access="read"),
        *sorted(
            [Mount(place=tmp_path / "home", access="empty"), Mount(place=data, access="read")],
            key=lambda mount: mount.access,
        ),
        Mount(place=wall.scope, access="write"),
        Mount(place=kept, access="read"),
        Mount(place=hidden, access="nothing"),
    ]


def test_what_has_become_a_link_is_no_longer_shown_read_only(wall: Wall, tmp_path: Path):
    """Where a link leads could otherwise be shown."""
    (wall.scope / "other").symlink_to(tmp_path / "data")
    shown = mounts(replace(wall, kept=(wall.scope / ".git", wall.scope / "other", wall.scope / "other" / ".git")))
    assert [mount.place.name for mount in shown if mount.access == "read"] == [".git"]


def line(wall: Wall, group: Group = Group(), **changes: object) -> list[str]:  # noqa: B008 - frozen
    return walled(wall, ["program", "a b"], machine=MACHINE, group=group, environ=dict[str, str](), **changes)  # pyright: ignore


def test_the_network_is_kept_out_unless_it_is_let_through(wall: Wall):
    assert "--unshare-net" in line(wall) and "/etc/resolv.conf" not in line(wall)
    opened = line(replace(wall, network=True))
    assert "--unshare-net" not in opened and "/etc/resolv.conf" in opened


def test_it_has_its_own_everything_and_ends_with_its_parent(wall: Wall):
    needed = {
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--new-session",
        "--die-with-parent",
        "--disable-userns",
    }
    told = line(wall)
    assert needed <= set(told)
    assert told[told.index("--cap-drop") + 1] == "ALL"
    assert told[-2:] == ["program", "a b"]
    assert told.index("--remount-ro") < told.index("--dev"), "what is below /proc/sys belongs to the whole machine"


def test_graphics_cards_are_handed_in(wall: Wall, tmp_path: Path):
    told = line(wall)
    assert told[told.index("--dev-bind-try") + 1] == "/dev/nvidia0"
    dev = tmp_path / "dev"
    (dev / "dri").mkdir(parents=True)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "kfd", "sda", "mem", "kvm"):
        (dev / name).touch()
    assert [path.name for path in cards(dev)] == ["dri", "kfd", "nvidia-uvm", "nvidia0", "nvidiactl"]


def test_limits_that_no_group_counts_are_set_for_the_process(wall: Wall):
    limited = replace(wall, limits=Limits(memory=2**30, processes=50))
    assert {"--nproc=50", f"--data={2**30}"} <= set(line(limited, count_processes=True))
    counted = line(limited, Group(folders=(Path("/g"),), counts=frozenset({"memory", "pids"})), count_processes=True)
    assert not {"--nproc=50", f"--data={2**30}"} & set(counted)
    assert "/g/cgroup.procs" in counted[2]


def test_a_delegated_group_is_found_above_our_own(tmp_path: Path):
    point = tmp_path / "cgroup"
    own = point / "user.slice" / "app.slice" / "mine.scope"
    own.mkdir(parents=True)
    for folder, controlled in (
        (point, "cpu memory pids"),
        (own.parent.parent, "memory pids"),
        (own.parent, "memory pids"),
        (own, ""),
    ):
        (folder / "cgroup.subtree_control").write_text(controlled)
        (folder / "cgroup.procs").write_text("")
    found = places("0::/user.slice/app.slice/mine.scope\n", f"cgroup2 {point} cgroup2 rw 0 0\n", is_root=False)
    assert found.folders == {own.parent: frozenset({"memory", "pids"})}
    assert places("", "", is_root=False).folders == {}
    # the files of a group are made by the system: here there are none, so nothing is counted
    assert new_group(Limits(memory=1, processes=1), found).counts == frozenset()


def test_groups_of_processes_that_were_killed_are_swept_away(tmp_path: Path):
    for name in ("pernix-999999999-1", f"pernix-{os.getpid()}-1", "another"):
        (tmp_path / name).mkdir()
    sweep(Places(folders={tmp_path: frozenset({"pids"})}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", f"pernix-{os.getpid()}-1"]


@pytest.mark.parametrize(
    ("scope", "home", "said"),
    [
        ("/home/me", "/home/me", "holds your home folder"),
        ("/home", "/home/me", "holds your home folder"),
        ("/", "/root", "holds your home folder"),
        ("/tmp", "/root", "too wide"),
        ("/home/me/space", "/home/me", ""),
        ("/workspace", "/root", ""),
    ],
)
def test_a_space_that_is_too_wide_is_refused(scope: str, home: str, said: str):
    found = refusal(Path(scope), Path(home))
    assert said in found and bool(found) == bool(said)


def test_variables_that_are_keys_or_ways_out_are_withheld():
    kept = {
        "PATH": "/bin",
        "LANG": "C",
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_HOME": "/m",
        "PERNIX_KERNEL": "1",
        "PERNIX_CALL": "2",
    }
    gone = dict.fromkeys(
        (
            "OPENAI_API_KEY",
            "HF_TOKEN",
            "JPY_PARENT_PID",
            "JUPYTER_TOKEN",
            "SSH_AUTH_SOCK",
            "AWS_PROFILE",
            "DISPLAY",
            "LD_PRELOAD",
            "ENV",
        ),
        "x",
    ) | {"BASH_FUNC_x%%": "() { :; }", "DATABASE_URL": "postgres://me:secret@host/d"}
    assert environment.cleaned(kept | gone) == kept
    assert environment.withheld(kept | gone) == sorted(gone)
