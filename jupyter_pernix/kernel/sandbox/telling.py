"""What ``doctor`` says of the sandbox."""

from ...records import Finding
from .limits import Limits
from .probe import limits_missing, look_again, why_not


def finding(*, wanted: bool, limits: Limits) -> Finding:
    """Looks anew, by starting one. ``wanted``: new sessions are in the sandbox. Blocking."""
    look_again()
    why = why_not()
    if why:
        return Finding(
            name="sandbox",
            status="problem" if wanted else "warning",
            detail="it does not work here; sessions run with your rights"
            + (", and those that are to be in the sandbox run nothing" if wanted else ""),
            hint=why,
        )
    missing = limits_missing(limits)
    return Finding(
        name="sandbox",
        status="ok",
        detail="; ".join(("it works here; " + ("new sessions are in it" if wanted else "off by default"), *missing)),
    )
