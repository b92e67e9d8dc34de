"""A world around a sandbox: a space to write in, a home with a key, somebody who listens, and kernels behind the wall."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.kernel.sandbox import Limits, Wall, kept_in, why_not

from ..conftest import Cells, kernel_environ

KEY = "PRIVATE-KEY-OF-THE-USER"


@pytest.fixture(autouse=True)
def works() -> None:
    """Where the sandbox cannot work, ``test_probe`` says whether it should."""
    if why_not():
        pytest.skip(why_not())


class Canary:
    """Listens on the host; ``hits`` are the connections it got."""

    def __init__(self) -> None:
        self.hits: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.5)
                try:
                    self.hits.append(connection.recv(1000))
                    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nhere")
                except OSError:
                    self.hits.append(b"")

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


@dataclass
class World:
    folder: Path
    kernels: Kernels
    wall: Wall
    secret_files: dict[str, Path] = field(default_factory=dict[str, Path])

    @property
    def space(self) -> Path:
        return self.wall.scope

    async def kernel(self, name: str = "python3", *, environ: dict[str, str] | None = None, **changes: object) -> Cells:
        def side_file(name: str) -> tuple[Path, str]:
            return self.folder / "side" / name, f"side/{name}"

        wall = replace(self.wall, **changes)  # pyright: ignore[reportArgumentType] - a field of Wall
        return Cells(
            await self.kernels.start(name, self.space, environ or kernel_environ(), wall=wall, side_file=side_file)
        )


def built_world(folder: Path) -> World:
    folder = folder.resolve()
    home = folder / "home"
    for name in ("space", "temporary", "home/.ssh", "outside"):
        (folder / name).mkdir(parents=True)
    secrets = {"key": home / ".ssh" / "id_rsa", "outside": folder / "outside" / "private.txt"}
    for path in secrets.values():
        path.write_text(KEY)
    wall = Wall(
        scope=folder / "space",
        temporary=folder / "temporary",
        home=home,
        kept=kept_in(folder / "space"),
        limits=Limits(memory=600 * 2**20, processes=150),
    )
    return World(folder, Kernels(own_manager(), interrupt_grace=2.0), wall, secrets)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = built_world(tmp_path)
    yield world
    await world.kernels.aclose()


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[World, Cells]]:
    """One kernel for what neither ends it nor minds what ran before."""
    if why_not():
        pytest.skip(why_not())
    world = built_world(tmp_path_factory.mktemp("sandbox"))
    yield world, await world.kernel()
    await world.kernels.aclose()
