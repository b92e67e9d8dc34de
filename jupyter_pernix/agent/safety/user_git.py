"""What the user's own git configuration says that matters here; read as text, never acted on by git."""

import os
from pathlib import Path

from .git import GitFailed, run
from .repository import Repository

_CONVERTS = ("autocrlf", "eol", "attributesfile", "include")
_LONGEST = 200_000


def converts(repository: Repository) -> bool:
    """Whether what git stores of a file may be other bytes than the file's, by something other than a ``.gitattributes`` in the tree."""
    attributes = (
        repository.common / "info" / "attributes",
        _config_home() / "git" / "attributes",
        Path("/etc/gitattributes"),
    )
    if any(_text(path).strip() for path in attributes):
        return True
    return any(word in _text(path).lower() for path in _configs(repository) for word in _CONVERTS)


def excludes(repository: Repository) -> list[Path]:
    """Files with patterns of what is ignored, besides those in the tree and the user's usual one."""
    found = [repository.common / "info" / "exclude"]
    for path in (Path.home() / ".gitconfig", _config_home() / "git" / "config"):
        if "excludesfile" in _text(path).lower():
            try:
                given = run(
                    ["config", "--file", str(path), "--no-includes", "--path", "--get", "core.excludesFile"],
                    cwd=path.parent,
                    environment={},
                )
            except GitFailed:
                continue
            found.append(Path(os.fsdecode(given.strip())))
    return [path for path in found if path.is_file()]


def _configs(repository: Repository) -> tuple[Path, ...]:
    return (
        repository.common / "config",
        repository.own / "config.worktree",
        Path.home() / ".gitconfig",
        _config_home() / "git" / "config",
        Path("/etc/gitconfig"),
    )


def _config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""
