"""Where GGUF files usually lie, and a walk over those places that ends soon whatever is there."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .gguf import looks_like_gguf

_DEEPEST = 7
_MOST_ENTRIES = 20_000
_MOST_FILES = 200
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model file; ``fault`` says why it cannot be served, "" if it looks right. ``size`` counts all parts."""

    path: Path
    size: int
    fault: str = ""


def usual_folders(environ: Mapping[str, str] | None = None) -> list[Path]:
    """The caches of the programs that download GGUF files, as far as they exist. Ollama names its files otherwise."""
    environ = os.environ if environ is None else environ
    home = Path(environ.get("HOME") or Path.home())
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    hub = environ.get("HF_HUB_CACHE") or (f"{environ['HF_HOME']}/hub" if environ.get("HF_HOME") else "")
    folders = [
        Path(hub) if hub else cache / "huggingface/hub",
        Path(environ.get("LLAMA_CACHE") or cache / "llama.cpp"),
        cache / "lm-studio/models",
        home / ".lmstudio/models",
        home / "models",
    ]
    return [folder for folder in folders if folder.is_dir()]


def find_gguf(folders: Sequence[Path]) -> list[Candidate]:
    """The model files below these folders, each once; a folder may be a file itself. Blocks: run it in a thread."""
    found: dict[Path, Candidate] = {}
    for folder in folders:
        for path in _walk(folder.expanduser()):
            real = path.resolve()
            if real not in found:
                found[real] = _candidate(path)
            if len(found) >= _MOST_FILES:
                return list(found.values())
    return list(found.values())


def _walk(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    entries = 0
    base = len(folder.parts)
    for place, names, files in os.walk(folder):
        here = Path(place)
        entries += len(names) + len(files)
        if entries > _MOST_ENTRIES:
            return
        names[:] = [] if len(here.parts) - base >= _DEEPEST else sorted(name for name in names if name != "blobs")
        yield from (here / name for name in sorted(files) if _is_model(name))


def _is_model(name: str) -> bool:
    if not name.lower().endswith(".gguf") or "mmproj" in name.lower():
        return False
    part = _PART.search(name)
    return part is None or int(part[1]) == 1


def _candidate(path: Path) -> Candidate:
    try:
        parts = _parts(path)
        missing = [part.name for part in parts if not part.exists()]
        size = sum(part.stat().st_size for part in parts if part.exists())
        fault = f"its part {missing[0]} is missing" if missing else looks_like_gguf(path)
    except OSError as exc:
        return Candidate(path=path, size=0, fault=f"it cannot be read: {exc.strerror or exc}")
    return Candidate(path=path, size=size, fault=fault)


def _parts(path: Path) -> list[Path]:
    part = _PART.search(path.name)
    if part is None:
        return [path]
    stem = path.name[: part.start()]
    return [path.with_name(f"{stem}-{number:05d}-of-{part[2]}.gguf") for number in range(1, int(part[2]) + 1)]
