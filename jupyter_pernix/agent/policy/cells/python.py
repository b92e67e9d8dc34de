"""Reads Python for what it obviously does: names through imports and aliases, literal texts, and nothing that only running would tell.

What is not known of ordinary code is left alone. Only of what matters, a command or a path to delete, not knowing it is said.
"""

import ast
import re
import warnings

from .acts import ACTS, act_of, names_in, usual
from .calls import Again, Calls
from .found import Found, TooMuch
from .sizes import is_endless, is_huge, is_huge_call
from .values import Name, Names, PathOf, Words
from .variables import WHOLE_ENVIRONMENT, change_variable, read_variable

_NODES = 60_000
_GUARDED = frozenset(("print", "open", "input", "exec", "eval", "compile", "__import__", "get_ipython"))
_REPLACED = (
    "builtins.",
    "__builtins__.",
    "sys.stdout",
    "sys.stderr",
    "sys.stdin",
    "sys.excepthook",
    "sys.displayhook",
    "get_ipython()",
)
_SECRET_TEXT = re.compile(r"(?i)-----BEGIN [A-Z ]*PRIVATE KEY")


def read_python(code: str, found: Found, again: Again) -> None:
    """A cell, IPython's syntax already replaced.

    :raises SyntaxError, ValueError, RecursionError, MemoryError: if it cannot be parsed
    :raises TooMuch: if there is more than can be looked at
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the cell's own text, which is not ours to correct
        tree = compile(code, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    if sum(1 for _ in ast.walk(tree)) > _NODES:
        raise TooMuch
    PythonReader(tree, found, again).visit(tree)


class PythonReader(ast.NodeVisitor):
    def __init__(self, tree: ast.AST, found: Found, again: Again) -> None:
        self._found = found
        self._names = Names(tree, home=found.home)
        self._calls = Calls(self._names, found, again)

    # ---- names ---------------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self._names.bind(alias.asname or name, Name(name))
            if alias.name in ("antigravity",):
                self._found.see("network")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                for name in names_in(module):
                    self._names.bind(name, Name(f"{module}.{name}"))
            else:
                self._names.bind(alias.asname or alias.name, Name(usual(f"{module}.{alias.name}")))

    def visit_Assign(self, node: ast.Assign) -> None:
        self._assigned(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assigned([node.target], node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._assigned([node.target], node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replaces(node.target)
        if isinstance(node.target, ast.Name):
            self._names.bind(node.target.id, None)
        self.visit(node.value)

    def _assigned(self, targets: list[ast.expr], value: ast.expr) -> None:
        self.visit(value) if not self._is_alias(value) else None
        known = self._names.of(value)
        for target in targets:
            self._replaces(target)
            if isinstance(target, ast.Name):
                self._names.bind(target.id, known)
            elif (
                isinstance(target, ast.Tuple | ast.List)
                and isinstance(known, Words)
                and len(known.items) == len(target.elts)
            ):
                for part, item in zip(target.elts, known.items, strict=True):
                    if isinstance(part, ast.Name):
                        self._names.bind(part.id, item)
            else:
                self._forget(target)

    def _is_alias(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Name | ast.Attribute) and not self._is_environ(value)

    def _forget(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._names.bind(node.id, None)

    def _replaces(self, target: ast.expr) -> None:
        """What a name or attribute that is given another value means to later code."""
        if isinstance(target, ast.Name) and target.id in _GUARDED:
            self._found.see("overrides_builtins", why=f"this replaces {target.id}()")
        elif isinstance(target, ast.Attribute):
            known = self._names.of(target)
            if isinstance(known, Name) and (known.dotted.startswith(_REPLACED) or known.dotted in ACTS):
                streams = known.dotted.startswith(("sys.stdout", "sys.stderr", "sys.stdin"))
                why = f"this replaces {known.dotted[:60]}"
                self._found.see("overrides_builtins", why=why, grave=False if streams else None)
        elif isinstance(target, ast.Subscript):
            if self._is_environ(target.value):
                name = self._names.text(target.slice)
                change_variable(name.text if name and name.whole else None, self._found)
            elif isinstance(known := self._names.of(target.value), Name) and known.dotted in (
                "__builtins__",
                "builtins.__dict__",
                "sys.modules",
            ):
                self._found.see("overrides_builtins")
            self.visit(target.slice)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._replaces(target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        over = self._names.of(node.iter)
        self._forget(node.target)
        if isinstance(node.target, ast.Name) and isinstance(over, PathOf):
            self._names.bind(node.target.id, over)
        for child in (*node.body, *node.orelse):
            self.visit(child)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if isinstance(item.optional_vars, ast.Name):
                self._names.bind(item.optional_vars.id, self._names.of(item.context_expr))
        for child in node.body:
            self.visit(child)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> None:
        self.visit_With(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in _GUARDED:
            self._found.see("overrides_builtins", why=f"this replaces {node.name}()")
        for decorator in node.decorator_list:
            known = self._names.of(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if isinstance(known, Name):
                self._decorated(known.dotted)
        self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _decorated(self, dotted: str) -> None:
        if dotted.startswith(("IPython.core.magic.register_", "register_line_magic", "register_cell_magic")):
            self._found.see("overrides_builtins")
        elif act := act_of(dotted):
            self._found.see(*act.effects)

    # ---- other sights --------------------------------------------------------------------------------------------------

    def visit_While(self, node: ast.While) -> None:
        if is_endless(node):
            self._found.see("huge")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if is_huge(node):
            self._found.see("huge")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._whole_environment(node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._whole_environment(node)

    def _whole_environment(self, node: ast.Name | ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load) and node not in self._calls.handed_env and self._is_environ(node):
            self._found.see("reads_env", grave=True, why=WHOLE_ENVIRONMENT)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in ("exit", "quit"):
            self._found.see("kills_kernel", grave=False)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _SECRET_TEXT.search(node.value):
            self._found.see("reads_secret", why="a private key stands in this")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self._is_environ(node.value):
            name = self._names.text(node.slice)
            read_variable(name.text if name and name.whole else None, self._found)
            self.visit(node.slice)
        else:
            self.generic_visit(node)

    def _is_environ(self, node: ast.expr) -> bool:
        known = self._names.of(node)
        return isinstance(known, Name) and known.dotted in ("os.environ", "os.environb")

    def visit_Call(self, node: ast.Call) -> None:
        if is_huge_call(node):
            self._found.see("huge")
        self._calls.see(node)
        for child in ast.iter_child_nodes(node):
            self.visit(child)
