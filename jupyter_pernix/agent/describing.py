"""Variables, the surroundings of a kernel, and cells of a notebook as text for the model; each bounded. Pure."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..ports import Surroundings
from ..records import CellSnapshot, Variable, Variables
from .excerpt import excerpt
from .tools.outputtext import output_text

_LONGEST_PREVIEW = 2_000
_LONGEST_SOURCE = 4_000
_LONGEST_OUTPUTS = 4_000
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def variable_line(variable: Variable) -> str:
    """One line: name, type, and what is known of its size and schema."""
    head = f"{variable.name}: {variable.type}{_facts(variable)}"
    if variable.hidden:
        return f"{head} (not shown: it looks like a secret)"
    columns = _columns(variable, most=8)
    preview = " ".join(variable.preview.split())
    return f"{head}{f', columns {columns}' if columns else ''}{f' = {preview}' if preview else ''}"


def variable_text(variable: Variable) -> str:
    """All that is known of one variable."""
    if variable.hidden:
        return variable_line(variable)
    lines = [f"{variable.name}: {variable.type}{_facts(variable)}"]
    columns = _columns(variable, most=100)
    lines += [f"columns: {columns}"] if columns else []
    if variable.preview:
        several = "\n" in variable.preview
        lines.append(f"{'first rows:' if several else 'value:'}{chr(10) if several else ' '}{variable.preview}")
    return excerpt("\n".join(lines), limit=_LONGEST_PREVIEW * 2).text.rstrip("\n")


def variables_text(found: Variables, *, limit: int) -> str:
    """A line for each variable, as many as fit into ``limit`` characters, and how many there are beside them."""
    lines: list[str] = []
    left = limit
    for variable in found.variables:
        line = f"- {variable_line(variable)}"
        line = line if len(line) <= 300 else f"{line[:300]}…"
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    more = found.total - len(lines)
    return "\n".join([*lines, f"({more:,} more)"] if more > 0 else lines)


def counted(found: Variables) -> str:
    return f"{found.total:,} variable{'s' if found.total != 1 else ''}"


def _facts(variable: Variable) -> str:
    facts: list[str] = []
    if variable.shape is not None:
        facts.append(" × ".join(f"{side:,}" for side in variable.shape) or "no dimensions")
    if variable.dtype:
        facts.append(variable.dtype)
    if variable.length is not None:
        facts.append(f"length {variable.length:,}")
    if variable.size_bytes is not None and variable.size_bytes >= 10_000:
        facts.append(_size(variable.size_bytes))
    return f" ({', '.join(facts)})" if facts else ""


def _size(count: float) -> str:
    at = 0
    while count >= 1024 and at < len(_UNITS) - 1:
        count, at = count / 1024, at + 1
    return f"{count:.1f} {_UNITS[at]}"


def _columns(variable: Variable, *, most: int) -> str:
    shown = [f"{column.name} {column.dtype}".rstrip() for column in variable.columns[:most]]
    more = len(variable.columns) - len(shown) + variable.more_columns
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


def surroundings_text(around: Surroundings, space: Path) -> str:
    """In what the kernel's code runs, paths below ``space`` relative to it."""
    where = _relative(around.cwd, space)
    folder = "the space's folder" if where == "." else where
    program = _relative(around.interpreter, space)
    packages = ", ".join(f"{name} {version}" for name, version in around.packages.items())
    return (
        f"(The kernel is {around.kernel_name}: {f'{around.language} {around.version}'.strip()}{f' ({program})' if program else ''}"
        f"{f', working in {folder}' if folder else ''}."
        f"{f' Installed are, among others: {packages}.' if packages else ''})"
    )


def _relative(path: str, space: Path) -> str:
    """Not resolved: an interpreter of an environment is a link out of it."""
    if path and Path(path).is_relative_to(space):
        return str(Path(path).relative_to(space))
    return path


def cell_text(cell: CellSnapshot, *, path: str) -> str:
    """A cell that the user points at: its source, its outputs in short, an error with its traceback."""
    source = excerpt(cell.source, limit=_LONGEST_SOURCE).text.rstrip("\n")
    head = f"(The user's message is about the {cell.cell_type} cell {cell.cell_id} of {path}:)\n{source}"
    if cell.cell_type != "code":
        return head
    return f"{head}\n{_outputs(cell.outputs)}"


def _outputs(outputs: Sequence[dict[str, object]]) -> str:
    whole = "".join(_texts(outputs))
    if not whole.strip():
        return "(It has no outputs.)"
    return f"(Its outputs:)\n{excerpt(whole, limit=_LONGEST_OUTPUTS).text}".rstrip("\n")


def _texts(outputs: Iterable[dict[str, object]]) -> Iterable[str]:
    return (output_text(output) for output in outputs)


def restored_text(paths: list[str], *, most: int = 30) -> str:
    """Files that the user put back since the last turn."""
    shown = ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")
    return (
        f"(The user has put back these files; your changes of them are gone: {shown}. "
        "Do not make the same changes again unless you are asked to; read a file before you change it.)"
    )
