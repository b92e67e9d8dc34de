"""What calls do: by the full name of what is called, by a method's name alone, or by what they are handed."""

import ast
import re
from collections.abc import Callable

from ..paths import How
from .acts import METHODS, PATH_METHODS, REMOTE, SHOWS, Act, act_of
from .arguments import after, argument, commands, environs, is_decoded, mode_writes
from .cell_magics import cell_magic, page
from .foreign import read_sql
from .found import Found
from .magics import Reader, line_magic
from .values import Name, Names, PathOf, Text, Value
from .variables import WHOLE_ENVIRONMENT, change_variable, read_variable

_ENV_CHANGES = frozenset(("update", "setdefault", "pop", "clear", "popitem", "__setitem__", "__delitem__"))
_ENDS = frozenset(("exit", "quit", "os._exit", "os.abort"))
_ENV_READS = frozenset(("get", "__getitem__"))
_LOOKS_ONLY = frozenset(
    ("isinstance", "issubclass", "type", "help", "dir", "id", "callable", "hasattr", "print", "repr")
)
_WEB = re.compile(r"(?i)\A\s*(?:https?|ftp|wss?|s3|gs|gcs|hf|abfs|az)://")
_FETCHES = re.compile(
    r"\A(?:get|post|put|patch|delete|head|request|urlopen|urlretrieve|download\w*|fetch\w*|read_\w+|load\w*|connect\w*|open\w*|imread|from_url)\Z"
)
Again = Callable[[str, bool], None]
"""Reads code within code; ``True``: with IPython's syntax."""


