"""Routes of the server itself: what it is, its settings, queries over the store."""

from typing import Any

from ...config import Setting
from ...records import (
    Finding,
    GpuDevices,
    SessionCreate,
    SessionSummary,
    SqlQuery,
    SqlResult,
)
from ..audit.examining import AuditHead
from ..routing import Route, Verb
from .about import ConfigHandler, DocsHandler, DoctorHandler, OpenApiHandler
from .audit import AuditHandler
from .gpu import GpuDevicesHandler
from .info import Info, InfoHandler
from .sessions import (
    SessionsHandler,
)
from .sql import SqlHandler

SERVER: tuple[Route, ...] = (
    Route(path="/", handler=InfoHandler, verbs={"get": Verb(says="The server and its store.", gives=Info)}),
    Route(
        path="/sessions",
        handler=SessionsHandler,
        verbs={
            "get": Verb(
                says="Sessions, newest first.",
                gives=list[SessionSummary],
                query={
                    "archived": "false (default), true, or all",
                    "parent": "only the workers of this session",
                    "workers": "true: workers too",
                },
            ),
            "post": Verb(says="Create a session.", status=201, takes=SessionCreate, gives=SessionSummary),
        },
    ),
    Route(
        path="/doctor",
        handler=DoctorHandler,
        verbs={"get": Verb(says="What is in order and what is not.", gives=list[Finding])},
    ),
    Route(
        path="/audit",
        handler=AuditHandler,
        verbs={"get": Verb(says="How far the audit goes: what its files must hold.", gives=AuditHead)},
    ),
    Route(
        path="/config",
        handler=ConfigHandler,
        verbs={
            "get": Verb(
                says="Each setting as it holds, the layer that gave it, and where. Secrets are not shown.",
                gives=list[Setting],
            )
        },
    ),
    Route(
        path="/openapi.json",
        handler=OpenApiHandler,
        verbs={"get": Verb(says="This description, for programs.", gives=dict[str, Any])},
    ),
    Route(
        path="/docs",
        handler=DocsHandler,
        verbs={"get": Verb(says="This description, to read.", media="text/html")},
    ),
    Route(
        path="/gpu/devices",
        handler=GpuDevicesHandler,
        verbs={"get": Verb(says="The NVIDIA GPUs of the server's machine as they are now.", gives=GpuDevices)},
    ),
    Route(
        path="/sql",
        handler=SqlHandler,
        verbs={
            "post": Verb(
                says="A reading query over the events and the views of them, in DuckDB's SQL.",
                takes=SqlQuery,
                gives=SqlResult,
            )
        },
    ),
)
