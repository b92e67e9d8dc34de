"""Routes of the user's saved rules."""

from ...records import PermissionChange, Permissions
from ..routing import Route, Verb
from .permissions import PermissionsHandler

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
)
