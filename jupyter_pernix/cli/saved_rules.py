"""Where the user's rules are, for the command line."""

from pathlib import Path

from ..agent.policy.rules_file import FOLDER, RulesFile
from . import config


def saved_rules(space: Path | None, *, home: str = "") -> RulesFile:
    """``space`` ``None``: only those for all spaces."""
    # Imported here: doctor must be able to say that it is missing.
    from jupyter_core.paths import jupyter_config_dir

    return RulesFile(Path(jupyter_config_dir()) / "pernix" / FOLDER, space, home=home)


def deny_of_settings(root: Path) -> tuple[str, ...]:
    """The deny rules that the settings hold for every session of a server started in ``root``.

    :raises ConfigError: if a setting is wrong
    """
    return tuple(config.local(root).settings.permissions.deny)
