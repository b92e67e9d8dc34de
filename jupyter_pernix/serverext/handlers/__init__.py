"""The route table: every address under ``/pernix/api``, with what it takes and gives. ``openapi.py`` describes the API from it."""

from collections.abc import Iterator

from tornado.web import RequestHandler

from ..routing import Route, pattern
from .models_routes import MODELS
from .notebooks_routes import NOTEBOOKS
from .permissions_routes import PERMISSIONS
from .server_routes import SERVER
from .sessions_routes import SESSIONS
from .undo_routes import UNDO

ROUTES: tuple[Route, ...] = (*SERVER, *SESSIONS, *NOTEBOOKS, *MODELS, *PERMISSIONS, *UNDO)


def routes() -> Iterator[tuple[str, type[RequestHandler]]]:
    for route in ROUTES:
        yield pattern(route.path), route.handler
