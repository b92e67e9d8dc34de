"""``%pernix`` and ``%%pernix``, as the shell knows them."""

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from .failures import Failures
from .words import HELP

if TYPE_CHECKING:
    from .talk import Talk


def _documented(function: Any) -> Any:
    """``%pernix?`` shows the help."""
    function.__doc__ = HELP
    return function


@magics_class
class PernixMagics(Magics):
    """One per kernel."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.failures = Failures()
        self._talk: Talk | None = None

    @property
    def talk(self) -> "Talk":
        if self._talk is None:
            # Imported here: most kernels that load the magics never ask anything.
            from .talk import Talk

            self._talk = Talk(self.shell, self.failures)
        return self._talk

    @property
    def session_id(self) -> str:
        """The session that this kernel's cells go on with; "" while there is none."""
        return "" if self._talk is None else self._talk.session_id

    @no_var_expand
    @line_cell_magic
    @_documented
    def pernix(self, line: str, cell: str | None = None) -> Any:
        return self.talk.magic(line, cell)

    def saw(self, result: Any) -> None:
        """For IPython's ``post_run_cell``."""
        if self._talk is None or not self._talk.active:
            self.failures.saw(result)

    def complete(self, shell: Any, event: Any) -> list[str]:
        """For Tab behind ``%pernix`` and ``%%pernix``."""
        # Imported here: only for whoever presses Tab.
        from .completion import completions

        return completions(self.talk, event.line)
