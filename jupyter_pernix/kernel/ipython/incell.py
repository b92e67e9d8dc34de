"""Runs the agent's code inside the cell that is running: the kernel is busy with that very cell, so nobody else can.

The code sees and changes the user's variables. What it shows appears under the cell and is recorded; the user's ``In``, ``Out``,
``_`` and execution count stay as they are.
"""

import asyncio
import contextlib
import contextvars
import io
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from ...client import JSON, Client
from ...errors import RequestFailed, ServerAway
from ..automagic import without_automagic
from .untouched import untouched

_SEND_SECONDS = 0.2
_GONE = (404, 409)
_POST_BYTES = 4_000_000


class InCell:
    """Runs one piece of code at a time in ``shell`` and tells the server about it."""

    def __init__(self, shell: Any, client: Client) -> None:
        self._shell = shell
        self._client = client
        self._lock = threading.Lock()
        self._running = ""
        self._ended_elsewhere = False

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def run(self, execution_id: str, code: str, *, on_interrupt: Callable[[], None] = lambda: None) -> JSON:
        """The outcome as the fields of an ``ExecutionResult``; it is posted before this returns, unless the server had given up
        on it. Status "cancelled" means that the user interrupted the cell; ``on_interrupt`` is called before that is posted,
        so that the turn can be stopped before it goes on.

        :raises ServerAway: if the outcome could not be told
        """
        # Imported here: the records are not needed to load the magics.
        from ...ids import ExecutionId
        from ..bundles import Caps
        from ..outputs import OutputFold

        fold = OutputFold(ExecutionId(execution_id), caps=Caps(html=1_000_000, json=500_000, image=4_000_000))
        sender = _Sender(self._client, execution_id, fold, on_gone=lambda: self.end(execution_id))
        with self._lock:
            self._running, self._ended_elsewhere = execution_id, False
        try:
            result = self._result(code, sender)
        finally:
            with self._lock:
                self._running = ""
            self._absorb_late_interrupt()
        if self._ended_elsewhere:
            result["status"] = "aborted"
        sender.finish_outputs()
        if result["status"] == "cancelled":
            on_interrupt()
        sender.finish(result)
        return result

    def end(self, execution_id: str) -> None:
        """The server no longer waits for this execution: interrupt it. Called from other threads."""
        with self._lock:
            if execution_id == self._running and not self._ended_elsewhere:
                self._ended_elsewhere = True
                interrupt_main_thread()

    def _absorb_late_interrupt(self) -> None:
        """An interrupt meant for the code may arrive when the code has just ended."""
        if self._ended_elsewhere:
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait(0.05)

    def _result(self, code: str, sender: "_Sender") -> JSON:
        count = self._shell.execution_count
        with untouched(self._shell), _captured(self._shell, code, sender):
            error = _run(self._shell, code)
        result: JSON = {"status": "ok", "execution_count": count, "ename": "", "evalue": "", "detail": ""}
        if isinstance(error, KeyboardInterrupt):
            return result | {"status": "cancelled", "ename": "KeyboardInterrupt", "detail": "the cell was interrupted"}
        if error is not None:
            return result | {"status": "error", "ename": type(error).__name__, "evalue": str(error)[:2000]}
        return result


def interrupt_main_thread() -> None:
    """As the user's interrupt does: a ``KeyboardInterrupt`` in the main thread, also out of a blocking call where signals can."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


# ---- running ----------------------------------------------------------------------------------------------------------------


def _run(shell: Any, code: str) -> BaseException | None:
    """What the code raised; its traceback has been shown."""
    code = without_automagic(code)
    try:
        transformed = shell.transform_cell(code)
        waits = shell.should_run_async(code, transformed_cell=transformed)
    except Exception:  # the code cannot be read: running it shows what is wrong with it
        waits = False
    if waits:
        return _run_async(shell, code, transformed)
    result = shell.run_cell(code, store_history=False)
    return result.error_before_exec or result.error_in_exec


def _run_async(shell: Any, code: str, transformed: str) -> BaseException | None:
    """Code that awaits: the kernel's loop is the one that runs this cell, so it gets a loop of its own in another thread."""
    done = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(shell.run_cell_async(code, store_history=False, transformed_cell=transformed))
    task.add_done_callback(lambda _: loop.stop())

    def work() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
            done.set()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="pernix-cell", daemon=True)
    thread.start()
    interrupted: KeyboardInterrupt | None = None
    while not done.is_set():
        try:
            done.wait(0.1)
        except KeyboardInterrupt as exc:
            interrupted = exc
            with contextlib.suppress(RuntimeError):  # the loop has just closed
                loop.call_soon_threadsafe(task.cancel)
    shell.events.trigger("post_execute")
    if interrupted is not None:
        return interrupted
    if task.cancelled() or task.exception() is not None:
        return task.exception() if not task.cancelled() else asyncio.CancelledError()
    result = task.result()
    return result.error_before_exec or result.error_in_exec


# ---- capturing --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _captured(shell: Any, code: str, sender: "_Sender") -> Iterator[None]:
    """While this is open, what the shell shows is shown and recorded."""
    before = (sys.stdout, sys.stderr, sys.displayhook, shell.display_pub, shell.displayhook.exec_result)
    own_traceback = shell.__dict__.get("_showtraceback")
    publisher = _Publisher(shell.display_pub, sender)
    # Entered before our hook is set: the code's own use of the trap is then a nested one, which leaves the hook alone.
    shell.display_trap.__enter__()
    sys.stdout, sys.stderr = _Stream("stdout", sys.stdout, sender), _Stream("stderr", sys.stderr, sender)
    sys.displayhook = _value_shower(shell, code, publisher, sender)
    shell.display_pub = publisher
    shell._showtraceback = _traceback_shower(publisher, sender)
    try:
        yield
    finally:
        shell.display_trap.__exit__(None, None, None)
        sys.stdout, sys.stderr, sys.displayhook, shell.display_pub, shell.displayhook.exec_result = before
        if own_traceback is None:
            del shell._showtraceback
        else:
            shell._showtraceback = own_traceback


