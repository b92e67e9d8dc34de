"""Where the user's rules are, for the command line."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..agent.policy.rules_file import FOLDER, RulesFile
from . import config

if TYPE_CHECKING:
    from ..agent.policy.consents import Consents


def saved_rules(space: Path | None, *, home: str = "") -> RulesFile:
    """``space`` ``None``: only those for all spaces."""
    return RulesFile(_folder(), space, home=home)


def saved_consents(space: Path) -> "Consents":
    """Imported late: not every command has to do with them."""
    from ..agent.policy.consents import Consents

    return Consents(_folder(), space)


def _folder() -> Path:
    # Imported here: doctor must be able to say that it is missing.
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir()) / "pernix" / FOLDER


def deny_of_settings(root: Path) -> tuple[str, ...]:
    """The deny rules that the settings hold for every session of a server started in ``root``.

    :raises ConfigError: if a setting is wrong
    """
    return tuple(config.local(root).settings.permissions.deny)
