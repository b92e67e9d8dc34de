"""The arrows between the parts: who may import what, and when."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "jupyter_pernix"
NAME = PACKAGE.name
MODULES = sorted(PACKAGE.rglob("*.py"))

VOCABULARY = {
    "ids",
    "errors",
    "records",
    "events",
    "fold",
    "fold_calls",
    "cells",
    "ports",
    "config",
    "settings",
    "livetext",
    "asked",
    "audit",
    "masking",
}
CLIENT = {"client", "client_wire", "headless"}
PURE_OUTPUTS = {
    "automagic",
    "outputs",
    "bundles",
    "overflow",
    "terminal",
    "markdown",
    "inspecting",
    "inspecting_values",
}
STDLIB = set(sys.stdlib_module_names)

THIRD_PARTY: dict[str, set[str]] = {
    "vocabulary": {"msgspec"},
    "agent": {"msgspec", "anyio", "httpx", "openai", "jsonschema"},
    "kernel": {
        "msgspec",
        "anyio",
        "mistune",
        "jupyter_client",
        "jupyter_core",
        "nbformat",
        "papermill",
        "traitlets",
        "zmq",
    },
    "kernel.outputs": {"msgspec"},
    "client": {"jupyter_core"},
    "kernel.ipython": {"IPython", "msgspec", "pandas", "traitlets"},
    "kernel.widgets": {"IPython", "anywidget", "msgspec", "traitlets"},
    "widgets": set(),
    "gpu": {"msgspec", "anyio", "httpx", "xllamacpp", "pynvml"},
}
"""What each part may import from outside; a part that is not named may import anything."""

SIBLINGS: dict[str, set[str]] = {
    "vocabulary": {"vocabulary"},
    "agent": {"vocabulary", "agent"},
    "kernel": {"vocabulary", "kernel", "kernel.outputs"},
    "kernel.outputs": {"vocabulary", "kernel.outputs"},
    "kernel.ipython": {"vocabulary", "kernel.ipython", "kernel.outputs", "client"},
    "kernel.widgets": {"vocabulary", "kernel.widgets", "kernel.outputs", "client"},
    "widgets": {"kernel.widgets"},
    "gpu": {"vocabulary", "gpu"},
    "client": {"vocabulary", "client"},
}
"""Which parts of ours each part may import; a part that is not named may import any."""

HEAVY = {
    "duckdb",
    "httpx",
    "openai",
    "nbformat",
    "jupyter_client",
    "nbconvert",
    "nbclient",
    "pandas",
    "matplotlib",
    "xllamacpp",
}
"""Too slow to load with the server: each is imported where it is first used."""


def part_of(module: str) -> str:
    """``agent.model.stream`` → ``agent``, ``events`` → ``vocabulary``."""
    first, *rest = module.split(".")
    if first in VOCABULARY:
        return "vocabulary"
    if first == "kernel" and rest[:1] in (["ipython"], ["widgets"]):
        return f"kernel.{rest[0]}"
    if first == "kernel" and set(rest[:1]) & PURE_OUTPUTS:
        return "kernel.outputs"
    return "client" if first in CLIENT else first


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Import:
    """``target`` is below the package when ``ours``. ``lazy``: it stands in a function or under TYPE_CHECKING."""

    source: Path
    line: int
    target: str
    ours: bool
    lazy: bool

    def __str__(self) -> str:
        return f"{self.source.relative_to(PACKAGE)}:{self.line} imports {self.target}"


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(tree: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy
        else:
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(node)
            yield from statements(node, lazy=inside)


def exists(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split(".")) if module else PACKAGE
    return path.with_suffix(".py").is_file() or path.is_dir()


def targets(path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            ours = alias.name.split(".")[0] == NAME
            yield (alias.name.removeprefix(NAME).removeprefix("."), True) if ours else (alias.name, False)
        return
    if node.level == 0 and (node.module or "").split(".")[0] != NAME:
        yield node.module or "", False
        return
    base = (node.module or "").removeprefix(NAME).removeprefix(".")
    if node.level:
        folder = path.parent.relative_to(PACKAGE).parts
        above = folder[: len(folder) - node.level + 1]
        base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{base}.{alias.name}".removeprefix(".")
        yield (inner if exists(inner) else base), True


def imports_of(path: Path) -> list[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return [
        Import(path, node.lineno, target, ours, lazy)
        for node, lazy in statements(tree)
        for target, ours in targets(path, node)
    ]


IMPORTS = [found for path in MODULES for found in imports_of(path)]


def test_each_part_imports_only_the_parts_below_it():
    wrong = [
        str(found)
        for found in IMPORTS
        if found.ours
        and found.target
        and part_of(found.target) not in SIBLINGS.get(part_of(module_of(found.source)), {part_of(found.target)})
    ]
    assert wrong == []


def test_each_part_imports_only_the_libraries_it_may_know():
    wrong: list[str] = []
    for found in IMPORTS:
        part, root = part_of(module_of(found.source)), found.target.split(".")[0]
        if not found.ours and part in THIRD_PARTY and root not in STDLIB | THIRD_PARTY[part]:
            wrong.append(str(found))
    assert wrong == []


def test_only_the_server_extension_knows_tornado_and_jupyter_server():
    roots = ("tornado", "jupyter_server", "jupyterlab")
    allowed = {"serverext", "cli", ""}
    wrong = [
        str(found)
        for found in IMPORTS
        if not found.ours and found.target.split(".")[0] in roots and part_of(module_of(found.source)) not in allowed
    ]
    assert wrong == []


def test_only_the_store_knows_duckdb():
    wrong = [
        str(found)
        for found in IMPORTS
        if found.target.split(".")[0] == "duckdb" and not module_of(found.source).startswith("serverext.store")
    ]
    assert wrong == []


def test_our_own_modules_are_imported_relatively():
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        for node, _ in statements(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == NAME)
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == NAME for alias in node.names))
    ]
    assert wrong == []


def test_no_module_imports_itself_in_a_circle():
    graph: dict[str, set[str]] = {module_of(path): set() for path in MODULES}
    for found in IMPORTS:
        source = module_of(found.source)
        if found.ours and not found.lazy and found.target != source and found.target in graph:
            graph[source].add(found.target)
    # A package's __init__ runs before its modules: that it gathers them is no circle.
    remaining = {name: {to for to in uses if not name.startswith(f"{to}.")} for name, uses in graph.items()}
    while free := [name for name, uses in remaining.items() if not uses & remaining.keys()]:
        for name in free:
            del remaining[name]
    assert {name: uses & remaining.keys() for name, uses in remaining.items()} == {}


def loaded_by(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after ``statement``."""
    code = f"{statement}\nimport sys\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(answer.stdout.split())


