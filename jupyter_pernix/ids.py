"""Identifiers: who they name, and how a new one is made.

An id is ``<prefix>_<26 characters>``: 48 bits of milliseconds and 80 random bits in Crockford base32, so ids of one kind sort
by creation time and may stand in URLs, file names and cell metadata unquoted.
"""

import secrets
import time
from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
StepId = NewType("StepId", str)
CallId = NewType("CallId", str)
ApprovalId = NewType("ApprovalId", str)
ExecutionId = NewType("ExecutionId", str)
InputId = NewType("InputId", str)
ChangeId = NewType("ChangeId", str)
UndoId = NewType("UndoId", str)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_SHIFTS = range(120, -1, -10)


def _token() -> str:
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def new_session_id() -> SessionId:
    return SessionId(f"ses_{_token()}")


def new_turn_id() -> TurnId:
    return TurnId(f"trn_{_token()}")


def new_step_id() -> StepId:
    return StepId(f"stp_{_token()}")


def new_call_id() -> CallId:
    return CallId(f"cal_{_token()}")


def new_approval_id() -> ApprovalId:
    return ApprovalId(f"apr_{_token()}")


def new_execution_id() -> ExecutionId:
    return ExecutionId(f"exe_{_token()}")


def new_input_id() -> InputId:
    return InputId(f"inp_{_token()}")


def new_change_id() -> ChangeId:
    return ChangeId(f"chg_{_token()}")


def new_undo_id() -> UndoId:
    return UndoId(f"und_{_token()}")
