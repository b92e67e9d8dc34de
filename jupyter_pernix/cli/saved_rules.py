"""Where the user's saved rules are, for the command line."""

from pathlib import Path

from ..agent.policy.rules_file import FOLDER, RulesFile


def saved_rules(space: Path | None, *, home: str = "") -> RulesFile:
    """``space`` ``None``: only those for all spaces."""
    # Imported here: doctor must be able to say that it is missing.
    from jupyter_core.paths import jupyter_config_dir

    return RulesFile(Path(jupyter_config_dir()) / "pernix" / FOLDER, space, home=home)
