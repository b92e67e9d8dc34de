"""Routes of the user's saved rules."""

from ...records import ConsentChange, PermissionChange, Permissions
from ..routing import Route, Verb
from .permissions import ConsentsHandler, PermissionsHandler

PERMISSIONS: tuple[Route, ...] = (
    Route(
        path="/permissions",
        handler=PermissionsHandler,
        verbs={
            "get": Verb(
                says="What may be done unasked, and what never: rules of a session's space, those for all spaces, and the session's own.",
                gives=Permissions,
                query={"session_id": "of this session; without it only those for all spaces"},
            ),
            "post": Verb(says="Save a rule.", status=201, takes=PermissionChange, gives=Permissions),
            "delete": Verb(says="Forget a saved rule.", takes=PermissionChange, gives=Permissions),
        },
    ),
    Route(
        path="/permissions/consents",
        handler=ConsentsHandler,
        verbs={
            "post": Verb(
                says="Let a command of the space's configuration be started, which is waiting for that as it is now.",
                status=201,
                takes=ConsentChange,
                gives=Permissions,
            ),
            "delete": Verb(says="Take that back.", takes=ConsentChange, gives=Permissions),
        },
    ),
)
