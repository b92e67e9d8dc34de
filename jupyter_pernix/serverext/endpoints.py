"""The endpoints that sessions can use, wherever they come from: settings and environment, added by the user, found on loopback, the
local model, the tour.

What the user adds is kept in ``endpoints.json`` in our config folder, readable by the user alone; keys never leave this module
except towards their endpoint. Abilities are learnt by a probe, which is made before an endpoint is first used.
"""

import logging
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ..config import EndpointSettings, RoleSettings, Settings
from ..errors import Conflict, InvalidInput, ModelError, NotFound
from ..records import Ability, Discovery, EndpointCreate, EndpointInfo, Role
from .endpoint_entry import Entry, Source, checked, failure, needs_glance, needs_probe, new_entry
from .endpoint_file import Saved, read_saved, write_saved

if TYPE_CHECKING:
    from ..agent.model.parts import Model, Models

log = logging.getLogger(__name__)

TOUR = "tour"
LOCAL = "local"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_URL = re.compile(r"https?://[^\s/?#]+[^\s?#]*", re.ASCII)
_KEY = re.compile(r"[!-~]*")
_CLOSE_SECONDS = 5.0
_ADD_ONE = (
    "Add an endpoint (any OpenAI-compatible address), set OPENAI_API_KEY or OPENAI_BASE_URL before the server starts, "
    "serve a GGUF file with `jupyter pernix local`, or take the tour."
)
_CORRECT_ROLE = "Correct `roles` in the settings file, or add an endpoint of that name."


