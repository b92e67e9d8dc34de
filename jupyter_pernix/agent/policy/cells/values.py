"""What expressions of Python are, as far as their text tells: a name that can be imported, a literal text, a path, words."""

import ast
import posixpath
from dataclasses import dataclass

from .acts import USUAL_NAMES, usual

_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Name:
    """Something by its dotted name; ``()`` in it is what a call gives."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Text:
    """``whole``: all of it is known; else ``{…}`` stands for the rest."""

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class PathOf:
    """A ``pathlib`` path, or each of the paths that a pattern finds."""

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Words:
    items: "tuple[Value, ...]"


Value = Name | Text | PathOf | Words | None

_FINDS = frozenset(("glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk"))
_GLOBS = frozenset(("glob", "rglob", "iterdir", "walk"))


class Names:
    """What the names of a cell stand for at the point that is being read."""

    def __init__(self, tree: ast.AST, *, home: str) -> None:
        self._home = home
        self._bound: dict[str, Value] = {}
        stored: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stored[node.id] = stored.get(node.id, 0) + 1
        self._once = {name for name, times in stored.items() if times == 1}

    def bind(self, name: str, value: Value) -> None:
        """A text is kept of a name that is bound once only: it may be another by the time it is used."""
        changes = isinstance(value, Text | PathOf | Words) and name not in self._once
        self._bound[name] = None if changes else value

    def of(self, node: ast.expr | None) -> Value:
        match node:
            case ast.Name(id=name):
                return self._bound[name] if name in self._bound else Name(USUAL_NAMES.get(name, name))
            case ast.Constant(value=str(text)):
                return Text(text)
            case ast.Constant(value=bytes(raw)):
                return Text(raw.decode("utf-8", "replace"))
            case ast.JoinedStr():
                return self._joined(node)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return Words(tuple(self.of(item) for item in items[:500]))
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self._item(node)
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self.of(value)
            case ast.IfExp(body=body, orelse=other):
                return self.of(body) or self.of(other)
            case _:
                return None

    def text(self, node: ast.expr | None) -> Text | None:
        """The text or path that an expression is."""
        value = self.of(node)
        if isinstance(value, PathOf):
            return Text(value.text, value.whole)
        return value if isinstance(value, Text) else None

    def _joined(self, node: ast.JoinedStr) -> Text:
        parts: list[str] = []
        whole = True
        for part in node.values:
            known = self.text(part.value if isinstance(part, ast.FormattedValue) else part)
            if known is None or not known.whole:
                whole = False
                name = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
                parts.append("{" + name + "}")
            else:
                parts.append(known.text)
        return Text("".join(parts), whole)

    def _attribute(self, node: ast.Attribute) -> Value:
        inner = self.of(node.value)
        if isinstance(inner, PathOf):
            return PathOf(posixpath.dirname(inner.text), inner.whole) if node.attr == "parent" else None
        if not isinstance(inner, Name):
            return None
        dotted = usual(f"{inner.dotted}.{node.attr}")
        if dotted == "sys.executable":
            return Text("python")
        return Name(dotted)

    def _operation(self, node: ast.BinOp) -> Value:
        left = self.of(node.left)
        if isinstance(node.op, ast.Div) and isinstance(left, PathOf):
            right = self.text(node.right)
            below = right.text if right else "{…}"
            return PathOf(posixpath.join(left.text, below), left.whole and right is not None and right.whole)
        if isinstance(node.op, ast.Add):
            right = self.of(node.right)
            if isinstance(left, Words) and isinstance(right, Words):
                return Words(left.items + right.items)
            if isinstance(left, Text) or isinstance(right, Text):
                return _plus(left, right)
        if isinstance(node.op, ast.Mod) and isinstance(left, Text):
            return Text(left.text, whole=False)
        return None

    def _call(self, node: ast.Call) -> Value:
        callee = self.of(node.func)
        if isinstance(callee, Name):
            return self._named_call(callee.dotted, node)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func.attr, self.of(node.func.value), node)
        return None

    def _named_call(self, dotted: str, node: ast.Call) -> Value:
        first = self.text(node.args[0]) if node.args else None
        match dotted:
            case "__import__" | "importlib.import_module" | "importlib.__import__" | "pytest.importorskip":
                module = first.text if first and first.whole else None
                return None if module is None else Name(module.split(".")[0] if dotted == "__import__" else module)
            case "getattr":
                of = self.of(node.args[0]) if node.args else None
                attr = self.text(node.args[1]) if len(node.args) > 1 else None
                return Name(usual(f"{of.dotted}.{attr.text}")) if isinstance(of, Name) and attr and attr.whole else None
            case (
                "pathlib.Path"
                | "pathlib.Path.cwd"
                | "str"
                | "os.fspath"
                | "os.path.abspath"
                | "os.path.realpath"
                | "os.path.normpath"
            ):
                return self._as_path(dotted, node)
            case "os.path.expanduser":
                return None if first is None else PathOf(self._expanded(first.text), first.whole)
            case "pathlib.Path.home":
                return PathOf(self._home)
            case "vars":
                of = self.of(node.args[0]) if node.args else None
                return Name(f"{of.dotted}.__dict__") if isinstance(of, Name) else Name("vars()")
            case "os.path.join":
                return self._path_of(node.args)
            case _ if dotted in _FINDS:
                return None if first is None else PathOf(first.text, first.whole)
            case "os.getcwd":
                return PathOf(".")
            case "shlex.split":
                return Words(tuple(Text(word) for word in first.text.split())) if first and first.whole else None
            case _:
                return Name(dotted + "()")

    def _as_path(self, dotted: str, node: ast.Call) -> Value:
        if not node.args and dotted.startswith("pathlib"):
            return PathOf(".")
        return self._path_of(node.args)

    def _path_of(self, args: list[ast.expr]) -> Value:
        parts = [self.text(arg) for arg in args]
        if not parts or parts[0] is None:
            return None
        known = [part.text if part else "{…}" for part in parts]
        return PathOf(posixpath.join(*known), all(part is not None and part.whole for part in parts))

    def _method(self, method: str, of: Value, node: ast.Call) -> Value:
        if isinstance(of, PathOf):
            if method in _GLOBS:
                pattern = self.text(node.args[0]) if node.args else None
                return PathOf(posixpath.join(of.text, pattern.text if pattern else "{…}"), of.whole)
            if method == "joinpath":
                return self._path_of([node.func.value, *node.args]) if isinstance(node.func, ast.Attribute) else None
            if method == "expanduser":
                return PathOf(self._expanded(of.text), of.whole)
            return of if method in ("resolve", "absolute", "as_posix") else None
        if isinstance(of, Text):
            if method == "join" and node.args:
                items = self.of(node.args[0])
                if isinstance(items, Words) and all(isinstance(item, Text) for item in items.items):
                    texts = [item for item in items.items if isinstance(item, Text)]
                    return Text(of.text.join(item.text for item in texts)[:_LONGEST], all(item.whole for item in texts))
            if method == "split" and not node.args and of.whole:
                return Words(tuple(Text(word) for word in of.text.split()[:500]))
            if method == "format":
                return Text(of.text, whole=False)
            return of if method in ("strip", "encode", "decode") else None
        return None

    def _expanded(self, path: str) -> str:
        return self._home + path[1:] if path == "~" or path.startswith("~/") else path

    def _item(self, node: ast.Subscript) -> Value:
        of, key = self.of(node.value), self.text(node.slice)
        if isinstance(of, Name) and key is not None and key.whole:
            if of.dotted == "sys.modules":
                return Name(key.text)
            if of.dotted in ("globals()", "locals()", "vars()", "__builtins__", "get_ipython().user_ns"):
                return Name(USUAL_NAMES.get(key.text, key.text))
            if of.dotted.endswith(".__dict__"):
                return Name(usual(f"{of.dotted.removesuffix('.__dict__')}.{key.text}"))
        return None


def _plus(left: Value, right: Value) -> Text:
    known = [one if isinstance(one, Text | PathOf) else Text("{…}", whole=False) for one in (left, right)]
    return Text((known[0].text + known[1].text)[:_LONGEST], known[0].whole and known[1].whole)
