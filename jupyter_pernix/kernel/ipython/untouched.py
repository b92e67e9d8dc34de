"""What code of the agent's leaves as it was: the numbers and history of the user's cells, ``_`` and its like, and the kernel itself."""

import contextlib
from collections.abc import Iterator
from typing import Any

_NAMES = ("_", "__", "___", "_i", "_ii", "_iii")


@contextlib.contextmanager
def untouched(shell: Any) -> Iterator[None]:
    """While this is open, nothing that runs in ``shell`` counts as a cell of the user's, and nothing ends the kernel."""
    before = {name: shell.user_ns[name] for name in _NAMES if name in shell.user_ns}
    run_cell, history = shell.run_cell, shell.user_ns.get("Out")
    numbers = set(history or ())

    def run(raw_cell: str, store_history: bool = False, *args: Any, **options: Any) -> Any:
        return run_cell(raw_cell, False, *args, **options)

    def ask_exit() -> None:
        raise RuntimeError("the user's kernel is not ended from here")

    with _instead(shell, run_cell=run, ask_exit=ask_exit):
        try:
            yield
        finally:
            for name in _NAMES:
                # IPython stops keeping values in a name that is not as it left it, e.g. after "for _ in …".
                shell.user_ns.pop(name, None)
            shell.user_ns.update(before)
            for number in set(history or ()) - numbers:
                del history[number]


@contextlib.contextmanager
def _instead(thing: Any, **methods: Any) -> Iterator[None]:
    own = {name: thing.__dict__[name] for name in methods if name in thing.__dict__}
    for name, method in methods.items():
        setattr(thing, name, method)
    try:
        yield
    finally:
        for name in methods:
            if name in own:
                setattr(thing, name, own[name])
            else:
                delattr(thing, name)
