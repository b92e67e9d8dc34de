import httpx
import pytest

from jupyter_pernix.agent.model.http import from_httpx, is_loopback, new_client, place
from jupyter_pernix.errors import EndpointFailed, EndpointUnreachable, StreamBroken


def all_errors(base: type[httpx.HTTPError] = httpx.HTTPError) -> list[type[httpx.HTTPError]]:
    return [found for child in base.__subclasses__() for found in (child, *all_errors(child))]


def made(kind: type[httpx.HTTPError]) -> httpx.HTTPError:
    request = httpx.Request("POST", "http://127.0.0.1/v1")
    if kind is httpx.HTTPStatusError:
        return httpx.HTTPStatusError("status", request=request, response=httpx.Response(500, request=request))
    return kind("what happened sk-abcdefgh")


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("started", [False, True])
def test_each_error_of_httpx_has_its_error_of_ours(kind: type[httpx.HTTPError], started: bool) -> None:
    error = from_httpx(made(kind), "http://127.0.0.1/v1", started=started)
    assert type(error) in (EndpointUnreachable, EndpointFailed, StreamBroken)
    assert "sk-" not in str(error)


def test_a_read_error_is_a_broken_stream_only_after_the_answer_began() -> None:
    error = httpx.ReadError("gone")
    assert type(from_httpx(error, "http://h/v1", started=True)) is StreamBroken
    assert type(from_httpx(error, "http://h/v1", started=False)) is EndpointUnreachable


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://model.localhost/v1", True),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost.example.org/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
async def test_proxies_are_for_other_machines_only(url: str, own: bool) -> None:
    assert is_loopback(url) is own
    async with new_client(url, key="", connect=1) as client:
        assert client.trust_env is not own


def test_a_shown_address_has_neither_password_nor_query() -> None:
    assert place("https://user:secret@host:8443/v1?key=1") == "https://host:8443/v1"
