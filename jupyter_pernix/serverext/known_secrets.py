"""Values that this server knows to be secret: keys of endpoints, its own token, what its environment holds under a secret's name."""

from collections.abc import Callable, Iterable, Mapping

KnownSecrets = Callable[[], Iterable[str]]
"""The values as they are now; endpoints come and go."""


def from_environment(environ: Mapping[str, str]) -> set[str]:
    """Values of variables whose names say that they are secret."""
    # Imported here: the start of the server does not need it.
    from ..masking import is_secret_name

    # a path or a number under such a name tells nothing, and may stand anywhere
    return {
        value
        for name, value in environ.items()
        if is_secret_name(name) and not value.startswith(("/", "./", "~")) and not value.isdigit()
    }
