"""What a machine's GPUs are read as, and what is said where there are none."""

from types import SimpleNamespace

import pytest
from gpu.nvml import GIB, Card, FakeNvml, NVMLError, process

from jupyter_pernix.gpu.devices import Devices
from jupyter_pernix.records import GpuDevice, GpuDevices, GpuProcess


def read(nvml: FakeNvml) -> GpuDevices:
    return Devices(lambda: nvml).read()


def test_a_card_is_read_with_all_that_it_tells() -> None:
    card = Card(compute=[process(410, 3 * GIB), process(411, 17 * GIB)], graphics=[process(410, 1 * GIB)])
    assert read(FakeNvml(card, names={411: "python", 410: "/usr/bin/python3"})) == GpuDevices(
        driver="570.124.06",
        devices=[
            GpuDevice(
                index=0,
                name="NVIDIA H200",
                uuid="GPU-8a56a4bc-0000-1111-2222-333344445555",
                total_bytes=139 * GIB,
                used_bytes=20 * GIB,
                free_bytes=119 * GIB,
                utilization=37,
                temperature=41,
                power_watts=122.31,
                power_limit_watts=700.0,
                processes=[
                    GpuProcess(pid=411, name="python", used_bytes=17 * GIB),
                    GpuProcess(pid=410, name="/usr/bin/python3", used_bytes=3 * GIB),
                ],
            )
        ],
    )


def test_what_a_card_has_not_is_none_and_no_problem() -> None:
    (device,) = read(FakeNvml(Card(rates=3, power=3, limit=3, temperature=3, graphics=3))).devices
    told = (device.utilization, device.power_watts, device.power_limit_watts, device.temperature, device.problem)
    assert told == (None, None, None, None, "")


def test_what_the_user_may_not_know_is_said_once() -> None:
    card = Card(memory=4, compute=4, graphics=4)
    (device,) = read(FakeNvml(card)).devices
    assert (device.total_bytes, device.processes, device.problem) == (None, [], "this user may not ask the driver")


def test_a_process_of_another_container_is_told_by_its_number() -> None:
    (device,) = read(FakeNvml(Card(compute=[process(7, None)]))).devices
    assert device.processes == [GpuProcess(pid=7, name="", used_bytes=None)]
    assert device.problem == ""


def test_a_lost_card_hides_no_other_card() -> None:
    lost, whole = read(FakeNvml(Card(handle=15), Card(name=b"NVIDIA RTX A4000"))).devices
    assert (lost.name, lost.problem) == ("GPU 0", "the driver says: GPU is lost")
    assert (whole.index, whole.name, whole.problem) == (1, "NVIDIA RTX A4000", "")


def test_the_slices_of_a_card_in_mig_mode_follow_it() -> None:
    memory = SimpleNamespace(total=17 * GIB, used=1 * GIB, free=16 * GIB)
    part = Card(name="NVIDIA H200 MIG 1g.18gb", uuid="MIG-1", memory=memory, rates=3, temperature=3, power=3, limit=3)
    whole, first, second = read(FakeNvml(Card(mig=[1, 1], rates=3, slices=[part, part]))).devices
    assert (whole.slice, whole.utilization, whole.problem) == (None, None, "")
    assert [(one.index, one.slice, one.name, one.total_bytes) for one in (first, second)] == [
        (0, 0, "NVIDIA H200 MIG 1g.18gb", 17 * GIB),
        (0, 1, "NVIDIA H200 MIG 1g.18gb", 17 * GIB),
    ]


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (12, "the NVIDIA driver is not installed (there is no libnvidia-ml)"),
        (9, "the NVIDIA driver is not loaded"),
        (4, "this user may not ask the driver"),
        (18, "the driver was updated and waits for a restart of the machine"),
        (999, "the driver says: Unknown Error"),
    ],
)
def test_a_driver_that_cannot_be_asked_is_said_in_words(begin: int, reason: str) -> None:
    assert read(FakeNvml(Card(), begin=begin)) == GpuDevices(detail=f"no NVIDIA GPU found: {reason}")


def test_a_driver_without_a_card_is_said_in_words() -> None:
    found = read(FakeNvml())
    assert (found.devices, found.detail) == ([], "no NVIDIA GPU found: the driver sees no card")


def test_without_the_library_it_is_said_what_to_install() -> None:
    def load() -> FakeNvml:
        raise ModuleNotFoundError("No module named 'pynvml'", name="pynvml")

    found = Devices(load).read()
    assert found.detail == (
        'no NVIDIA GPU found: the library nvidia-ml-py is not installed (pip install "jupyter_pernix[gpu]")'
    )


def test_a_driver_that_came_back_is_begun_anew() -> None:
    nvml = FakeNvml(Card())
    devices = Devices(lambda: nvml)
    good = nvml.count

    def gone() -> int:
        raise NVMLError(15)

    assert devices.read().detail == ""
    nvml.count = gone
    assert devices.read().detail == "the GPUs could not be read: the driver says: GPU is lost"
    nvml.count = good
    assert devices.read().detail == ""
    devices.close()
    assert (nvml.begun, nvml.ended) == (2, 2)


def test_the_name_of_a_process_cannot_write_to_a_terminal() -> None:
    (device,) = read(FakeNvml(Card(compute=[process(5, 1)]), names={5: b"py\x1b[2Jthon\n\xff" + b"x" * 400})).devices
    assert device.processes[0].name.startswith("py�[2Jthon��x")
    assert len(device.processes[0].name) == 300


def test_the_library_itself_is_asked_without_an_error() -> None:
    """On a machine without a card the sentence comes from the real library; with one, the real cards."""
    found = Devices().read()
    assert bool(found.devices) != bool(found.detail)
