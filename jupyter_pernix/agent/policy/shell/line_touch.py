"""What a line touches: paths, where they really lead, and the targets of its redirections."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from ..judgement import Judgement
from ..paths import canonical, inside, judge_path
from .deny import Denials
from .line_state import State
from .parts import Node, Redirect
from .variables import put_in

MOST_WORK = 1000
"""How much of a line is looked at: a command counts 3, a path, a redirection or a name that a pattern matches 1."""

_NOTHING_KEPT = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_OF_THE_PROCESS = frozenset({*_NOTHING_KEPT, "/dev/stdin", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2"})
"""What these names lead to belongs to the process that is asked, and not to the one that judges: they are never followed."""


class TooMuch(Exception):
    """The line does so much that judging it would take too long."""


class Touching:
    """Judges paths. ``denied_by``: the first deny rule that a part of the line is against, "" as long as there is none."""

    def __init__(self, *, root: str, home: str, denials: Denials) -> None:
        self.root = root
        self.home = home
        self.denials = denials
        self.denied_by = ""
        self._work = 0

    def judge(self, node: Node, state: State) -> tuple[list[Judgement], State]:
        """What ``node`` would do, and how the line stands after it."""
        raise NotImplementedError

    def spend(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise TooMuch("it does more than can be looked at")

    def inner(self, nodes: Sequence[Node], state: State) -> list[Judgement]:
        """What is run inside of an expansion: never ``auto`` together with it, but a deny rule sees it."""
        found: list[Judgement] = []
        for node in nodes:
            found += self.judge(node, state)[0]
        return found

    def redirect(self, redirect: Redirect, state: State, after: State) -> tuple[list[Judgement], State]:
        """``state`` is where the target is looked up, ``after`` what the line stands at once it is done."""
        self.spend(1)
        if redirect.fd.startswith("{"):
            return [always("a redirection sets a variable")], after
        if redirect.op in ("<<", "<<-"):
            return [always("a here-document is asked about every time")], after
        known = put_in(redirect.target, state.variables)
        found = self.inner(known.inner, state)
        if known.unknown:
            return [
                *found,
                replace(always(known.unknown), grave=known.secret or redirect.op not in ("<", "<<<")),
            ], after
        text = known.word.text or ""
        if redirect.op == "<<<":
            return found, after
        copies = redirect.op in (">&", "<&")
        if copies and re.fullmatch(r"-|[0-9]+-?", text):
            return found, after
        if known.word.glob:
            return [*found, replace(always("a pattern as the target of a redirection"), grave=True)], after
        if redirect.op == "<&" or (redirect.op == ">&" and redirect.fd not in ("", "1")):
            return [*found, always(f"`{redirect.op}` cannot copy to {text}")], after
        return self._target(redirect, text, state, after, found)

    def _target(
        self, redirect: Redirect, text: str, state: State, after: State, found: list[Judgement]
    ) -> tuple[list[Judgement], State]:
        if not text or (not state.certain and not text.startswith("/")):
            return [*found, replace(always("the target of a redirection is not known"), grave=True)], after
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            return [
                *found,
                Judgement(
                    ruling="ask_always", why="bash opens a connection for this name", effects=("network",), grave=True
                ),
            ], after
        if redirect.op in ("<", "<>"):
            found = [*found, *self.path(text, "read", state)]
        if redirect.op == "<" or text in _NOTHING_KEPT:
            return found, after
        one, *others = self.path(text, "write", state)
        if one.ruling == "ask" and not one.rules:
            one = replace(one, rules=(">",), why=f"writes output into {text}")
        return [*found, one, *others], after.with_written(one.writes)

    def path(self, text: str, how: str, state: State) -> list[Judgement]:
        """What touching the path ``text`` means where the line stands."""
        self.spend(1 + text.count("/") // 50)
        joined = text if text.startswith("/") else f"{state.folder}/{text}"
        try:
            real = canonical(text, folder=state.folder)
        except (ValueError, OSError):
            return [replace(always("a path cannot be followed"), grave=True)]
        if text not in _OF_THE_PROCESS and os.path.normpath(joined).startswith(
            ("/proc/", "/dev/fd/", "//proc/", "//dev/fd/")
        ):
            return [replace(always(f"what {text} leads to is known to the running program alone"), grave=True)]
        if text in _OF_THE_PROCESS or (how == "read" and real in _NOTHING_KEPT):
            return [Judgement(ruling="auto", why="touches nothing but what the line itself is given")]
        rule = self.denials.of_path(real, how) or self.denials.of_path(os.path.normpath(joined), how)
        self.denied_by = self.denied_by or rule
        kind = "read" if how == "read" else "delete" if how == "delete" else "write"
        found = [judge_path(real, kind, root=self.root, home=self.home, as_folder=text.endswith("/"))]
        if found[0].ruling == "ask" and not inside(real, self.root) and inside(os.path.normpath(joined), self.root):
            why = f"{text} leads out of the space through a link"
            found.append(replace(found[0], ruling="ask_always", why=why, rules=()))
        if state.may_be_other(joined, real):
            why = f"an earlier part of the line may have changed what {text} is"
            found.append(Judgement(ruling="ask_always", why=why, effects=("opaque",), grave=True))
        return found


def always(why: str) -> Judgement:
    return Judgement(ruling="ask_always", why=why, effects=("opaque",))
