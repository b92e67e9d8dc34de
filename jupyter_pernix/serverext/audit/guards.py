"""What of a text may stand in the audit: names and numbers as they are, everything else as a keyed digest. Pure.

A digest is made with a key that only the store has: who has the audit alone cannot try out short texts until one fits.
"""

import builtins
import hashlib
import re
from functools import cache, lru_cache
from typing import Any

_WORD = re.compile(r"[A-Za-z0-9_.:/@+-]{1,80}", re.ASCII)
_RULE_WORDS = re.compile(r"[A-Za-z][\w.+-]{0,39}(?: [A-Za-z][\w.+-]{0,39}){0,3}", re.ASCII)
_RULE_NAME = re.compile(r"[a-z_]{1,30}(?::[a-z_]{1,30}){0,3}")
_RULE_KIND = re.compile(r"([a-z_]{1,20}):")
_PATH = re.compile(r"[\w./ +@()~-]{1,300}")
_HEX = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID = re.compile(r"[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}")
_DENSE = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}")
"""A run of letters and digits in which a key could stand."""

TOOLS = frozenset(
    {
        "delegate",
        "edit_file",
        "edit_notebook",
        "finish",
        "inspect_variables",
        "list_files",
        "read_file",
        "read_notebook",
        "run_cells",
        "run_code",
        "run_shell",
        "search_files",
        "use_tool",
        "write_file",
    }
)
"""The agent's tools. What else a model calls is text that it wrote."""

_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt", "Exit")))


class Digests:
    """Keyed digests: 32 hex digits behind a ``~``."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, text: str) -> str:
        return "~" + hashlib.blake2b(text.encode("utf-8", "replace"), key=self._key, digest_size=16).hexdigest()

    def id(self, value: Any) -> Any:
        """An id that this program made."""
        return value if isinstance(value, str) and _ID.fullmatch(value) else self.word(value)

    def word(self, value: Any) -> Any:
        """A name that a program gave: of a tool, a model, an endpoint, a face. Anything that is more than a name becomes a digest."""
        if not isinstance(value, str) or not value:
            return None
        return value if _WORD.fullmatch(value) and not _suspicious(value) else self.of(value)

    def tool(self, value: Any) -> Any:
        return self._one_of(TOOLS, value)

    def error(self, value: Any) -> Any:
        """The name of an exception's class: one of Python's own, or a digest, since code can give its own any name."""
        return self._one_of(_ERRORS, value)

    def _one_of(self, names: frozenset[str], value: Any) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        return value if value in names else self.of(value)

    def sha256(self, value: Any) -> Any:
        """A digest that the event has already, of a file's content or a commit."""
        if not isinstance(value, str) or not value:
            return None
        return value if _HEX.fullmatch(value) else self.of(value)

    def identity(self, value: Any) -> Any:
        """A UUID, as of a kernel."""
        if not isinstance(value, str) or not value:
            return None
        return value if _UUID.fullmatch(value) else self.of(value)

    def path(self, value: Any) -> Any:
        """A path below the space, or below the server's root; a digest where it is absolute, has odd characters, or could hold a key."""
        if not isinstance(value, str) or not value:
            return None
        if value.startswith(("/", "~")) or not _PATH.fullmatch(value) or _suspicious(value):
            return self.of(value)
        return value

    def rule(self, value: Any) -> Any:
        """The name of a rule: words without options, or its kind and a digest of the rest."""
        if not isinstance(value, str) or not value:
            return None
        if value == ">" or _RULE_NAME.fullmatch(value):
            return value
        if _RULE_WORDS.fullmatch(value) and not _suspicious(value):
            return value
        kind = _RULE_KIND.match(value)
        if kind is None:
            return self.of(value)
        rest = value[kind.end() :]
        if kind[1] in ("saved", "session"):
            return f"{kind[1]}:{' + '.join(self.rule(one) or '' for one in _several(rest))}"
        if kind[1] == "tool" and _RULE_WORDS.fullmatch(rest) and not _suspicious(rest):
            return value
        return f"{kind[1]}:{self.of(rest)}"

    def rules(self, values: Any) -> list[Any] | None:
        return [self.rule(one) for one in values] or None if isinstance(values, list) else None  # type: ignore[misc]


def _several(rules: str) -> list[str]:
    """Rules with `` + `` between them; a whole line is the last one, since it may hold anything."""
    before, line, exact = rules.partition("exact:")
    return [*(one for one in before.split(" + ") if one), *([line + exact] if line else [])]


@lru_cache(4096)
def _suspicious(text: str) -> bool:
    """Whether it could hold a secret. The same few names come again and again."""
    return _DENSE.search(text) is not None or (len(text) >= 8 and _masker().text(text) != text)


@cache
def _masker() -> Any:
    # Imported here: the start of the server does not need it.
    from ...masking import Masker

    return Masker()
