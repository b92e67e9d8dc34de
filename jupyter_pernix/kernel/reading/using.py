"""What the parts of a notebook mean to those who run it: source for a kernel, the kernel itself, parameters. Pure."""

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...records import JSON


def source_to_run(source: str) -> str:
    """As a kernel gets it: with line feeds alone; bash and others fail on carriage returns."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True, kw_only=True)
class KernelChoice:
    """The kernelspec to run a notebook in; ``name`` "": none fits. ``note`` says what was chosen or missing, "" if it is the one that the
    notebook names."""

    name: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class InstalledKernel:
    display_name: str
    language: str


def choose_kernel(notebook: JSON, installed: Mapping[str, InstalledKernel]) -> KernelChoice:
    """By the notebook's own metadata; a kernel that is not installed is never replaced by a guess."""
    metadata = cast(JSON, notebook["metadata"])
    spec = cast(JSON, metadata.get("kernelspec") or {})
    name, language = str(spec.get("name") or ""), _language(metadata, spec)
    if name in installed:
        return KernelChoice(name=name)
    if name in ("python", "python3", "python2") and "python3" in installed:
        return KernelChoice(name="python3", note=f"The notebook names the kernel {name!r}: python3 is used.")
    fitting = sorted(each for each, kernel in installed.items() if kernel.language.lower() == language)
    if name:
        kind = f"installed {language} kernels" if fitting else "installed kernels"
        names = ", ".join(fitting or sorted(installed)) or "none"
        return KernelChoice(name="", note=f"The kernel {name} is not installed; {kind}: {names}.")
    if len(fitting) == 1 or "python3" in fitting:
        chosen = "python3" if "python3" in fitting else fitting[0]
        return KernelChoice(name=chosen, note=f"The notebook names no kernel: {chosen} is used.")
    return KernelChoice(
        name="",
        note=f"The notebook names no kernel, and its language is {language}; installed: {', '.join(sorted(installed))}.",
    )


def _language(metadata: JSON, spec: JSON) -> str:
    info = cast(JSON, metadata.get("language_info") or {})
    return str(spec.get("language") or info.get("name") or "python").lower()


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """An assignment of the cell that is tagged ``parameters``. ``value``: the literal, or its source when it is none; ``type``: of the
    annotation or of the literal, "" when neither says."""

    name: str
    value: Any
    type: str
    help: str = ""


def parameters(notebook: JSON) -> list[Parameter]:
    """Of a Python notebook; empty without such a cell, or when it is no valid Python."""
    index = _tagged(notebook, "parameters")
    if index is None:
        return []
    source = source_to_run(notebook["cells"][index]["source"])
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    lines = source.split("\n")
    found: list[Parameter] = []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            target = node.target
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(target, ast.Name) or value is None:
            continue
        known, literal = _literal(value)
        kind = (
            ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else type(literal).__name__ if known else ""
        )
        comment = lines[(node.end_lineno or 1) - 1][node.end_col_offset or 0 :].partition("#")[2].strip()
        found.append(Parameter(name=target.id, value=literal, type=kind, help=comment))
    return found


def _literal(node: ast.expr) -> tuple[bool, Any]:
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False, ast.unparse(node)


def _tagged(notebook: JSON, tag: str) -> int | None:
    """The first cell with the tag."""
    cells = cast(list[JSON], notebook["cells"])
    return next((index for index, cell in enumerate(cells) if tag in cell["metadata"].get("tags", [])), None)


def with_parameters(notebook: JSON, values: Mapping[str, Any]) -> JSON:
    """A copy in which a cell sets ``values`` (Python literals), right behind the one with the defaults, at the top without one; it takes
    the place of one that an earlier run put there."""
    made = copy.deepcopy(notebook)
    source = "\n".join(["# Parameters", *(f"{name} = {value!r}" for name, value in values.items())])
    cell: JSON = {
        "cell_type": "code",
        "id": "injected-parameters",
        "metadata": {"tags": ["injected-parameters"]},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
    old, defaults = _tagged(made, "injected-parameters"), _tagged(made, "parameters")
    cells = cast(list[JSON], made["cells"])
    if old is not None:
        cells[old] = {**cell, "id": cells[old]["id"]}
    else:
        cells.insert(0 if defaults is None else defaults + 1, cell)
    return made
