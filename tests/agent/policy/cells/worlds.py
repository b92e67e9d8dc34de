"""The little project that the cases live in, built by hand: only what they name."""

from pathlib import Path


def build(folder: Path) -> tuple[str, str]:
    """Root of the space and home, both canonical."""
    home = folder.resolve() / "home"
    root = home / "proj"
    for name in ("src", "data", "tests"):
        (root / name).mkdir(parents=True)
    (root / "list.txt").write_text("b\na\n")
    (root / "data" / "in.csv").write_text("a,1\n")
    (root / "src" / "a.py").write_text("print(1)\n")
    (root / ".env").write_text("KEY=abc\n")
    (root / "Makefile").write_text("test:\n\ttrue\n")
    (root / "notes.ipynb").write_text("{}")
    (home / "secret.txt").write_text("s\n")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("key\n")
    return str(root), str(home)
