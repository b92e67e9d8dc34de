"""Watches what a model writes: text that repeats without end, and a reply that ends by announcing what it has not done. Pure."""

import re

_PROMISE = re.compile(
    r"(?:^|[.!?:]\s+|\n\s*)(?:(?:now|next|first|ok|okay|so|then)[,:]?\s+)?"
    r"(?:let me(?! know)|let's|i(?:'|’)ll|i will|i am going to|i(?:'|’)m going to)\b(?:[^.!?\n]|\.(?=\w)){3,160}[.:!…]*\s*\Z",
    re.IGNORECASE,
)
_PROMISE_DE = re.compile(
    r"(?:^|[.!?:]\s+|\n\s*)(?:(?:jetzt|nun|dann|als nächstes|zuerst)\s+)?"
    r"(?:ich werde|werde ich|lass mich|lassen sie mich|ich\s+\w+e\s+(?:jetzt|nun|gleich|dann|zuerst|als nächstes)|"
    r"(?:jetzt|nun|als nächstes|zuerst)\s+\w+e\s+ich)\b(?:[^.!?\n]|\.(?=\w)){3,160}[.:!…]*\s*\Z",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:if you|once you|when you|wenn (?:du|sie)|sobald (?:du|sie)|unless|until you)\b", re.IGNORECASE
)


def promises(text: str) -> bool:
    """Whether a reply ends by announcing an action instead of having done it or answering. An offer that depends on the user
    ("if you like, I will …") is none."""
    found = _PROMISE.search(text[-400:]) or _PROMISE_DE.search(text[-400:])
    return found is not None and _OFFER.search(found[0]) is None


class Repetition:
    """Watches a stream for one block of text that repeats without end.

    ``window``: how many characters must be nothing else. Arguments get a longer one than answers: a file may well be uniform.
    """

    LONGEST_BLOCK = 200
    EVERY = 1000

    def __init__(self, window: int = 3000) -> None:
        self._window = window
        self._tail = ""
        self._unchecked = 0

    @property
    def surplus(self) -> int:
        """How many of the last characters say nothing new once they repeat."""
        return self._window - self.LONGEST_BLOCK

    def repeats(self, text: str) -> bool:
        """Take the next characters; true once the last ``window`` are one block of at most 200 characters, over and over."""
        self._tail = (self._tail + text)[-self._window :]
        self._unchecked += len(text)
        if self._unchecked < self.EVERY or len(self._tail) < self._window:
            return False
        self._unchecked = 0
        tail = self._tail
        return any(tail[size:] == tail[:-size] for size in range(1, self.LONGEST_BLOCK + 1))
