"""The repository that a folder is in: found by looking at files alone, since asking git would be asking its configuration."""

import os
from dataclasses import dataclass
from pathlib import Path

from .git import GitFailed, run

_LONGEST = 4096
_WRITTEN = ("objects", "refs", "refs/pernix")
"""Where we let git write; a link there would lead it out of the repository."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """``top``: the folder of the work tree. ``own``: its git folder, with its index. ``common``: that of the repository, with objects
    and refs; another one for a linked work tree. ``sha256``: how objects are named."""

    top: Path
    own: Path
    common: Path
    sha256: bool = False

    @property
    def objects(self) -> Path:
        return self.common / "objects"

    def name_commit(self, ref: str, commit: str) -> None:
        """Give a commit a name, without a trace in reflogs; hooks are not run.

        :raises GitFailed: if that cannot be
        """
        run(["update-ref", ref, commit], cwd=self.common, environment={"GIT_DIR": str(self.common)})


def find_repository(folder: Path) -> Repository | None:
    """The repository of whose work tree ``folder`` (resolved) is a part; ``None``: there is none.

    :raises GitFailed: if there is one that is broken, or that is not what it seems
    """
    for top in (folder, *folder.parents):
        entry = top / ".git"
        if not os.path.lexists(entry):
            continue
        if entry.is_symlink():
            raise GitFailed("its .git is a link")
        own = entry if entry.is_dir() else _named(entry)
        if own is entry and (own / "commondir").exists():
            raise GitFailed("its repository names another one")
        common = _common(own)
        if not (own / "HEAD").exists() or not (common / "objects").is_dir():
            raise GitFailed("its repository is broken: HEAD or objects are missing")
        if any((common / name).is_symlink() for name in _WRITTEN):
            raise GitFailed("its objects or refs are links to somewhere else")
        return Repository(top=top, own=own, common=common, sha256=_sha256(common))
    return None


def _named(entry: Path) -> Path:
    """The git folder that a file ``.git`` names, if that knows of this work tree: a file that came with a folder may name any."""
    line = _line(entry)
    if not line.startswith("gitdir: "):
        raise GitFailed("its .git file is not understood")
    own = Path(os.path.realpath(entry.parent / line[len("gitdir: ") :]))
    back = own / "gitdir"
    linked = back.exists() and os.path.realpath(_line(back)) == os.path.realpath(entry)
    submodule = any(own.is_relative_to(above / ".git" / "modules") for above in entry.parent.parents)
    if not linked and not submodule:
        raise GitFailed("its .git file names a repository that does not know of it")
    return own


def _common(own: Path) -> Path:
    named = own / "commondir"
    return Path(os.path.realpath(own / _line(named))) if named.exists() else own


def _sha256(common: Path) -> bool:
    if not (common / "config").exists():
        return False
    listed = run(
        ["config", "--file", str(common / "config"), "--no-includes", "--list", "-z"], cwd=common, environment={}
    )
    return b"\0extensions.objectformat\nsha256\0" in b"\0" + listed


def _line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_LONGEST).split("\n", 1)[0].strip()
    except OSError as exc:
        raise GitFailed(f"its repository is broken: {path.name}: {exc.strerror}") from exc
