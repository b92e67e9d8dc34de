"""The sandbox: kernels and commands behind bubblewrap, which see their folder, a temporary one, programs, and nothing else of the machine.

``Wall`` says what they may do, ``behind`` is the command line, ``why_not`` tells whether this machine can do it. ``provisioner.py``, which
needs Jupyter's client, starts kernels so.
"""

from .kept import KEPT_NAMES, kept_in
from .limits import NO_GROUP, Group, Limits
from .probe import WallFailed, behind, limited_by, limits_missing, look_again, why_not
from .telling import finding
from .wall import Wall, refusal

__all__ = [
    "KEPT_NAMES",
    "NO_GROUP",
    "Group",
    "Limits",
    "Wall",
    "WallFailed",
    "behind",
    "finding",
    "kept_in",
    "limited_by",
    "limits_missing",
    "look_again",
    "refusal",
    "why_not",
]
