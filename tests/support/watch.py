"""Waiting for facts in a session's log."""

from jupyter_pernix.client import Client
from jupyter_pernix.records import JSON


def wait_finished(client: Client, session_id: str, turn_id: str) -> JSON:
    """The turn's ``turn.finished`` event; the test's own timeout bounds the wait."""
    return wait_event(client, session_id, "turn.finished", turn_id=turn_id)


def wait_event(client: Client, session_id: str, kind: str, **fields: object) -> JSON:
    """The first stored event of this type in the session, past or to come, whose fields have these values."""
    for message in client.events(0, session_id):
        wanted = {"type": kind, **fields}
        if message.kind == "pernix" and wanted.items() <= message.data.items():
            return message.data
    raise AssertionError(f"the stream ended before {kind}")
