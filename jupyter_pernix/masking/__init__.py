"""Secrets in what tools, kernels and endpoints bring back: masked at one point, before the model, the page, the log and the disk. Pure.

``Masker`` knows what a secret is; ``masked_event`` applies it to a fact before it is stored or told; ``Pieces`` and ``OutputPieces`` to
what comes in pieces.
"""

from .facts import masked_event
from .masker import Masker, is_secret_name
from .pieces import BytePieces, OutputPieces, Pieces
from .shapes import MARK, has_mark

__all__ = ["MARK", "BytePieces", "Masker", "OutputPieces", "Pieces", "has_mark", "is_secret_name", "masked_event"]