class Endpoints:
    """By name. ``folder`` is our config folder; it is made when something is saved."""

    def __init__(self, settings: Settings, *, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._path = folder / "endpoints.json"
        self._entries: dict[str, Entry] = {}
        self._variants: dict[tuple[str, str], Entry] = {}
        self._discoveries: list[Discovery] = []
        self._probing = anyio.Lock()
        self._saved = read_saved(self._path)
        for name, endpoint in settings.endpoints.items():
            source: Source = "environment" if name == "openai" and endpoint.api_key_env else "settings"
            self._put(name, endpoint, source)
        # what the settings give of a name holds: it is what they show
        for name, endpoint in self._saved.endpoints.items():
            if name not in self._entries:
                self._put(name, endpoint, "saved")
        for name, endpoint in (self._saved.found or {}).items():
            if name not in self._entries:
                self._put(name, endpoint, "found")
        self._put_tour()

    # ---- reading --------------------------------------------------------------------------------------------------------

    @property
    def default(self) -> str:
        """Name of the endpoint that sessions use which name none; "" when nothing is chosen and none is known to work."""
        for name in (self._saved.default, self._settings.endpoint):
            if name in self._entries:
                return name
        usable = [name for name, entry in self._entries.items() if entry.info.status in ("ready", "limited")]
        return next((name for name in usable if name != TOUR), "")

    def all(self) -> list[EndpointInfo]:
        return [self.info(name) for name in self._entries]

    def keys(self) -> set[str]:
        """The keys of all endpoints, so that they can be kept out of what is written down."""
        return {key for entry in self._entries.values() if (key := entry.settings.key(self._environ))}

    def info(self, name: str) -> EndpointInfo:
        """:raises NotFound: if there is no such endpoint"""
        return replace(self._entry(name).info, default=name == self.default, roles=self._roles(name))

    def _roles(self, name: str) -> list[Role]:
        default, named = self.default, {role: self.role(role) for role in get_args(Role)}
        return [role for role, wanted in named.items() if wanted and (wanted.endpoint or default) == name]

    def role(self, role: Role) -> RoleSettings | None:
        """What the settings say of a role; ``None``: nothing."""
        wanted: RoleSettings = getattr(self._settings.roles, role)
        return wanted if wanted != RoleSettings() else None

    def has(self, name: str) -> bool:
        return name in self._entries

    @property
    def discoveries(self) -> list[Discovery]:
        """What the last look around loopback tried; empty before the first."""
        return self._discoveries

    @asynccontextmanager
    async def model(self, name: str) -> "AsyncGenerator[Model]":
        """The model behind an endpoint, while the context is open; "" is the default, or the first that answers.

        :raises ModelError: if there is none that can be used, with what to do
        """
        async with self._connected(RoleSettings(endpoint=name)) as model:
            yield model

    @asynccontextmanager
    async def models(self, session_endpoint: str) -> "AsyncGenerator[Models]":
        """The models of one turn by role, while the context is open; each is connected, and probed if need be, when asked for.

        The session's own endpoint comes before the one that the role ``primary`` names. A tour has no other roles.
        """
        # Imported here: it stands on the agent.
        from ..agent.model.roles import Opener, RoleModels

        primary = self._settings.roles.primary
        if session_endpoint and session_endpoint != (primary.endpoint or self.default):
            primary = RoleSettings(endpoint=session_endpoint)
        openers: dict[Role, Opener] = {"primary": partial(self._connected, primary)}
        if (primary.endpoint or self.default) != TOUR:
            others: tuple[Role, ...] = ("background", "backup")
            openers |= {
                role: partial(self._connected, wanted, role)
                for role in others
                if (wanted := self.role(role)) is not None
            }
        async with RoleModels(openers) as models:
            yield models

    @asynccontextmanager
    async def _connected(self, wanted: RoleSettings, role: Role = "primary") -> "AsyncGenerator[Model]":
        """:raises ModelError: if it cannot be used"""
        name = wanted.endpoint or self.default or await self._first_that_answers()
        if name == TOUR:
            # Imported here: it reads the recorded turns.
            from ..agent.model.tour import TourModel

            yield TourModel()
            return
        if wanted.endpoint and role != "primary" and not self.has(name):
            raise ModelError(f"the role {role} names the endpoint {name!r}, and there is none", hint=_CORRECT_ROLE)
        entry = await self._usable(name, wanted.model)
        # Imported here: httpx costs the start of the server 0.2 s.
        from ..agent.model.endpoints import connect

        model = connect(self._effective(entry), entry.info, deadlines=self._settings.deadlines, options=wanted.options)
        limit, sees = model.context_length, model.sees
        try:
            yield model
        finally:
            # what was learnt from a refusal: the next turn need not run into it again
            if model.context_length != limit:
                entry.info = replace(entry.info, context_length=model.context_length)
            if model.sees != sees:
                entry.info = replace(entry.info, vision=model.sees)
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await model.aclose()

    async def _usable(self, name: str, model: str = "") -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise ModelError(f"there is no endpoint {name!r} any more", hint=_ADD_ONE)
        if model and model != (entry.settings.model or entry.info.model):
            return await self._usable_variant(entry, model)
        await self._learn(name, entry)
        return checked(entry)

    async def _usable_variant(self, entry: Entry, model: str) -> Entry:
        """The same endpoint with another model, as a role asks for it. What the endpoint costs is said of its own model only."""
        settings = replace(entry.settings, model=model, context_length=None, vision=None, price=None)
        variant = self._variants.get((entry.info.name, model))
        if variant is None or variant.settings != settings:
            variant = new_entry(entry.info.name, settings, entry.source, self._environ)
            self._variants[entry.info.name, model] = variant
        await self._learn(entry.info.name, variant)
        return checked(variant)

    async def _learn(self, name: str, entry: Entry) -> None:
        """Find out what must be known before an endpoint is used; two who need it wait for one."""
        async with entry.learning:
            if needs_probe(entry):
                entry.info = await self._probed(name, entry)
            elif needs_glance(entry):
                # Imported here: httpx costs the start of the server 0.2 s.
                from ..agent.model.endpoints import glance

                seen = await glance(self._effective(entry), name=name)
                entry.info = replace(
                    entry.info,
                    models=seen.models,
                    context_length=seen.context_length,
                    vision=seen.vision,
                    abilities=seen.abilities,
                )

    async def _first_that_answers(self) -> str:
        for name in list(self._entries):
            if name != TOUR and (await self.probe(name)).status in ("ready", "limited"):
                return name
        if len(self._entries) > 1:
            faults = "; ".join(
                f"{name!r}: {failure(entry.info)}" for name, entry in self._entries.items() if name != TOUR
            )
            raise ModelError(f"no endpoint answers ({faults})", hint=_ADD_ONE)
        raise ModelError("no model is set up yet", hint=_ADD_ONE)

    # ---- changing -------------------------------------------------------------------------------------------------------

    async def create(self, wanted: EndpointCreate) -> EndpointInfo:
        """Save an endpoint and probe it; one of the same name that was saved before is replaced.

        :raises InvalidInput: if its name, address or key is none
        :raises Conflict: if the name is taken by the settings, the tour or the local model
        """
        if not _NAME.fullmatch(wanted.name):
            raise InvalidInput(
                "$.name", "letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit"
            )
        if not _URL.fullmatch(wanted.base_url) or len(wanted.base_url) > 2000:
            raise InvalidInput("$.base_url", "an http:// or https:// address without query")
        if "@" in wanted.base_url.split("/")[2]:
            raise InvalidInput("$.base_url", "an address is shown to everyone; give the key in api_key instead")
        if not _KEY.fullmatch(wanted.api_key.strip()):
            raise InvalidInput("$.api_key", "a key has no spaces, line ends or other characters than ASCII")
        existing = self._entries.get(wanted.name)
        if wanted.name in (TOUR, LOCAL) or (existing is not None and existing.source in ("settings", "environment")):
            raise Conflict(f"the name {wanted.name!r} is taken by an endpoint that cannot be changed here")
        endpoint = EndpointSettings(
            base_url=wanted.base_url.rstrip("/"),
            model=wanted.model,
            api_key=wanted.api_key.strip(),
            kind=wanted.kind,
            protocol=wanted.protocol,
            context_length=wanted.context_length,
            vision=wanted.vision,
        )
        await self._save(replace(self._saved, endpoints={**self._saved.endpoints, wanted.name: endpoint}))
        self._put(wanted.name, endpoint, "saved")
        return await self.probe(wanted.name)

    async def delete(self, name: str) -> None:
        """:raises Conflict: if it was not added by the user"""
        if self._entry(name).source not in ("saved", "found"):
            raise Conflict(
                f"the endpoint {name!r} comes from the {self._entry(name).source}; it cannot be removed here"
            )
        saved = self._saved
        await self._save(
            Saved(
                default=saved.default if saved.default != name else "",
                endpoints={key: value for key, value in saved.endpoints.items() if key != name},
                found=saved.found and {key: value for key, value in saved.found.items() if key != name},
            )
        )
        del self._entries[name]

    async def set_default(self, name: str) -> EndpointInfo:
        """:raises NotFound: if there is no such endpoint"""
        self._entry(name)
        await self._save(replace(self._saved, default=name))
        return self.info(name)

    async def probe(self, name: str) -> EndpointInfo:
        """Find out what an endpoint can do; a failure is a result.

        :raises NotFound: if there is no such endpoint
        """
        if name == TOUR:
            return self.info(name)
        entry = self._entry(name)
        entry.info = await self._probed(name, entry)
        return self.info(name)

    async def _probed(self, name: str, entry: Entry) -> EndpointInfo:
        # Imported here: httpx costs the start of the server 0.2 s.
        from ..agent.model.endpoints import probe

        probed = await probe(self._effective(entry), name=name)
        return replace(probed, name=name, source=entry.source, has_key=bool(entry.settings.key(self._environ)))

    @property
    def never_looked(self) -> bool:
        """Nobody has looked around loopback yet, in this or an earlier server."""
        return self._saved.found is None

    async def discover(self) -> list[Discovery]:
        """Look around loopback; what answers becomes an endpoint named after its kind, and what no longer does is dropped."""
        # Imported here: httpx costs the start of the server 0.2 s.
        from ..agent.model.endpoints import discover

        async with self._probing:
            self._discoveries = await discover()
            new = self._take_found([found for found in self._discoveries if found.found])
            now = {name: entry.settings for name, entry in self._entries.items() if entry.source == "found"}
            if now != self._saved.found:
                await self._save(replace(self._saved, found=now))
        for name in new:
            await self.probe(name)
        return self._discoveries

    def _take_found(self, found: list[Discovery]) -> list[str]:
        """Names of the endpoints that are new."""
        addresses = {discovery.base_url for discovery in found}
        for name, entry in list(self._entries.items()):
            if entry.source == "found" and entry.settings.base_url not in addresses:
                del self._entries[name]
        known = {entry.settings.base_url for entry in self._entries.values()}
        new: list[str] = []
        for discovery in found:
            name: str = discovery.kind
            if discovery.base_url not in known and name not in self._entries:
                self._put(name, EndpointSettings(base_url=discovery.base_url, kind=discovery.kind), "found")
                new.append(name)
        return new

    def put_local(self, base_url: str, model: str, *, key: str, context_length: int) -> None:
        """The local model serves at this address, or will in a moment. It is driven by actions: the server of ours holds answers to a
        schema, small models rarely call tools, and a probe takes minutes without a graphics card."""
        endpoint = EndpointSettings(
            base_url=base_url,
            model=model,
            api_key=key,
            kind="local",
            protocol="actions",
            context_length=context_length,
        )
        self._put(LOCAL, endpoint, "local")

    async def load_local(self, wait_ready: Callable[[], Awaitable[None]]) -> None:
        """Until ``wait_ready`` returns, whoever wants to use the local model waits too.

        :raises ModelError: from ``wait_ready``; the endpoint is gone then
        """
        entry = self._entry(LOCAL)
        async with entry.learning:
            try:
                await wait_ready()
            except ModelError as exc:
                abilities = [Ability(name="reachable", ok=False, detail=str(exc))]
                entry.info = replace(entry.info, status="failed", abilities=abilities, hint=exc.hint)
                if self._entries.get(LOCAL) is entry:
                    self.drop_local()
                raise
            entry.info = replace(
                entry.info,
                status="ready",
                models=[entry.settings.model],
                protocol="actions",
                constraint="response_format",
                abilities=[Ability(name="reachable", ok=True), Ability(name="json_schema", ok=True)],
            )

    def drop_local(self) -> None:
        self._entries.pop(LOCAL, None)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise NotFound("endpoint", name)
        return entry

    def _effective(self, entry: Entry) -> EndpointSettings:
        """With the key itself, wherever it is kept."""
        return replace(entry.settings, api_key=entry.settings.key(self._environ), api_key_env="")

    def _put(self, name: str, endpoint: EndpointSettings, source: Source) -> None:
        self._entries[name] = new_entry(name, endpoint, source, self._environ)

    def _put_tour(self) -> None:
        info = EndpointInfo(
            name=TOUR,
            kind="tour",
            base_url="",
            model="recorded tour",
            protocol="tools",
            source="tour",
            status="ready",
            hint="A recorded tour, not a model: it plays one job with a real kernel and real files.",
        )
        self._entries[TOUR] = Entry(EndpointSettings(base_url="", kind="tour"), "tour", info)

    async def _save(self, saved: Saved) -> None:
        await anyio.to_thread.run_sync(write_saved, self._path, saved)
        self._saved = saved