class Calls:
    """Judges the calls of one cell, in the order in which they stand there."""

    def __init__(self, names: Names, found: Found, again: Again) -> None:
        self._names, self._found, self._again = names, found, again
        self._magics = Reader(found, python=self._nested_python, cell=self._nested_cell)
        self.handed_env: set[ast.AST] = set()
        """Uses of the environment that are judged by the call they stand in."""

    def see(self, node: ast.Call) -> None:
        callee = self._names.of(node.func)
        if isinstance(callee, Name):
            self._named(callee.dotted, node)
        elif isinstance(node.func, ast.Attribute):
            self._method(node.func, self._names.of(node.func.value), node)
        elif isinstance(node.func, ast.Call):
            self._made_callee(node.func, node)
        self._web_address(node)
        self._references(node, callee)

    def _named(self, dotted: str, node: ast.Call) -> None:
        act = act_of(dotted)
        if dotted.startswith("get_ipython()"):
            self._of_ipython(dotted, node)
        if dotted.startswith(("os.environ.", "os.environb.")):
            self._of_environ(dotted.rpartition(".")[2], node)
        if dotted.startswith("IPython.display."):
            self._displayed(dotted.rpartition(".")[2], node)
        if dotted.startswith("sh.") and dotted.count(".") == 1:
            commands(Act(form="words"), node, self._names, self._found, before=dotted[3:])
        if act is not None:
            self._act(act, dotted, node)
        elif isinstance(node.func, ast.Attribute):
            self._method(node.func, self._names.of(node.func.value), node)
        if dotted.startswith("ctypes.CDLL().") and act is None:
            self._found.see("opaque")

    def _act(self, act: Act, dotted: str, node: ast.Call) -> None:
        if "unpickles" in act.effects and self._loads_safely(dotted, node):
            act = Act(reads=act.reads)
        if dotted in ("os.chdir", "contextlib.chdir"):
            self._found.change_folder(self._whole_text(node, 0))
            return
        if (
            act.form in ("line", "process", "exec", "execl", "spawn", "spawnl", "words")
            and "runs_process" in act.effects
        ):
            self.handed_env.update(environs(node))
        # the end of its own kernel costs variables, and nothing outside
        self._found.see(*act.effects, grave=False if dotted in _ENDS else None)
        self._hidden(act)
        match act.form:
            case "":
                pass
            case "code":
                self._code(dotted, node)
            case "cell":
                text = self._whole_text(node, 0)
                self._nested_cell(text) if text is not None else self._found.see("runs_code_from_text", "opaque")
            case "sql":
                self._sql(node)
            case "open":
                self._open(node, 0)
            case "env":
                read_variable(self._whole_text(node, 0), self._found)
            case _:
                commands(act, node, self._names, self._found, ipython=dotted.startswith("get_ipython()"))
        self._paths(act, node, None, expand=dotted.startswith(("pandas.", "polars.")))

    def _hidden(self, act: Act) -> None:
        if act.hidden:
            self._found.see(*act.hidden)

    def _method(self, func: ast.Attribute, of: Value, node: ast.Call) -> None:
        """A method of something whose kind is not known, or of a path."""
        if isinstance(of, PathOf):
            if func.attr == "open":
                self._opened_path(of, node)
            elif (act := PATH_METHODS.get(func.attr)) is not None:
                self._found.see(*act.effects)
                self._paths(act, node, of)
            return
        act = METHODS.get(func.attr)
        if act is None or (func.attr == "extractall" and isinstance(of, Text)):
            return
        if act.form == "sql":
            self._sql(node)
            return
        given = any(argument(node, where) is not None for where in act.writes)
        if act.writes and not act.effects:
            # "save" and the like: only what names a file writes one
            if given and any(self._names.text(argument(node, where)) for where in act.writes):
                self._found.see("writes_file")
        elif not act.writes or given or func.attr not in ("to_csv", "to_html", "to_latex", "to_markdown", "write_csv"):
            self._found.see(*act.effects)
        self._hidden(act)
        self._paths(act, node, None, expand=True)

    def _paths(self, act: Act, node: ast.Call, self_path: PathOf | None, *, expand: bool = False) -> None:
        """``expand``: what is called knows ``~``."""
        wheres: list[tuple[How, tuple[int | str, ...]]] = [
            ("read", act.reads),
            ("write", act.writes),
            ("delete", act.deletes),
        ]
        named = False
        for how, places in wheres:
            for where in places:
                known = self._path(where, node, self_path, how, expand=expand)
                named = named or (known and how == "delete")
        if act.deletes and not named:
            self._found.see("opaque", why="what it deletes cannot be known before it runs")

    def _path(self, where: int | str, node: ast.Call, self_path: PathOf | None, how: How, *, expand: bool) -> bool:
        value = self_path if where == "self" else self._names.of(argument(node, where))
        if not isinstance(value, Text | PathOf):
            return False
        if not value.whole:
            return self._partly_known(value, how)
        self._found.path(value.text, how, expand=expand)
        return True

    def _partly_known(self, value: Text | PathOf, how: str) -> bool:
        """The known beginning says at least where it is."""
        known = value.text.partition("{")[0]
        folder = known.rpartition("/")[0]
        if folder or known.startswith("/"):
            self._found.path(folder or "/", "read")
            if how != "read" and folder.startswith(("/", "..")):
                self._found.path(f"{folder}/x", "write")
        elif _WEB.match(known):
            self._found.see("network")
        return False

    def _open(self, node: ast.Call, first: int) -> None:
        path = argument(node, first) or argument(node, "file")
        value = self._names.of(path)
        if isinstance(value, PathOf | Text) and value.whole and _WEB.match(value.text):
            self._found.see("network")
            return
        writes = mode_writes(node, first + 1, self._names)
        if writes:
            self._found.see("writes_file")
        if isinstance(value, PathOf | Text):
            if value.whole:
                self._found.path(value.text, "write" if writes else "read")
            else:
                self._partly_known(value, "write" if writes else "read")

    def _opened_path(self, of: PathOf, node: ast.Call) -> None:
        writes = mode_writes(node, 0, self._names)
        if writes:
            self._found.see("writes_file")
        if of.whole:
            self._found.path(of.text, "write" if writes else "read")

    def _sql(self, node: ast.Call) -> None:
        text = self._names.text(node.args[0]) if node.args else None
        inner = node.args[0] if node.args else None
        if text is None and isinstance(inner, ast.Call) and inner.args:  # text("…") of SQLAlchemy
            text = self._names.text(inner.args[0])
        if text is not None:
            read_sql(text.text, self._found)

    def _loads_safely(self, dotted: str, node: ast.Call) -> bool:
        keywords = {one.arg: one.value for one in node.keywords}
        if dotted == "numpy.load":
            allowed = keywords.get("allow_pickle")
            return allowed is None or (isinstance(allowed, ast.Constant) and not allowed.value)
        if dotted == "torch.load":
            only = keywords.get("weights_only")
            return isinstance(only, ast.Constant) and bool(only.value)
        if dotted == "yaml.load":
            loader = ast.unparse(node.args[1] if len(node.args) > 1 else keywords.get("Loader", ast.Name("")))
            return "Safe" in loader
        return False

    def _code(self, dotted: str, node: ast.Call) -> None:
        text = self._names.text(node.args[0]) if node.args else None
        if text is not None and text.whole:
            self._nested_python(text.text)
        elif dotted in ("eval", "exec", "compile"):
            grave = bool(node.args) and is_decoded(node.args[0], self._names)
            why = "text that was decoded or fetched is run as code" if grave else ""
            self._found.see("opaque", why=why, grave=grave)

    # ---- IPython -------------------------------------------------------------------------------------------------------

    def _of_ipython(self, dotted: str, node: ast.Call) -> None:
        method = dotted.removeprefix("get_ipython().")
        texts = [self._whole_text(node, at) for at in range(3)]
        match method:
            case "run_line_magic":
                self._by_call(texts[:2], lambda: line_magic(texts[0] or "", texts[1] or "", self._magics))
            case "run_cell_magic":
                self._by_call(texts, lambda: cell_magic(texts[0] or "", texts[1] or "", texts[2] or "", self._magics))
            case "magic":
                name, _, rest = (texts[0] or "").lstrip("%").partition(" ")
                self._by_call(texts[:1], lambda: line_magic(name, rest, self._magics))
            case _:
                pass

    def _by_call(self, texts: list[str | None], read: Callable[[], None]) -> None:
        if texts[0] is None or None in texts:
            self._found.see("opaque", why="a magic is run that cannot be known before it runs")
        else:
            read()

    def _displayed(self, what: str, node: ast.Call) -> None:
        texts = [
            text.text for text in map(self._names.text, (*node.args, *(one.value for one in node.keywords))) if text
        ]
        if what in SHOWS:
            for text in texts:
                page(text, self._found)
        if what in REMOTE and any(_WEB.match(text) for text in texts):
            self._found.see("network")

    def _of_environ(self, method: str, node: ast.Call) -> None:
        name = self._whole_text(node, 0)
        self.handed_env.update(environs(node))
        if method in _ENV_CHANGES:
            for one in [name] if name else [keyword.arg for keyword in node.keywords] or [None]:
                change_variable(one, self._found)
            for key in node.args[0].keys if node.args and isinstance(node.args[0], ast.Dict) else ():
                known = self._names.text(key)
                change_variable(known.text if known else None, self._found)
        elif method in _ENV_READS:
            read_variable(name, self._found)
        elif method == "copy":
            self._found.see_mildly("reads_env")
        else:
            self._found.see("reads_env", grave=True, why=WHOLE_ENVIRONMENT)

    # ---- calls by others -----------------------------------------------------------------------------------------------

    def _references(self, node: ast.Call, callee: Value) -> None:
        """Functions that are handed on are called by somebody, with what stands after them."""
        if isinstance(callee, Name) and callee.dotted in _LOOKS_ONLY:
            return
        arguments = [
            *node.args,
            *(one.value for one in node.keywords if one.arg in ("target", "func", "function", "fn")),
        ]
        for at, expr in enumerate(arguments):
            known = self._names.of(expr) if isinstance(expr, ast.Name | ast.Attribute | ast.Call) else None
            if not isinstance(known, Name) or (
                isinstance(expr, ast.Call) and not known.dotted.startswith("get_ipython")
            ):
                continue
            act = act_of(known.dotted)
            if act is None or not act.effects or known.dotted in ("open",):
                continue
            rest = after(node, at)
            if rest:
                self._act(act, known.dotted, ast.Call(func=expr, args=rest, keywords=[]))
            else:
                self._found.see(*act.effects)

    def _made_callee(self, func: ast.Call, node: ast.Call) -> None:
        """``getattr(os, name)()`` and the like: which one it is cannot be known."""
        if isinstance(made := self._names.of(func.func), Name) and made.dotted == "getattr" and func.args:
            of = self._names.of(func.args[0])
            if isinstance(of, Name) and of.dotted.split(".")[0] in (
                "os",
                "subprocess",
                "shutil",
                "builtins",
                "__builtins__",
                "sys",
            ):
                self._found.see(
                    "opaque", why=f"a function of {of.dotted} is called that cannot be known before it runs"
                )

    def _web_address(self, node: ast.Call) -> None:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        downloads = any(
            one.arg == "download" and isinstance(one.value, ast.Constant) and one.value.value for one in node.keywords
        )
        if downloads:
            self._found.see("network")
        if _FETCHES.match(name) and node.args:
            text = self._names.text(node.args[0])
            if text is not None and _WEB.match(text.text):
                self._found.see("network")
                if name == "delete":
                    self._found.see("deletes")

    # ---- text that is code ---------------------------------------------------------------------------------------------

    def _nested_python(self, code: str) -> None:
        self._again(code, False)

    def _nested_cell(self, code: str) -> None:
        self._again(code, True)

    def _whole_text(self, node: ast.Call, at: int) -> str | None:
        text = self._names.text(node.args[at]) if at < len(node.args) else None
        return text.text if text is not None and text.whole else None
