"""Further fields of each request (``options`` of an endpoint or a role): merged, and refused where they would break the protocol."""

from collections.abc import Mapping
from typing import Any

from ...errors import EndpointFailed
from ...records import JSON
from ...settings.options import REFUSED


def merged(endpoint: Mapping[str, Any], role: Mapping[str, Any] | None = None) -> JSON:
    """The role's options over the endpoint's; a role takes one away with ``None`` (in TOML: an empty table).

    :raises ModelError: if one of them would break the protocol, with what to do instead
    """
    both = {**endpoint, **(role or {})}
    for key in both:
        if key in REFUSED:
            raise EndpointFailed(
                f"the option {key!r} cannot be set: {REFUSED[key]}",
                kind="protocol",
                hint=f"take {key!r} out of options",
            )
    return {key: value for key, value in both.items() if value is not None and value != {}}