class _Stream(io.TextIOBase):
    def __init__(self, name: str, shown: Any, sender: "_Sender") -> None:
        self._name, self._shown, self._sender = name, shown, sender

    def write(self, text: str) -> int:
        self._shown.write(text)
        self._sender.add("stream", {"name": self._name, "text": text})
        return len(text)

    def flush(self) -> None:
        self._shown.flush()

    def __getattribute__(self, name: str) -> Any:
        # TextIOBase has stubs for these that raise; the real stream knows.
        if name in ("fileno", "isatty", "encoding", "errors", "buffer"):
            return getattr(object.__getattribute__(self, "_shown"), name)
        return object.__getattribute__(self, name)

    def writable(self) -> bool:
        return True


class _Publisher(DisplayPublisher):
    """Shows through the shell's own publisher and records."""

    def __init__(self, shown: Any, sender: "_Sender") -> None:
        super().__init__()
        self.shown, self._sender = shown, sender

    def publish(self, data: Any, metadata: Any = None, *args: Any, **options: Any) -> None:
        self.shown.publish(data, metadata, *args, **options)
        kind = "update_display_data" if options.get("update") else "display_data"
        content = {"data": data, "metadata": metadata or {}, "transient": options.get("transient") or {}}
        self._sender.add(kind, _plain(content))

    def clear_output(self, wait: bool = False) -> None:
        """Only in the record: under the cell it would take away what the agent has said."""
        self._sender.add("clear_output", {"wait": wait})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shown, name)


def _value_shower(shell: Any, code: str, publisher: _Publisher, sender: "_Sender") -> Callable[[Any], None]:
    silent = DisplayHook.semicolon_at_end_of_expression(code)

    def show(value: Any) -> None:
        if value is None or silent:
            return
        data, metadata = shell.display_formatter.format(value)
        if data:
            # Shown as a display: an Out[…] prompt would name an entry of ``Out`` that does not exist.
            publisher.shown.publish(data, metadata)
            content = {"data": data, "metadata": metadata, "execution_count": shell.execution_count}
            sender.add("execute_result", _plain(content))

    return show


def _traceback_shower(publisher: _Publisher, sender: "_Sender") -> Callable[..., None]:
    def show(kind: type[BaseException], error: BaseException, lines: list[str]) -> None:
        # An error output would make tools take the whole cell for failed, while the agent may well mend it.
        publisher.shown.publish({"text/plain": "\n".join(lines)}, {})
        sender.add("error", {"ename": kind.__name__, "evalue": str(error), "traceback": list(lines)})

    return show


def _plain(value: Any) -> Any:
    """JSON of a mime bundle: bytes become base64, as on the kernel's wire."""
    if isinstance(value, bytes):
        # Imported here: only for pictures.
        from base64 import b64encode

        return b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


# ---- telling the server -----------------------------------------------------------------------------------------------------


class _Sender:
    """Collects outputs and posts them a few times a second from a thread of its own, so that printing never waits for the network."""

    def __init__(self, client: Client, execution_id: str, fold: Any, *, on_gone: Callable[[], None]) -> None:
        self._client, self._execution_id, self._fold = client, execution_id, fold
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._gone = False
        self._lost: ServerAway | None = None
        self._trouble = ""
        self._thread = threading.Thread(target=self._work, name="pernix-outputs", daemon=True)
        self._thread.start()

    def add(self, kind: str, content: JSON) -> None:
        if threading.current_thread() is self._thread:
            return
        with self._lock:
            if not self._ended.is_set():  # what a thread, or a logger that kept our stream, says later is only shown
                self._fold.add(kind, content)

    def finish_outputs(self) -> None:
        """Post what has not been posted yet; nothing may be added any more."""
        self._ended.set()
        self._thread.join()
        with self._lock:
            self._fold.finish()
        self._send()

    def finish(self, result: JSON) -> None:
        """:raises ServerAway: if the outcome could not be told"""
        if self._trouble:
            result["detail"] = result["detail"] or f"not all outputs could be stored: {self._trouble}"
        if not self._gone and self._lost is None:
            self._guarded(lambda: self._client.finish_execution(self._execution_id, result))
        if self._lost is not None:
            raise self._lost

    def _work(self) -> None:
        while not self._ended.wait(_SEND_SECONDS):
            self._send()

    def _send(self) -> None:
        with self._lock:
            ops = [_op(step.op) for step in self._fold.take()]
        for post in _posts(ops):
            if not self._gone and self._lost is None:
                self._guarded(lambda post=post: self._client.post_outputs(self._execution_id, post))

    def _guarded(self, post: Callable[[], None]) -> None:
        try:
            post()
        except RequestFailed as exc:
            if exc.status in _GONE:
                self._gone = True
                self._on_gone()
            else:
                self._trouble = str(exc)
        except ServerAway as exc:
            self._lost = exc


def _posts(ops: list[JSON]) -> Iterator[list[JSON]]:
    """The steps in their order, in bodies that the server takes."""
    post: list[JSON] = []
    size = 0
    for op in ops:
        length = len(json.dumps(op, ensure_ascii=False).encode("utf-8", "replace"))
        if post and size + length > _POST_BYTES:
            yield post
            post, size = [], 0
        post.append(op)
        size += length
    if post:
        yield post


def _op(op: Any) -> JSON:
    return {"op": op.op, "index": op.index, "output": op.output, "text": op.text}
