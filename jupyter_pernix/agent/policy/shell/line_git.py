"""What a repository's own configuration would make git run, found by reading its files, never by running git.

What is listed is known to be data; a key that is not listed may name a program, and then nothing git does there is a plain read.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..paths import inside

_LARGEST = 200_000

_DATA = re.compile(
    r"""(?:
    core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|
      abbrev|compression|bigfilethreshold|untrackedcache|preloadindex|checkstat|trustctime|longpaths|protectntfs|protecthfs|
      commitgraph|multipackindex|sparsecheckout|sparsecheckoutcone|whitespace|commentchar|fscache)
    |user\.(?:name|email|signingkey|useconfigonly)|author\.\w+|committer\.\w+
    |remote\.[^\n]+\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate)
    |branch\.[^\n]+\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|gh-merge-base|gh-pr-base-branch|github-pr-owner-number)
    |branch\.(?:autosetupmerge|autosetuprebase|sort)
    |pull\.(?:rebase|ff)|push\.(?:default|followtags|autosetupremote)|fetch\.(?:prune|prunetags|parallel|writecommitgraph)
    |init\.defaultbranch|color\.[\w.]+|column\.\w+|advice\.\w+|status\.\w+|log\.(?:date|decorate|abbrevcommit|follow|showsignature)
    |diff\.(?:algorithm|renames|renamelimit|colormoved|mnemonicprefix|noprefix|context|interhunkcontext|submodule|wserrorhighlight)
    |merge\.(?:conflictstyle|ff|renames|renamelimit|stat|log|autostash)|rebase\.(?:autosquash|autostash|stat|updaterefs)|rerere\.\w+
    |gc\.[\w.]+|pack\.\w+|index\.\w+|feature\.\w+|maintenance\.(?:auto|strategy|repo)|tag\.(?:sort|gpgsign)|commit\.(?:gpgsign|verbose|status)
    |submodule\.[^\n]+\.(?:url|active|branch|ignore|shallow)|submodule\.(?:active|recurse)
    |extensions\.(?:objectformat|worktreeconfig|refstorage|preciousobjects)
    |lfs\.(?:repositoryformatversion|url|[^\n]+\.access|fetchexclude|fetchinclude|locksverify|[^\n]+\.locksverify)
    )\Z""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\](.*)\Z')
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=(.*))?\Z", re.ASCII)
_STEERS = re.compile(r"GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT\Z|OPTIONAL_LOCKS\Z|PAGER\Z|EDITOR\Z|ASKPASS\Z|SSH_)")


def folder_of(args: Sequence[str], folder: str) -> str:
    """Where git works: ``folder``, led elsewhere by each ``-C`` in front of the verb."""
    words = iter(args)
    for word in words:
        if word == "-C":
            value = next(words, ".")
            folder = os.path.realpath(value if value.startswith("/") else f"{folder}/{value}")
        elif not word.startswith("-"):
            break
    return folder


def runs(args: Sequence[str], *, folder: str, root: str, environ: Mapping[str, str]) -> str:
    """Why git could run something else in this repository, as a sentence; "" if nothing there names a program."""
    steering = next((name for name in environ if _STEERS.match(name)), None)
    if steering:
        return f"`{steering}` in the environment steers git"
    place = _repository(Path(folder_of(args, folder)))
    if place is None:
        return ""
    try:
        return _of(place, root)
    except (OSError, ValueError):
        return "the repository's configuration cannot be read"


def _repository(folder: Path) -> Path | None:
    """The folder with the repository's data that git would find from ``folder``; a path that ends in no ``.git`` is a bare one."""
    for here in (folder, *folder.parents):
        found = here / ".git"
        if found.exists() or found.is_symlink():
            return found
        if (here / "HEAD").exists() and (here / "objects").is_dir() and (here / "refs").is_dir():
            return here
    return None


def _of(place: Path, root: str) -> str:
    if place.name != ".git":
        return f"{place.name} is itself a bare repository, whose configuration comes with it"
    if place.is_file():
        text = _text(place).strip()
        if not text.startswith("gitdir:"):
            return "its `.git` is no repository"
        place = place.parent / text.removeprefix("gitdir:").strip()
    place = Path(os.path.realpath(place))
    common = place / "commondir"
    folders = [place, Path(os.path.realpath(place / _text(common).strip()))] if common.is_file() else [place]
    for one in folders:
        if inside(str(one.parent), root) or inside(root, str(one.parent)):
            continue
        return "the repository's data is kept outside of the space"
    for one in folders:
        for name in ("config", "config.worktree"):
            why = _of_config(one / name, root) if (one / name).exists() else ""
            if why:
                return why
        if _hook(one / "hooks"):
            return "the repository has a hook that even reading starts"
    return ""


def _hook(folder: Path) -> bool:
    return any(os.access(folder / name, os.X_OK) for name in ("post-index-change", "fsmonitor-watchman"))


def _of_config(path: Path, root: str) -> str:
    for key, value in _settings(_text(path)):
        if key.casefold() == "core.hookspath" and _hooks_are_plain(value, root):
            continue
        if not _DATA.match(key):
            return f"`{key}` in the repository's configuration may make git run something"
        if key.casefold().startswith("remote.") and "::" in value:
            return f"`{key}` in the repository's configuration names a program"
    return ""


def _hooks_are_plain(value: str, root: str) -> bool:
    folder = os.path.realpath(f"{root}/{value}")
    return inside(folder, root) and value[:1] not in ("/", "~", "%") and not _hook(Path(folder))


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Each key of a git configuration with its section in front.

    :raises ValueError: if a line is neither
    """
    section = ""
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.strip()
        found = _SECTION.match(line)
        if found is not None:
            section = found[1] + (f".{found[2]}" if found[2] is not None else "")
            line = found[3].strip()
        if not line or line[0] in "#;":
            continue
        key = _KEY.match(line)
        if key is None:
            raise ValueError(line)
        yield f"{section}.{key[1]}", (key[2] or "").strip()


def _text(path: Path) -> str:
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise ValueError(str(path))
    return path.read_text(encoding="utf-8")
