"""What a command line would do, told before it runs.

The line is read as bash reads it, then followed part by part: the folder it is in, the variables that are known, the files that earlier
parts have touched. Each program is judged by what is known of it, each path by where it really leads. What is not known is never ``auto``.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..judgement import Judgement, denied, strictest
from .deny import Denials
from .line_commands import Commands
from .line_state import State
from .line_touch import TooMuch
from .lookalike import hidden
from .parts import For, Group, Node, Opaque, Simple
from .reader import read_line
from .variables import judge_environment, put_in

_INTERPRETER = re.compile(
    r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh\Z|python[\d.]*\Z|pypy3?\Z|node(?:js)?\Z|deno\Z|perl\Z|ruby\Z|php\Z|Rscript\Z|lua\Z"
)
_BEFORE_A_PROGRAM = frozenset({"env", "command", "exec", "nohup", "setsid", "sudo", "busybox"})

_WHOLE = "it "
"""What an ``Opaque`` for a whole line begins with: nothing of it is understood."""


def judge_line(
    line: str,
    *,
    root: str,
    home: str,
    folder: str | None = None,
    environ: Mapping[str, str] | None = None,
    deny: Sequence[str] = (),
) -> Judgement:
    """What ``bash --noprofile --norc -c line`` would do in ``folder`` (``None``: ``root``), with the variables ``environ`` set.

    ``root``: the space's folder. ``deny``: rules as in ``rule_forms``; a line that might run what one of them names is ``denied``.
    """
    root = os.path.realpath(root)
    denials = Denials(tuple(deny), root=root, home=home)
    rule = denials.of_line(line)
    if rule:
        return _denied(rule, Judgement(ruling="auto", why=""))
    walk = _Walk(line.strip(), root=root, home=home, environ=environ or {}, denials=denials)
    found: list[Judgement] = []
    if hides := hidden(line):
        found.append(_never_plain(f"this line cannot be shown safely: {hides}"))
    if steered := judge_environment(environ or {}):
        found.append(_never_plain(steered))
    node = read_line(line)
    state = State(
        folder=os.path.realpath(folder or root), variables={"HOME": home, "PWD": os.path.realpath(folder or root)}
    )
    try:
        found += walk.judge(node, state)[0]
    except TooMuch as exc:
        found.append(_never_plain(str(exc)))
        node = Opaque(_WHOLE)
    if isinstance(node, Opaque) and node.what.startswith(_WHOLE) and (rule := denials.of_text(line)):
        walk.denied_by = walk.denied_by or rule
    judgement = strictest(found)
    if walk.denied_by:
        return _denied(walk.denied_by, judgement)
    if judgement.ruling == "ask" and not judgement.rules:
        return replace(judgement, rules=(f"exact:{line.strip()}",))
    return judgement


def _runs_its_input(part: Node) -> bool:
    """Whether it is an interpreter that is given no file and no text, so that what comes through the pipe is run."""
    match part:
        case Group():
            return any(_runs_its_input(inner) for inner in part.parts)
        case For():
            return _runs_its_input(part.body)
        case Opaque():
            return any(_runs_its_input(inner) for inner in part.inner)
        case Simple():
            pass
    words = [word.text or "" for word in part.words]
    while len(words) > 1 and words[0] in _BEFORE_A_PROGRAM:
        words = words[1:]
    options = [word for word in words[1:] if word != "-"]
    name = words[0].rpartition("/")[2] if words else ""
    text = "c" if name.endswith("sh") else "cemEpr"
    told = [word for word in options if not word.startswith("-") or re.match(rf"-[a-zA-Z]*[{text}]", word)]
    return bool(_INTERPRETER.match(name)) and (not told or "-s" in options)


def _never_plain(why: str) -> Judgement:
    return Judgement(ruling="ask_always", why=why, effects=("opaque",), grave=True)


def _denied(rule: str, judgement: Judgement) -> Judgement:
    return denied(judgement, f"the deny rule `{rule}` forbids this")


class _Walk(Commands):
    """Follows the structure of a line; single commands are judged by ``Commands``."""

    def judge(self, node: Node, state: State) -> tuple[list[Judgement], State]:
        match node:
            case Simple():
                found, after = self.command(node, state)
                return found + self._fed_by_text(node, state), after
            case Group():
                found, after = self._group(node, state)
                for redirect in node.redirects:
                    more, after = self.redirect(redirect, state, after)
                    found += more
                return found, after
            case For():
                return self._for(node, state)
            case Opaque():
                return self._opaque(node, state)

    def _opaque(self, node: Opaque, state: State) -> tuple[list[Judgement], State]:
        whole = node.what.startswith(_WHOLE)
        found = [Judgement(ruling="ask_always", why=node.what, effects=("opaque",), grave=whole)]
        after = state
        for inner in node.inner:
            more, end = self.judge(inner, state)
            found += more
            after = after.either(end)
        if node.python:
            found += self.code(node.python, state)
        return found, after.lost() if whole or node.what.startswith("a function") else after

    def _group(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        match node.kind:
            case "and":
                return self._and(node, state)
            case "or":
                return self._or(node, state)
            case "pipe" | "subshell" | "background":
                found, after = self._in_own_shells(node, state)
            case "if":
                return self._if(node, state)
            case "while":
                return self._while(node, state)
            case "list" | "braces" | "not":
                found, after = self._in_order(node.parts, state)
        if node.kind == "background":
            why = "`&` leaves it running in the background"
            found.append(Judgement(ruling="ask_always", why=why, effects=("delayed",)))
        return found, after

    def _in_order(self, parts: Sequence[Node], state: State) -> tuple[list[Judgement], State]:
        found: list[Judgement] = []
        for part in parts:
            more, state = self.judge(part, state)
            found += more
        return found, state

    def _in_own_shells(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        """Each part starts where the whole does; what it changes of its shell ends with it, what it does to files does not."""
        found: list[Judgement] = []
        for index, part in enumerate(node.parts):
            more, after = self.judge(part, state)
            fed = node.kind == "pipe" and index > 0 and _runs_its_input(part)
            if fed:
                more += self._fed_by_words(node.parts[index - 1], state)
            found += [replace(one, grave=True) if fed and one.ruling == "ask_always" else one for one in more]
            state = state.beside(after)
        return found, state

    def _fed_by_text(self, node: Simple, state: State) -> list[Judgement]:
        """What a shell makes of the text of a here-string."""
        given = [one.target for one in node.redirects if one.op == "<<<"]
        if not given or not _runs_its_input(node):
            return []
        texts = [put_in(word, state.variables).word.text for word in given]
        known = [text for text in texts if text is not None]
        return [one for text in known for one in (*self.text(text, state), *self.code(text, state))]

    def _fed_by_words(self, before: Node, state: State) -> list[Judgement]:
        """What a shell makes of words that are printed into it."""
        if not isinstance(before, Simple) or len(before.words) < 2 or before.words[0].text not in ("echo", "printf"):
            return []
        return self.text(" ".join(word.text if word.text is not None else word.raw for word in before.words[1:]), state)

    def _and(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        """A later part runs after the earlier ones have worked; behind the whole, only the first has surely been run."""
        found, first = self.judge(node.parts[0], state)
        more, last = self._in_order(node.parts[1:], first)
        return found + more, last.either(first) if last.folder != first.folder or not last.certain else last

    def _or(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        found, after = self.judge(node.parts[0], state)
        for part in node.parts[1:]:
            before = after.either(state)
            more, other = self.judge(part, before)
            found += more
            after = before.either(other)
        return found, after

    def _if(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        found: list[Judgement] = []
        pairs, rest = node.parts[: len(node.parts) // 2 * 2], node.parts[len(node.parts) // 2 * 2 :]
        condition, ends = state, list[State]()
        for test, body in zip(pairs[::2], pairs[1::2], strict=True):
            more, condition = self.judge(test, condition)
            found += more
            more, end = self.judge(body, condition)
            found += more
            ends.append(end)
        more, end = self._in_order(rest, condition)
        after = end
        for one in ends:
            after = after.either(one)
        return found + more, after

    def _while(self, node: Group, state: State) -> tuple[list[Judgement], State]:
        found, once = self._in_order(node.parts, state)
        after = state.either(once)
        if after != state:
            more, again = self._in_order(node.parts, after)
            found, after = found + more, after.either(again)
        return found, after

    def _for(self, node: For, state: State) -> tuple[list[Judgement], State]:
        values, found = self.loop_values(node, state)
        if values is None:
            more, once = self.judge(node.body, state.without(node.name))
            again, twice = self.judge(node.body, state.either(once).without(node.name))
            found, after = found + more + again, state.either(once).either(twice)
        else:
            after = state
            for value in values:
                more, end = self.judge(node.body, after.knowing(node.name, value))
                found += more
                after = after.either(end)
        for redirect in node.redirects:
            more, after = self.redirect(redirect, state, after)
            found += more
        return found, after.without(node.name)
