"""Endpoints: list, add, remove, probe, choose; and the recorded tour."""

import anyio.to_thread
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import Conflict
from ...records import Discovery, EndpointCreate, EndpointInfo, Record, SessionCreate, TurnCreate
from ..audit.noting import note_endpoint
from ..endpoints import TOUR, Endpoints
from .base import PernixHandler


class EndpointList(Record, frozen=True):
    """``discoveries``: what the last look around loopback tried; empty before the first."""

    endpoints: list[EndpointInfo]
    discoveries: list[Discovery]


def _listed(endpoints: Endpoints) -> EndpointList:
    return EndpointList(endpoints=endpoints.all(), discoveries=endpoints.discoveries)


class EndpointsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer(_listed((await self.runtime()).endpoints))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        wanted = self.record(EndpointCreate)
        runtime = await self.runtime()
        info = await runtime.endpoints.create(wanted)
        await note_endpoint(runtime.store, "endpoint.added", info.name, by=self.who())
        self.answer(info, status=201, location=f"{self.request.path.rstrip('/')}/{info.name}")


class EndpointHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def delete(self, name: str) -> None:
        runtime = await self.runtime()
        await runtime.endpoints.delete(name)
        await note_endpoint(runtime.store, "endpoint.removed", name, by=self.who())
        self.answer(status=204)


class DiscoverHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        endpoints = (await self.runtime()).endpoints
        await endpoints.discover()
        self.answer(_listed(endpoints))


class ProbeHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        self.answer(await (await self.runtime()).endpoints.probe(name))


class DefaultHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        runtime = await self.runtime()
        info = await runtime.endpoints.set_default(name)
        await note_endpoint(runtime.store, "endpoint.chosen", name, by=self.who())
        self.answer(info)


class TourHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        # Imported here: only the tour needs it.
        from ...agent.model.tour import REQUEST, prepare_tour, tour_missing

        runtime = await self.runtime()
        missing = tour_missing()
        if missing:
            raise Conflict(f"the tour needs packages that are not installed here: {', '.join(missing)}")
        try:
            folder = await anyio.to_thread.run_sync(prepare_tour, runtime.root)
        except OSError as exc:
            raise Conflict(f"the tour's example could not be copied: {exc}") from exc
        summary = await runtime.sessions.create(
            SessionCreate(title="Tour: the lost last row", space_root=folder, mode="auto", endpoint=TOUR, origin="tour")
        )
        await runtime.sessions.submit(summary.session_id, TurnCreate(text=REQUEST, origin="tour"))
        self.answer(runtime.sessions.summary(summary.session_id), status=201)
