"""Variables of the environment: which of them later commands obey, and which are likely to be secrets."""

import re

from .found import Found

_HEAVY_VARIABLES = re.compile(
    r"(?i)\A(?:path|ld_\w+|dyld_\w+|python\w*|bash_env|env|prompt_command|ps4|ifs|shell|home|pager|\w*_pager|editor|visual|git_\w+|"
    r"\w*_options|\w*opt|\w*_proxy|browser|ssh_\w+|pip_\w+|npm_\w+|node_\w+|ruby\w+|perl\w+|jupyter\w*|ipython\w*|pernix\w*)\Z"
)
_SECRET_VARIABLE = re.compile(r"(?i)key|token|secret|passw|credential|auth|cookie|private")
WHOLE_ENVIRONMENT = "this reads the whole environment, where secrets may be"


def change_variable(name: str | None, found: Found) -> None:
    """``None``: which one cannot be known."""
    heavy = name is not None and _HEAVY_VARIABLES.match(name) is not None
    found.see(
        "changes_env",
        why=f"this changes {name}, by which later commands mean something else" if heavy else "",
        grave=heavy,
    )


def read_variable(name: str | None, found: Found) -> None:
    """``None``: all of them, or one that cannot be known."""
    secret = name is not None and _SECRET_VARIABLE.search(name) is not None
    found.see("reads_env", why=f"this reads {name}, which may be a secret" if secret else "", grave=secret)
