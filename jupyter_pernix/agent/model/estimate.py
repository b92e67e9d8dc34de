"""How many tokens some bytes are: guessed at first, then measured by what the endpoint says it counted. Pure."""

from ...records import Usage

FIRST_GUESS = 3.6
"""Bytes of a request's JSON for a token, before anything was measured: a little low, so that the guess is a little high."""
_FEWEST, _MOST = 1.0, 8.0
"""No tokenizer and no language is outside: a report that says so is about something else (cached tokens alone, zero, another model)."""
_SMALLEST = 400
"""Below so many bytes the template's own tokens outweigh the text."""
_WEIGHT = 0.3


class TokenEstimate:
    """Of one model. ``tokens`` never decreases when bytes increase."""

    def __init__(self) -> None:
        self._ratio = FIRST_GUESS
        self._measured = False

    @property
    def bytes_per_token(self) -> float:
        return self._ratio

    @property
    def measured(self) -> bool:
        """Whether the endpoint has ever said something usable."""
        return self._measured

    def tokens(self, size: int) -> int:
        """For ``size`` bytes of a request; rounded up."""
        return 0 if size <= 0 else int(-(-size // self._ratio))

    def size(self, tokens: int) -> int:
        """Bytes that fit into so many tokens."""
        return max(0, int(tokens * self._ratio))

    def observe(self, prompt_bytes: int, usage: Usage) -> None:
        """A request of ``prompt_bytes`` was reported as ``usage``. What cannot be the whole prompt is not believed."""
        counted = usage.prompt_tokens
        if not counted or counted < 0 or prompt_bytes < _SMALLEST:
            return
        told = self._told(prompt_bytes, counted, usage.cached_tokens or 0)
        if told is None:
            return
        self._ratio = told if not self._measured else (1 - _WEIGHT) * self._ratio + _WEIGHT * told
        self._measured = True

    def overflowed(self, prompt_bytes: int, limit: int) -> None:
        """The endpoint refused ``prompt_bytes`` as more than ``limit`` tokens: they are at least so many."""
        if limit > 0 and prompt_bytes >= _SMALLEST:
            self._ratio = max(_FEWEST, min(self._ratio, prompt_bytes / limit))

    def _told(self, prompt_bytes: int, counted: int, cached: int) -> float | None:
        """Bytes a token. Some servers report only what was not cached as the prompt, so both readings are looked at."""
        for tokens in (counted, counted + cached):
            ratio = prompt_bytes / tokens
            if _FEWEST <= ratio <= _MOST:
                return ratio
        return None
