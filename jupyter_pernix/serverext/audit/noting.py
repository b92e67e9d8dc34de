"""What is audited and belongs to no session: the user's rules and endpoints as they are changed by way of the server."""

import logging
from collections.abc import Callable
from typing import Any, Literal

from ...errors import StoreError
from ...records import ConsentChange, PermissionChange
from ..store import EventStore
from .guards import Digests

log = logging.getLogger(__name__)

NOTED = (
    "rule.saved",
    "rule.removed",
    "consent.given",
    "consent.taken",
    "endpoint.added",
    "endpoint.removed",
    "endpoint.chosen",
)
"""The kinds of their lines."""


async def note_rule(
    store: EventStore, done: Literal["rule.saved", "rule.removed"], change: PermissionChange, *, by: str
) -> None:
    await _note(
        store,
        done,
        lambda digests: {
            "session": digests.id(change.session_id),
            "rule": digests.rule(change.rule),
            "deny": change.deny,
            "everywhere": change.everywhere,
            "by": digests.word(by),
        },
    )


async def note_consent(
    store: EventStore, done: Literal["consent.given", "consent.taken"], change: ConsentChange, *, by: str
) -> None:
    await _note(
        store,
        done,
        lambda digests: {
            "session": digests.id(change.session_id),
            "digest": digests.sha256(change.digest),
            "by": digests.word(by),
        },
    )


async def note_endpoint(
    store: EventStore, done: Literal["endpoint.added", "endpoint.removed", "endpoint.chosen"], name: str, *, by: str
) -> None:
    await _note(store, done, lambda digests: {"endpoint": digests.word(name), "by": digests.word(by)})


async def _note(store: EventStore, kind: str, facts: Callable[[Digests], dict[str, Any]]) -> None:
    """It is done already: an audit that cannot have it does not undo it."""
    try:
        await store.note_audit(kind, facts)
    except StoreError:
        log.exception("%s could not be audited", kind)
