"""Code of the agent's is Python or carries a magic's sign: a bare line ``rm data`` is no command, whatever the user's IPython is set to.

IPython looks for magics without a sign, macros and calls without brackets only in a cell that is one line and begins with a name. So such
a cell gets an empty line more: nothing is switched in the user's kernel, and nothing has to be switched back.
"""

import keyword
import re

_ENDS = ("exit", "quit")
NEVER = "--InteractiveShell.automagic=False"
"""Told to a kernel of ours at its start: also code that runs other cells has none."""


_PROMPTS = re.compile(r"(?:(?:>>>|\.\.\.)[ \t]*)+")
_NAME = re.compile(r"[^\W\d]\w*")


def without_automagic(code: str) -> str:
    """The same code, of more than one line; what a cell magic is given is not touched, and ``exit`` still ends the kernel."""
    first = next((line for line in code.splitlines() if line.strip()), "").lstrip(" \t")
    name = _NAME.match(_PROMPTS.sub("", first, count=1).lstrip(" \t"))
    if name is None or keyword.iskeyword(name[0]) or code.strip() in _ENDS:
        return code
    return code + "\n\n"
