"""What the first turn of a server would wait for, loaded while its user still writes the first message."""

import anyio.to_thread


async def warm_up() -> None:
    """``surroundings.Warm``: load, in a worker thread, the modules that carry a turn. Nothing is lost without it."""
    await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)


def _load() -> None:
    import httpx  # noqa: F401 - loaded here so that the first turn finds it

    from ..agent.model import client, transport
    from ..agent.run import Run
    from ..agent.tools.registry import TOOLS
    from ..kernel import record

    _ = (client, transport, record, Run)
    for tool in TOOLS.values():
        _ = tool.spec
