"""Folders that nobody means when they ask for the files of a project. Standard library only: ``grep.py`` runs alone."""

IGNORED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".pernix",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".cache",
    }
)
