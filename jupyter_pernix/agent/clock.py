"""The real clock; ``testing.FakeClock`` is its twin."""

import time

import anyio


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
