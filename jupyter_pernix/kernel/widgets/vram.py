"""The widget of the GPUs."""

import contextlib
import threading
import time
from typing import Any

import traitlets

from ...client import Client
from ...errors import RequestFailed, ServerError
from ...records import JSON
from . import choose, picture
from .live import LiveWidget, script, style

EVERY = 2.0
EVERY_WITHOUT_GPU = 60.0
"""Seconds between two looks while the widget can be seen."""
LEASE = 900.0
"""Seconds for which a view counts as seen since it last said so: a page that is gone says nothing."""
MEBI = 1024**2


class Vram(LiveWidget):
    """The memory of each NVIDIA GPU of the server's machine: used, free, and by whom. It looks only while it can be seen.

    :raises ServerError: if the server cannot be asked
    """

    KIND = "vram"
    _esm = script("vram")
    _css = style()

    gpus = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        self._client = choose.connected()
        super().__init__()
        self._seen: dict[str, float] = {}
        self._woken = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.gpus = read(self._client)
        self.on_msg(self._told)

    def close(self) -> None:
        self._stop.set()
        self._woken.set()
        super().close()

    def _told(self, _: Any, content: JSON, __: Any) -> None:
        """``{"view", "visible"}`` from the front end."""
        if "view" not in content:
            return
        view = str(content["view"])[:64]
        if content.get("visible") is True:
            self._seen[view] = time.monotonic()
            self._woken.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="pernix looks at the GPUs", daemon=True)
                self._thread.start()
        else:
            self._seen.pop(view, None)

    def _is_seen(self) -> bool:
        now = time.monotonic()
        return any(now - said < LEASE for said in list(self._seen.values()))

    def _watch(self) -> None:
        while not self._stop.is_set():
            if not self._is_seen():
                self._woken.clear()
                if not self._is_seen():
                    self._woken.wait()
                continue
            self._look()
            self._stop.wait(EVERY if self.gpus.get("devices") else EVERY_WITHOUT_GPU)

    def _look(self) -> None:
        try:
            gpus = read(self._client)
        except ServerError as exc:
            self.link = {"state": "away", "text": str(exc)}
            with contextlib.suppress(ServerError):
                self._client = choose.connected()
            return
        with self._joined():
            self.gpus, self.link = gpus, {"state": "live", "text": ""}

    def _state(self) -> JSON:
        return {"gpus": self.gpus}

    def _text(self, state: JSON) -> str:
        return picture.vram_text(state["gpus"])

    def _html(self, state: JSON) -> str:
        return picture.vram_html(state["gpus"])


def read(client: Client) -> JSON:
    """The GPUs, rounded so that what a person would not see is no change."""
    try:
        gpus: JSON = client.request("GET", "/gpu/devices", timeout=20)
    except RequestFailed as exc:
        if exc.status != 404:
            raise
        return {"devices": [], "driver": "", "detail": "this server cannot look at GPUs; it is of an older version"}
    for device in gpus["devices"]:
        for name in ("total_bytes", "used_bytes", "free_bytes"):
            device[name] = _rounded(device[name])
        for name in ("power_watts", "power_limit_watts"):
            device[name] = None if device[name] is None else round(device[name])
        for process in device["processes"]:
            process["used_bytes"] = _rounded(process["used_bytes"])
    return gpus


def _rounded(size: int | None) -> int | None:
    return None if size is None else round(size / MEBI) * MEBI
