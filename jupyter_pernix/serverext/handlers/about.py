"""The API about itself: what is in order, and how it is used."""

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from ..doctor import examine
from ..openapi import PAGE_POLICY, describe, page
from .base import PernixHandler


class DoctorHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer(await examine(await self.runtime()))


class OpenApiHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        # Imported here: the route table lists this handler.
        from . import BASE, ROUTES

        self.finish(msgspec.json.encode(describe(ROUTES, BASE)))


class DocsHandler(PernixHandler):
    @property
    def content_security_policy(self) -> str:
        return PAGE_POLICY

    @web.authenticated
    @authorized
    async def get(self) -> None:
        # Imported here: the route table lists this handler.
        from . import BASE, ROUTES

        self.finish(page(describe(ROUTES, BASE)), set_content_type="text/html; charset=utf-8")
