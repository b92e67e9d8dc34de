"""Routes of models: endpoints, the tour, files served on this machine."""

from ...records import (
    EndpointCreate,
    EndpointInfo,
    LocalModel,
    LocalStart,
    LocalStatus,
    SessionSummary,
)
from ..routing import Route, Verb
from .endpoints import (
    DefaultHandler,
    DiscoverHandler,
    EndpointHandler,
    EndpointList,
    EndpointsHandler,
    ProbeHandler,
    TourHandler,
)
from .local import LocalHandler

MODELS: tuple[Route, ...] = (
    Route(
        path="/endpoints",
        handler=EndpointsHandler,
        verbs={
            "get": Verb(says="Endpoints, and what the last look around loopback found.", gives=EndpointList),
            "post": Verb(says="Save an endpoint and probe it.", status=201, takes=EndpointCreate, gives=EndpointInfo),
        },
    ),
    Route(
        path="/endpoints/discover",
        handler=DiscoverHandler,
        verbs={"post": Verb(says="Look for model servers at their usual ports on loopback.", gives=EndpointList)},
    ),
    Route(
        path="/endpoints/{name}",
        handler=EndpointHandler,
        verbs={"delete": Verb(says="Remove an endpoint that the user added.", status=204)},
    ),
    Route(
        path="/endpoints/{name}/probe",
        handler=ProbeHandler,
        verbs={"post": Verb(says="Find out what an endpoint can do.", gives=EndpointInfo)},
    ),
    Route(
        path="/endpoints/{name}/default",
        handler=DefaultHandler,
        verbs={"post": Verb(says="Use this endpoint for sessions that name none.", gives=EndpointInfo)},
    ),
    Route(
        path="/tour",
        handler=TourHandler,
        verbs={"post": Verb(says="Begin the recorded tour in a folder of its own.", status=201, gives=SessionSummary)},
    ),
    Route(
        path="/local",
        handler=LocalHandler,
        verbs={
            "get": Verb(says="GGUF files that could be served, and the one that is.", gives=LocalStatus),
            "post": Verb(says="Begin to serve a file.", status=202, takes=LocalStart, gives=LocalModel),
            "delete": Verb(says="Stop serving.", status=204),
        },
    ),
)
