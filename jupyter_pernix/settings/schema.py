"""The tree of settings, read off the structs: which keys there are, what a value must be, what each is for.

Knows no particular setting. A table is a struct, a named table a ``dict[str, Struct]`` (its keys are the user's), a free table a
``dict[str, Any]`` (its keys are someone else's); anything else is a value.
"""

import ast
import difflib
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

import msgspec

from .values import plain_kind

KeyPath = tuple[str, ...]
Table = dict[str, Any]
Struct = type[msgspec.Struct]


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
"""Stands for the default of a field that has none."""


@dataclass(frozen=True)
class Rule:
    """What a struct's own annotation does not say. ``kind`` narrows the annotation; ``doc`` is for a field without a docstring.

    The value of a ``secret`` field is never shown, that of a ``hushed`` one not in an error. ``keys``: what the user's keys of a
    table have to be; ``refused``: keys that a free table cannot have, and why.
    """

    kind: Any = None
    doc: str = ""
    secret: bool = False
    hushed: bool = False
    keys: Any = str
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


Rules = Mapping[Struct, Mapping[str, Rule]]


@dataclass(frozen=True)
class Node:
    """One place in the tree. ``default`` is what holds when no layer gives it; ``REQUIRED``: one has to."""

    path: KeyPath
    kind: Any
    rules: Rules = field(repr=False)
    default: Any = REQUIRED
    rule: Rule = Rule()
    owner: Struct | None = None
    """The struct that has it as a field; ``None`` for what stands under a key of the user's."""
    above: "Node | None" = field(default=None, repr=False)

    @property
    def doc(self) -> str:
        """What it is for."""
        if self.owner is None:
            return self.above.doc if self.above else ""
        return field_docs(self.owner).get(self.path[-1]) or self.rule.doc

    @property
    def about(self) -> str:
        """What the table is for that it stands in."""
        if self.above is None:
            return ""
        return self.above.about if self.owner is None else self.above.doc or self.above.about

    @property
    def struct(self) -> Struct | None:
        """The struct of a table that has fixed keys."""
        return _struct(plain_kind(self.kind))

    @property
    def entries(self) -> Any:
        """What a table with keys of the user's holds under each; ``None`` for other nodes."""
        kind = plain_kind(self.kind)
        return get_args(kind)[1] if get_origin(kind) is dict else None

    @property
    def is_value(self) -> bool:
        return self.struct is None and self.entries is None

    @property
    def has_own_default(self) -> bool:
        return isinstance(self.default, msgspec.Struct)

    def children(self) -> dict[str, "Node"]:
        """By key; a table with the user's keys has none of its own."""
        struct = self.struct
        if struct is None:
            return {}
        kinds = _kinds(struct)
        rules = self.rules.get(struct, {})
        children: dict[str, Node] = {}
        for each in msgspec.structs.fields(struct):
            rule = rules.get(each.name, Rule())
            children[each.name] = Node(
                path=(*self.path, each.name),
                kind=rule.kind or kinds[each.name],
                rules=self.rules,
                default=self._default_of(each),
                rule=rule,
                owner=struct,
                above=self,
            )
        return children

    def child(self, name: str) -> "Node | None":
        if self.entries is not None:
            return Node(path=(*self.path, name), kind=self.entries, rules=self.rules, above=self)
        return self.children().get(name)

    def _default_of(self, each: msgspec.structs.FieldInfo) -> Any:
        if isinstance(self.default, msgspec.Struct):
            return getattr(self.default, each.name)
        if each.default is not msgspec.NODEFAULT:
            return each.default
        return REQUIRED if each.default_factory is msgspec.NODEFAULT else each.default_factory()


def _struct(kind: Any) -> Struct | None:
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


@cache
def _kinds(struct: Struct) -> dict[str, Any]:
    return get_type_hints(struct)


def root(struct: Struct, rules: Rules) -> Node:
    return Node(path=(), kind=struct, rules=rules, default=struct())


def values(node: Node, *, name: str = "NAME") -> Iterator[Node]:
    """All values below a node, in the order of the structs; ``name`` stands for each key of the user's."""
    if node.is_value:
        yield node
    elif node.struct is not None:
        for child in node.children().values():
            yield from values(child, name=name)
    elif (child := node.child(name)) is not None:
        yield from values(child, name=name)


def filled(node: Node, data: Table) -> Table:
    """``data`` with what its tables leave out; a table's own default may differ from that of its struct."""
    result = dict(data)
    for name, value in data.items():
        below = node.child(name)
        if below is None or not isinstance(value, dict):
            continue
        given = filled(below, cast(Table, value))
        result[name] = cast(Table, msgspec.to_builtins(below.default)) | given if below.has_own_default else given
    return result


def lookup(tree: Node, path: KeyPath) -> Node:
    """The node at ``path``.

    :raises KeyError: if there is none; its message says which key is unknown, and the nearest right one
    """
    node = tree
    for name in path:
        below = node.child(name)
        if below is None:
            raise KeyError(unknown(tree, node, name))
        node = below
    return node


def unknown(tree: Node, node: Node, name: str) -> str:
    """The sentence about a key that ``node`` does not have: first one that is near among its own, then the same word elsewhere."""
    said = f"unknown setting {dotted((*node.path, name))!r}"
    if node.is_value:
        return f"{said}; {dotted(node.path)!r} is a value, not a table"
    own = list(node.children())
    plain = name.replace("-", "_").lower()
    near = difflib.get_close_matches(plain, own, n=1)
    if near:
        return f"{said}; did you mean {dotted((*node.path, near[0]))!r}?"
    elsewhere = {each.path[-1]: dotted(each.path) for each in reversed(list(values(tree)))}
    near = difflib.get_close_matches(plain, elsewhere, n=1, cutoff=0.8)
    if near:
        return f"{said}; did you mean {elsewhere[near[0]]!r}?"
    return f"{said}; known{f' in {dotted(node.path)!r}' if node.path else ''}: {', '.join(sorted(own))}"


_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def dotted(path: KeyPath) -> str:
    """As TOML writes a key: ``endpoints."a.b".model``."""
    return ".".join(part if part and _BARE.issuperset(part) else _quoted(part) for part in path)


def _quoted(part: str) -> str:
    return msgspec.json.encode(part).decode()


@cache
def field_docs(struct: Struct) -> dict[str, str]:
    """The docstrings that stand below fields; none where there is no source."""
    try:
        source = textwrap.dedent(inspect.getsource(struct))
    except (OSError, TypeError):
        return {}
    body = cast(ast.ClassDef, ast.parse(source).body[0]).body
    found: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        if not (isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            found[before.target.id] = " ".join(after.value.value.split())
    return found
