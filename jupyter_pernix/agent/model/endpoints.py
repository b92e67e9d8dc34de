"""From an endpoint's settings, and what a probe found, to the model that fits. ``discover`` looks at the usual ports of this machine
and nowhere else.
"""

import os
from collections.abc import Mapping
from typing import Any

from ...config import Deadlines, EndpointSettings
from ...errors import EndpointFailed, ModelMissing
from ...records import EndpointInfo
from .actions import ActionModel
from .client import ChatModel, Endpoint
from .discovery import discover
from .options import merged
from .probing import glance, probe

__all__ = ["connect", "discover", "glance", "probe"]


def connect(
    settings: EndpointSettings,
    info: EndpointInfo,
    *,
    deadlines: Deadlines | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ChatModel | ActionModel:
    """The model for an endpoint that was probed; close it with ``aclose``. ``options`` are a role's, over the endpoint's own.

    :raises ModelError: if the endpoint is not usable, or an option would break the protocol
    """
    fields = merged(settings.options, options)
    protocol = info.protocol
    if protocol is None and settings.protocol in ("tools", "actions", "chat"):
        protocol = settings.protocol
    if protocol is None:
        raise EndpointFailed(f"the endpoint {info.name!r} is not usable", kind="protocol", hint=info.hint)
    model = info.model or settings.model
    if not model:
        raise ModelMissing(f"the endpoint {info.name!r} names no model", hint="set the model of this endpoint")
    key = settings.key(os.environ if environ is None else environ)
    endpoint = Endpoint(settings.base_url, key=key, deadlines=deadlines)
    limit = info.context_length or settings.context_length
    price = settings.price
    if protocol == "actions":
        return ActionModel(
            endpoint,
            name=model,
            endpoint_name=info.name,
            context_length=limit,
            price=price,
            options=fields,
            constraint=info.constraint or "response_format",
            sees=info.vision is True,
        )
    return ChatModel(
        endpoint,
        name=model,
        endpoint_name=info.name,
        protocol=protocol,
        context_length=limit,
        price=price,
        options=fields,
        sees=info.vision is True,
    )