@pytest.mark.parametrize("module", ["", *sorted(VOCABULARY)])
def test_the_vocabulary_loads_nothing_but_msgspec(module: str):
    foreign = loaded_by(f"import {NAME}.{module}" if module else f"import {NAME}") - loaded_by("import msgspec.json")
    assert {name for name in foreign - STDLIB if not name.startswith("_")} <= {NAME}


def test_loading_the_server_extension_loads_nothing_heavy():
    added = loaded_by(f"import {NAME}.serverext.app") - loaded_by("import jupyter_server.extension.application")
    assert added & HEAVY == set()


def test_loading_the_magics_loads_no_server_and_nothing_heavy():
    added = loaded_by(f"import {NAME}.kernel.ipython") - loaded_by("import IPython")
    assert added & (HEAVY | {"tornado", "jupyter_server", "anyio"}) == set()


def test_loading_the_widgets_loads_no_server_and_nothing_heavy():
    added = loaded_by(f"import {NAME}.widgets") - loaded_by("import anywidget")
    assert added & (HEAVY | {"tornado", "jupyter_server", "anyio"}) == set()


def test_the_widgets_are_an_attribute_that_is_loaded_when_it_is_asked_for():
    assert "anywidget" not in loaded_by(f"import {NAME}")
    assert "anywidget" in loaded_by(f"import {NAME}; {NAME}.widgets.ToolCalls")


def test_showing_the_help_of_the_command_line_loads_nothing_heavy():
    added = loaded_by(f"import {NAME}.cli") - loaded_by("pass")
    assert added & (HEAVY - {"jupyter_client"} | {"tornado", "jupyter_server"}) == set()
