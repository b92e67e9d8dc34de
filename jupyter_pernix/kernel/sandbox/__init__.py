"""The sandbox: kernels and commands behind bubblewrap, which see their folder, a temporary one, programs, and nothing else of the machine.

``Wall`` says what they may do, ``walled`` is the command line, ``SandboxProvisioner`` starts kernels by it, ``why_not`` tells whether
this machine can do it.
"""

from .kept import KEPT_NAMES, kept_in
from .limits import Limits
from .probe import WallFailed, limits_here, why_not
from .provisioner import SandboxProvisioner, speaks_unix_sockets
from .wall import Wall, walled

__all__ = [
    "KEPT_NAMES",
    "Limits",
    "SandboxProvisioner",
    "Wall",
    "WallFailed",
    "kept_in",
    "limits_here",
    "speaks_unix_sockets",
    "walled",
    "why_not",
]
