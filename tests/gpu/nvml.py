"""A stand-in for the module ``pynvml``: its functions, its errors and the shapes of its answers, as ``nvidia-ml-py`` 13 gives them for
an H200, a desktop card and a card in MIG mode."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

GIB = 1024**3


class NVMLError(Exception):
    """As the real one: the number is in ``value``, and two of them are compared by it."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        words = {
            3: "Not Supported",
            4: "Insufficient Permissions",
            9: "Driver Not Loaded",
            12: "NVML Shared Library Not Found",
        }
        return {**words, 15: "GPU is lost", 999: "Unknown Error"}.get(self.value, f"NVML Error with code {self.value}")


@dataclass
class Card:
    """What one card answers; an ``int`` among the answers is the number of the error that it gives instead."""

    name: Any = "NVIDIA H200"
    uuid: Any = "GPU-8a56a4bc-0000-1111-2222-333344445555"
    memory: Any = field(default_factory=lambda: SimpleNamespace(total=139 * GIB, used=20 * GIB, free=119 * GIB))
    rates: Any = field(default_factory=lambda: SimpleNamespace(gpu=37, memory=12))
    temperature: Any = "41"
    power: Any = "122310"
    limit: Any = "700000"
    compute: Any = ()
    graphics: Any = ()
    mig: Any = 3
    slices: list["Card"] = field(default_factory=list["Card"])
    handle: Any = None


def process(pid: int, used: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=used, gpuInstanceId=0xFFFFFFFF, computeInstanceId=0xFFFFFFFF)


def _answer(value: Any) -> Any:
    if isinstance(value, int):
        raise NVMLError(value)
    return value


class FakeNvml:
    """``begin``: the number of the error that ``nvmlInit`` gives. ``names``: of processes that this user may see."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, *cards: Card, begin: int | None = None, names: dict[int, Any] | None = None) -> None:
        self.cards, self.begin, self.names = list(cards), begin, names or {}
        self.count: Callable[[], int] = lambda: len(self.cards)
        self.begun = self.ended = 0

    def nvmlInit(self) -> None:
        if self.begin is not None:
            raise NVMLError(self.begin)
        self.begun += 1

    def nvmlShutdown(self) -> None:
        self.ended += 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "570.124.06"

    def nvmlDeviceGetCount(self) -> int:
        return self.count()

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Card:
        card = self.cards[index]
        if isinstance(card.handle, int):
            raise NVMLError(card.handle)
        return card

    def nvmlDeviceGetName(self, card: Card) -> Any:
        return _answer(card.name)

    def nvmlDeviceGetUUID(self, card: Card) -> Any:
        return _answer(card.uuid)

    def nvmlDeviceGetMemoryInfo(self, card: Card) -> Any:
        return _answer(card.memory)

    def nvmlDeviceGetUtilizationRates(self, card: Card) -> Any:
        return _answer(card.rates)

    def nvmlDeviceGetTemperature(self, card: Card, sensor: int) -> int:
        assert sensor == self.NVML_TEMPERATURE_GPU
        return int(_answer(card.temperature))

    def nvmlDeviceGetPowerUsage(self, card: Card) -> int:
        return int(_answer(card.power))

    def nvmlDeviceGetEnforcedPowerLimit(self, card: Card) -> int:
        return int(_answer(card.limit))

    def nvmlDeviceGetComputeRunningProcesses(self, card: Card) -> list[Any]:
        return list(_answer(card.compute))

    def nvmlDeviceGetGraphicsRunningProcesses(self, card: Card) -> list[Any]:
        return list(_answer(card.graphics))

    def nvmlSystemGetProcessName(self, pid: int) -> Any:
        if pid not in self.names:
            raise NVMLError(6)
        return self.names[pid]

    def nvmlDeviceGetMigMode(self, card: Card) -> list[int]:
        return _answer(card.mig)

    def nvmlDeviceGetMaxMigDeviceCount(self, card: Card) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: Card, number: int) -> Card:
        if number >= len(card.slices):
            raise NVMLError(6)
        return card.slices[number]
