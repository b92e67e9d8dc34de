"""What runs inside the user's kernel: ``%load_ext jupyter_pernix``. Quick to import: the standard library, IPython and our client."""

from typing import Any

from .magics import PernixMagics

__all__ = ["load"]


def load(shell: Any) -> None:
    """Register the magics in this shell; loading twice keeps what the first has."""
    if any(isinstance(magics, PernixMagics) for magics in shell.magics_manager.registry.values()):
        return
    magics = PernixMagics(shell)
    shell.register_magics(magics)
    shell.events.register("post_run_cell", magics.saw)
    for prefix in ("%pernix", "%%pernix"):
        shell.set_hook("complete_command", magics.complete, str_key=prefix)
