"""One command as a process: its own session and group, no terminal, closed input, output read in order into bounded memory.

The call ends when the command does, whatever holds its pipe; what it left running is ended with it. If this process is killed, a
watch beside the command (``keeper.py``) ends it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread
from anyio.abc import Process

from ...masking import BytePieces, Masker
from .keeper import GRACE, MARK, alive, holders, send

_CHUNK = 65536
_HEAD = 100_000
_TAIL = 400_000
_LARGEST_FILE = 50_000_000
_DRAIN = 1.0
_LAST_WORDS = 0.5
_LOOK_AGAIN = 0.2


class Sink(Protocol):
    """Takes output as it comes."""

    async def add(self, chunk: bytes) -> None: ...


@dataclass(kw_only=True)
class Output:
    """What came so far: the start and the end in memory, all of it (up to 50 MB) in ``spill`` once it is too long for that, there
    without its secrets. Call ``end`` once nothing more comes."""

    spill: Path
    masker: Masker
    size: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _spilled: bool = False
    _masked: BytePieces | None = None

    async def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if not self._spilled and self.size <= _HEAD:
            self._head += chunk
            return
        if not self._spilled:
            self._spilled, self._masked = True, BytePieces(self.masker)
            await anyio.to_thread.run_sync(self._write, bytes(self._head), "wb")
        if self.size <= _LARGEST_FILE:
            await anyio.to_thread.run_sync(self._write, chunk, "ab")
        self._tail += chunk
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    async def end(self) -> None:
        """Write down what was held back."""
        if self._masked is not None:
            await anyio.to_thread.run_sync(self._append, self._masked.rest())
            self._masked = None

    @property
    def spilled(self) -> bool:
        """``spill`` is there and ``text`` is not all."""
        return self._spilled

    def text(self) -> str:
        missing = self.size - len(self._head) - len(self._tail)
        note = f"\n[… {missing:,} bytes are only in the full output …]\n".encode() if missing else b""
        return (bytes(self._head) + note + bytes(self._tail)).decode("utf-8", errors="replace")

    def _write(self, chunk: bytes, mode: str) -> None:
        assert self._masked is not None
        self.spill.parent.mkdir(parents=True, exist_ok=True)
        with self.spill.open(mode) as file:
            file.write(self._masked.add(chunk))

    def _append(self, rest: bytes) -> None:
        with self.spill.open("ab") as file:
            file.write(rest)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """``exit_code`` ``None``: it ran into its deadline. ``left``: processes that it left running and that were ended."""

    exit_code: int | None
    left: int


async def run_process(
    arguments: list[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    mark: str,
    deadline: float,
    output: Sink,
    errors: Sink | None = None,
    stdin: int = subprocess.DEVNULL,
) -> Ended:
    """Run to the end or the deadline. Cancelled or too late, everything that was started is ended before this returns. ``errors`` takes
    the error output, ``None``: ``output`` does, in order. ``stdin``: a descriptor of a file to read from.

    :raises OSError: if it cannot be started
    """
    with _Pipe() as pipe, _Pipe() as other:
        async with _watched(env, mark) as watch:
            process = await anyio.open_process(
                arguments,
                stdin=stdin,
                stdout=pipe.write_end,
                stderr=pipe.write_end if errors is None else other.write_end,
                cwd=cwd,
                env={**env, MARK: mark},
                start_new_session=True,
            )
            pipe.close_write_end()
            other.close_write_end()
            try:
                await watch(process.pid)
                sinks = {pipe.read_end: output} if errors is None else {pipe.read_end: output, other.read_end: errors}
                return await _follow(process, sinks, mark=mark, deadline=deadline)
            finally:
                with anyio.CancelScope(shield=True):
                    await _end_all(process.pid, mark, patience=0.0)
                    await process.wait()
                    await process.aclose()


@asynccontextmanager
async def _watched(env: Mapping[str, str], mark: str) -> AsyncGenerator[Callable[[int], Awaitable[None]]]:
    """While the context is open, the end of this process is the end of the call. Tell it the command's process group."""
    keeper = await anyio.open_process(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
    held = keeper.stdin
    assert held is not None

    async def tell(group: int) -> None:
        with suppress(anyio.BrokenResourceError):
            await held.send(f"{group}\n".encode())

    try:
        yield tell
    finally:
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                keeper.kill()
            await keeper.wait()
            await keeper.aclose()


async def _follow(process: Process, sinks: Mapping[int, Sink], *, mark: str, deadline: float) -> Ended:
    """``sinks``: what takes it, by the reading end of its pipe."""
    exit_code: int | None = None
    left = 0
    drained = {read_end: anyio.Event() for read_end in sinks}
    async with anyio.create_task_group() as group:
        for read_end, sink in sinks.items():
            group.start_soon(_read, read_end, sink, drained[read_end])
        with anyio.move_on_after(deadline):
            exit_code = await process.wait()
        # a shell that has ended may have writers that are about to end too (``> >(tee log)``): a moment for them
        left = await _end_all(process.pid, mark, patience=_LAST_WORDS if exit_code is not None else 0.0)
        for read_end, done in drained.items():
            with anyio.move_on_after(_DRAIN):
                await done.wait()
            if not done.is_set():
                left += await _end_holders(os.fstat(read_end).st_ino)
                with anyio.move_on_after(_DRAIN):
                    await done.wait()
        group.cancel_scope.cancel()
    return Ended(exit_code=exit_code, left=left if exit_code is not None else 0)


async def _read(read_end: int, output: Sink, drained: anyio.Event) -> None:
    while True:
        await anyio.wait_readable(read_end)
        try:
            chunk = os.read(read_end, _CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            drained.set()
            return
        await output.add(chunk)


class _Pipe:
    """A pipe of our own: the event loop's would make waiting for the process wait for whoever holds the pipe."""

    def __enter__(self) -> "_Pipe":
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self._writable = True
        return self

    def close_write_end(self) -> None:
        if self._writable:
            self._writable = False
            os.close(self.write_end)

    def __exit__(self, *exc: object) -> None:
        self.close_write_end()
        os.close(self.read_end)


async def _end_all(group: int, mark: str, *, patience: float) -> int:
    """End what lives of the call: first by TERM, then by KILL. The answer is how many there were after ``patience`` seconds."""
    found = await _wait_gone(group, mark, patience)
    if not found:
        return 0
    send(group, found, signal.SIGTERM)
    left = await _wait_gone(group, mark, GRACE)
    if left:
        send(group, left, signal.SIGKILL)
        await _wait_gone(group, mark, GRACE)
    return len(found)


async def _end_holders(pipe: int) -> int:
    """End what still holds the output and could not be found otherwise; the answer is how many there were. Only what holds it twice
    in a row: a process that is just being started somewhere else has for a moment all files of its parent."""
    found = await anyio.to_thread.run_sync(holders, pipe)
    await anyio.sleep(_LOOK_AGAIN)
    found &= await anyio.to_thread.run_sync(holders, pipe)
    for number in (signal.SIGTERM, signal.SIGKILL):
        send(0, found & await anyio.to_thread.run_sync(holders, pipe), number)
        await anyio.sleep(_LOOK_AGAIN)
    return len(found)


async def _wait_gone(group: int, mark: str, seconds: float) -> set[int]:
    """Processes of the call that still live after at most ``seconds``."""
    until = anyio.current_time() + seconds
    while True:
        living = await anyio.to_thread.run_sync(alive, group, mark)
        if not living or anyio.current_time() >= until:
            return living
        await anyio.sleep(0.02)
