"""Messages of the Jupyter protocol as they lie on a socket: signed parts, each of them JSON.

Like the library's ``Session``, without what nobody here needs of it: dates are left as they are, and a part is read when it is wanted.
"""

import hmac
import json
import os
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import msgspec
from jupyter_client._version import protocol_version
from jupyter_client.adapter import adapt
from jupyter_client.session import Session

from ..records import JSON

_DELIMITER = b"<IDS|MSG>"
_DIGESTS = 4_000
"""Messages that are remembered so that none can be replayed."""


class _Header(msgspec.Struct):
    msg_id: str = ""
    msg_type: str = ""
    version: str = ""


_HEADER = msgspec.json.Decoder(_Header)
_ANYTHING = msgspec.json.Decoder()


class Message(msgspec.Struct, kw_only=True):
    """``parent_id``: the request that this belongs to, "" if none; ``parent_type``: what kind of request that is."""

    type: str
    parent_id: str
    content: JSON
    parent_type: str = ""
    raw_parent: bytes = b"{}"
    buffers: Sequence[bytes] = ()

    @property
    def parent(self) -> JSON:
        """The whole header of the request that this belongs to."""
        return _object(self.raw_parent)


class Wire:
    """One end of the conversation with a kernel, with a session id of its own: ends that share one take each other's replies."""

    def __init__(self, session: Session) -> None:
        """``session``: the kernel's, of which key and signature scheme are taken; an empty key signs and checks nothing."""
        self.session_id = uuid4().hex
        scheme = session.signature_scheme.removeprefix("hmac-")
        self._signer = hmac.new(session.key, digestmod=scheme) if session.key else None
        self._username = session.username
        self._count = 0
        self._seen: set[bytes] = set()
        self._seen_in_order: deque[bytes] = deque()

    @property
    def identity(self) -> bytes:
        """For the sockets."""
        return self.session_id.encode()

    def request(self, kind: str, content: JSON, **header: str) -> tuple[str, list[bytes]]:
        """The id of a new message and its parts. ``header``: added to its header."""
        self._count += 1
        request_id = f"{self.session_id}_{os.getpid()}_{self._count}"
        whole = {
            "msg_id": request_id,
            "msg_type": kind,
            "username": self._username,
            "session": self.session_id,
            "date": datetime.now(UTC),
            "version": protocol_version,
            **header,
        }
        parts = [msgspec.json.encode(whole), b"{}", b"{}", msgspec.json.encode(content)]
        return request_id, [_DELIMITER, self._sign(parts), *parts]

    def read(self, frames: list[bytes]) -> Message | None:
        """What was received; ``None`` when it is malformed, was not signed with the key or came before."""
        try:
            start = frames.index(_DELIMITER)
            signature, header, parent, metadata, content = parts = frames[start + 1 : start + 6]
            if not self._is_genuine(signature, parts[1:]):
                return None
            head, above = _header(header), _header(parent)
            if not head.version.startswith("5"):
                return _adapted(header, parent, metadata, content)
            return Message(
                type=head.msg_type,
                parent_id=above.msg_id,
                content=_object(content),
                parent_type=above.msg_type,
                raw_parent=parent,
                buffers=frames[start + 6 :],
            )
        except (ValueError, TypeError, KeyError):
            return None

    def _sign(self, parts: list[bytes]) -> bytes:
        if self._signer is None:
            return b""
        signer = self._signer.copy()
        for part in parts:
            signer.update(part)
        return signer.hexdigest().encode()

    def _is_genuine(self, signature: bytes, parts: list[bytes]) -> bool:
        if self._signer is None:
            return True
        if signature in self._seen or not hmac.compare_digest(signature, self._sign(parts)):
            return False
        self._seen.add(signature)
        self._seen_in_order.append(signature)
        if len(self._seen_in_order) > _DIGESTS:
            self._seen.remove(self._seen_in_order.popleft())
        return True


def _header(part: bytes) -> _Header:
    try:
        return _HEADER.decode(part)
    except msgspec.DecodeError:
        return _Header(
            **{key: value for key, value in _object(part).items() if key in _Header.__struct_fields__ and value}
        )


def _object(part: bytes) -> JSON:
    """A JSON object; of anything else, an empty one."""
    try:
        value: Any = _ANYTHING.decode(part)
    except msgspec.DecodeError:  # NaN, lone surrogates and the like, which kernels do send
        value = json.loads(part.decode("utf-8", "replace"))
    return cast(JSON, value) if isinstance(value, dict) else {}


def _adapted(header: bytes, parent: bytes, metadata: bytes, content: bytes) -> Message:
    """Of a kernel that speaks the protocol's version 4."""
    head, above = _object(header), _object(parent)
    whole: dict[str, Any] = {
        "header": head,
        "msg_id": head["msg_id"],
        "msg_type": head["msg_type"],
        "parent_header": above,
        "metadata": _object(metadata),
        "content": _object(content),
    }
    new = adapt(whole)
    return Message(
        type=str(new.get("msg_type") or new["header"]["msg_type"]),
        parent_id=str(above.get("msg_id", "")),
        content=new["content"],
        parent_type=str(above.get("msg_type", "")),
        raw_parent=parent,
    )
