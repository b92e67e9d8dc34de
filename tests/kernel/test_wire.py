"""Messages as the library sends them, and what of them is refused."""

import json

import pytest
from jupyter_client.session import Session

from jupyter_pernix.kernel.wire import _DIGESTS, Message, Wire

KEY = b"secret"


def ends(key: bytes = KEY, scheme: str = "hmac-sha256") -> tuple[Session, Wire]:
    """The kernel's end, by the library, and ours."""
    kernel = Session(key=key, signature_scheme=scheme)
    return kernel, Wire(kernel)


def sent(kernel: Session, kind: str, content: dict[str, object], parent: dict[str, str] | None = None) -> list[bytes]:
    message = kernel.msg(kind, content, parent={"header": parent} if parent else None)
    return [b"topic", *kernel.serialize(message), b"buffer"]


def signed(kernel: Session, *parts: bytes) -> list[bytes]:
    return [b"<IDS|MSG>", kernel.sign(list(parts)), *parts]


def read(wire: Wire, frames: list[bytes]) -> Message:
    message = wire.read(frames)
    assert message is not None
    return message


@pytest.mark.parametrize("scheme", ["hmac-sha256", "hmac-sha512"])
@pytest.mark.parametrize("key", [KEY, b""])
def test_both_ends_understand_each_other(key: bytes, scheme: str):
    kernel, wire = ends(key, scheme)
    request_id, frames = wire.request("execute_request", {"code": "é = 1"}, subshell_id="s")
    identities, parts = kernel.feed_identities(frames)
    request = kernel.deserialize(parts)
    assert (identities, request["content"], request["msg_type"]) == ([], {"code": "é = 1"}, "execute_request")
    assert (request["header"]["msg_id"], request["header"]["subshell_id"]) == (request_id, "s")
    assert request["header"]["session"].encode() == wire.identity
    message = read(wire, sent(kernel, "stream", {"text": "é"}, request["header"]))
    assert (message.type, message.content, list(message.buffers)) == ("stream", {"text": "é"}, [b"buffer"])
    assert (message.parent_id, message.parent_type) == (request_id, "execute_request")
    assert message.parent["subshell_id"] == "s"


def test_requests_differ():
    _, wire = ends()
    assert wire.request("a", {})[0] != wire.request("a", {})[0]
    assert wire.request("a", {})[0] != ends()[1].request("a", {})[0]


def test_what_was_signed_with_another_key_or_changed_or_not_signed_is_refused():
    _, wire = ends()
    assert wire.read(sent(Session(key=b"other"), "status", {})) is None
    kernel, wire = ends()
    frames = sent(kernel, "status", {"execution_state": "idle"})
    for index in range(2, 7):
        changed = [*frames[:index], frames[index] + b" ", *frames[index + 1 :]]
        assert wire.read(changed) is None
    assert wire.read([*frames[:2], b"", *frames[3:]]) is None
    assert wire.read(frames) is not None


def test_a_message_that_came_before_is_refused():
    kernel, wire = ends()
    first = sent(kernel, "status", {})
    read(wire, first)
    for _ in range(_DIGESTS - 1):
        read(wire, sent(kernel, "status", {}))
    assert wire.read(first) is None
    read(wire, sent(kernel, "status", {}))
    assert len(wire._seen) == _DIGESTS


@pytest.mark.parametrize("frames", [[], [b"x"], [b"<IDS|MSG>", b"", b"{}"], [b"<IDS|MSG>", b"", b"{", b"", b"", b""]])
def test_what_is_malformed_is_refused(frames: list[bytes]):
    assert ends()[1].read(frames) is None
    assert ends(b"")[1].read(frames) is None


def test_json_that_only_python_reads_is_read():
    kernel, wire = ends()
    header = json.dumps(kernel.msg_header("display_data"), default=str).encode()
    content = b'{"nan": NaN, "lone": "\\udcff", "big": 1e400, "latin": "\xe9"}'
    message = read(wire, signed(kernel, header, b"null", b"{}", content))
    assert (str(message.content["nan"]), message.content["lone"]) == ("nan", "\udcff")
    assert (message.content["big"], message.content["latin"], message.parent_id) == (float("inf"), "\ufffd", "")
    odd = header.replace(b'"username": "', b'"username": "\\udcff')
    assert read(wire, signed(kernel, odd, header, b"{}", b"[1]")).content == {}


def test_a_kernel_of_protocol_4_is_understood():
    kernel, wire = ends()
    header = json.dumps({"msg_id": "1", "msg_type": "pyout", "username": "", "session": ""}).encode()
    parent = json.dumps({"msg_id": "2", "msg_type": "execute_request"}).encode()
    message = read(wire, signed(kernel, header, parent, b"{}", b'{"data": {"text/plain": "3"}, "execution_count": 1}'))
    assert (message.type, message.parent_id, message.parent_type) == ("execute_result", "2", "execute_request")
    assert message.content["data"] == {"text/plain": "3"}
