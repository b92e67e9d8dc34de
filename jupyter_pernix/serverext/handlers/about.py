"""The API about itself: what is in order, and how it is used."""

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from ..doctor import examine
from ..openapi import PAGE_POLICY, page
from .base import PernixHandler


class DoctorHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer(await examine(await self.runtime()))


class ConfigHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer((await self.runtime()).config.explain())


class OpenApiHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.finish(msgspec.json.encode(self.api_description()))


class DocsHandler(PernixHandler):
    @property
    def content_security_policy(self) -> str:
        return PAGE_POLICY

    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.finish(page(self.api_description()), set_content_type="text/html; charset=utf-8")
