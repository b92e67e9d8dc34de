"""Tables of words, written as text."""


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
