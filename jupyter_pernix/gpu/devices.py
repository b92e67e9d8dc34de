"""The NVIDIA GPUs of this machine: NVML, through ``nvidia-ml-py``, read into frozen samples.

Nothing here raises for what a machine may be like: without the library, the driver, a card or the permission there is a sentence
instead. What a card does not tell is ``None``.
"""

import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ..records import GpuDevice, GpuDevices, GpuProcess

T = TypeVar("T")

INSTALL_HINT = 'pip install "jupyter_pernix[gpu]"'
_NOT_SUPPORTED, _NO_PERMISSION, _DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND, _NO_GPU, _OTHER_VERSION = 3, 4, 9, 12, 28, 18
"""Numbers of NVML's errors, as its header has them."""
_REASONS = {
    _NO_PERMISSION: "this user may not ask the driver",
    _DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    _LIBRARY_NOT_FOUND: "the NVIDIA driver is not installed (there is no libnvidia-ml)",
    _NO_GPU: "the driver sees no card",
    _OTHER_VERSION: "the driver was updated and waits for a restart of the machine",
}
_NOTHING_SEEN = "no NVIDIA GPU found: "


class Devices:
    """Reads the GPUs again and again; safe to use from several threads. The library is loaded by the first read.

    ``load`` gives the module ``pynvml``, or raises ``ImportError``.
    """

    def __init__(self, load: Callable[[], Any] = lambda: importlib.import_module("pynvml")) -> None:
        self._load = load
        self._nvml: Any = None
        self._lock = threading.Lock()

    def read(self) -> GpuDevices:
        """Blocks for some milliseconds; for seconds at the first time on machines whose driver has to wake up."""
        with self._lock:
            try:
                nvml = self._begun()
            except ImportError as exc:
                return GpuDevices(detail=f"{_NOTHING_SEEN}{_missing(exc)}")
            except Exception as exc:  # the edge of a foreign library: whatever it finds is told, not raised
                return GpuDevices(detail=_NOTHING_SEEN + _reason(exc))
            try:
                return _read_all(nvml)
            except Exception as exc:  # as above; a driver that was reloaded is begun anew by the next read
                self._end()
                return GpuDevices(detail=f"the GPUs could not be read: {_reason(exc)}")

    def close(self) -> None:
        with self._lock:
            self._end()

    def _begun(self) -> Any:
        if self._nvml is None:
            nvml = self._load()
            nvml.nvmlInit()
            self._nvml = nvml
        return self._nvml

    def _end(self) -> None:
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            try:
                nvml.nvmlShutdown()
            except nvml.NVMLError:
                return  # what was lost needs no end


def _missing(exc: ImportError) -> str:
    if exc.name not in (None, "pynvml"):
        return f"the library pynvml cannot be loaded: {exc}"
    return f"the library nvidia-ml-py is not installed ({INSTALL_HINT})"


def _reason(exc: Exception) -> str:
    known = _REASONS.get(_code(exc))
    return known or f"the driver says: {exc}"


def _code(exc: Exception) -> int:
    value = getattr(exc, "value", None)
    return value if isinstance(value, int) else -1


def _read_all(nvml: Any) -> GpuDevices:
    driver = _text(_ask(nvml, lambda: nvml.nvmlSystemGetDriverVersion(), []) or "")
    devices: list[GpuDevice] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as exc:
            devices.append(GpuDevice(index=index, name=f"GPU {index}", uuid="", problem=_reason(exc)))
            continue
        devices.append(_read_device(nvml, handle, index))
        devices += _read_slices(nvml, handle, index)
    return GpuDevices(devices=devices, driver=driver, detail="" if devices else _NOTHING_SEEN + _REASONS[_NO_GPU])


def _ask(nvml: Any, question: Callable[[], T], problems: list[str]) -> T | None:
    """What NVML answers. ``None`` when it does not; the reason goes to ``problems``, unless the card has no such thing to tell."""
    try:
        return question()
    except nvml.NVMLError as exc:
        if _code(exc) != _NOT_SUPPORTED:
            problems.append(_reason(exc))
        return None


def _read_device(nvml: Any, handle: Any, index: int, *, slice: int | None = None) -> GpuDevice:
    problems: list[str] = []
    memory = _ask(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle), problems)
    rates = _ask(nvml, lambda: nvml.nvmlDeviceGetUtilizationRates(handle), problems)
    power = _ask(nvml, lambda: nvml.nvmlDeviceGetPowerUsage(handle), problems)
    limit = _ask(nvml, lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle), problems)
    return GpuDevice(
        index=index,
        slice=slice,
        name=_text(_ask(nvml, lambda: nvml.nvmlDeviceGetName(handle), problems) or f"GPU {index}"),
        uuid=_text(_ask(nvml, lambda: nvml.nvmlDeviceGetUUID(handle), problems) or ""),
        total_bytes=None if memory is None else int(memory.total),
        used_bytes=None if memory is None else int(memory.used),
        free_bytes=None if memory is None else int(memory.free),
        utilization=None if rates is None else int(rates.gpu),
        temperature=_ask(nvml, lambda: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)), problems),
        power_watts=None if power is None else power / 1000,
        power_limit_watts=None if limit is None else limit / 1000,
        processes=_read_processes(nvml, handle, problems),
        problem="; ".join(dict.fromkeys(problems)),
    )


def _read_processes(nvml: Any, handle: Any, problems: list[str]) -> list[GpuProcess]:
    """Those that hold most come first. One that computes and draws is told once."""
    found: dict[int, GpuProcess] = {}
    for question in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        told: list[Any] = _ask(nvml, lambda question=question: question(handle), problems) or []
        for process in told:
            pid = int(process.pid)
            used = None if process.usedGpuMemory is None else int(process.usedGpuMemory)
            before = found.get(pid)
            if before is not None:
                used = max((each for each in (before.used_bytes, used) if each is not None), default=None)
            # A process of another user, or of another container, has no name for us: that is no problem of the card.
            name = (
                before.name
                if before
                else _text(_ask(nvml, lambda pid=pid: nvml.nvmlSystemGetProcessName(pid), []) or "")
            )
            found[pid] = GpuProcess(pid=pid, name=name, used_bytes=used)
    return sorted(found.values(), key=lambda each: -(each.used_bytes or 0))


def _read_slices(nvml: Any, handle: Any, index: int) -> list[GpuDevice]:
    mode = _ask(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle), [])
    if not mode or not mode[0]:
        return []
    slices: list[GpuDevice] = []
    for number in range(_ask(nvml, lambda: int(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)), []) or 0):
        part = _ask(nvml, lambda number=number: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number), [])
        if part is not None:
            slices.append(_read_device(nvml, part, index, slice=number))
    return slices


def _text(value: str | bytes) -> str:
    """Older releases of the library give bytes. Names of processes come from whoever runs them, so no control character stays."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return "".join(each if each.isprintable() else "�" for each in text)[:300]
