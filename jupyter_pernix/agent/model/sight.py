"""Whether a model sees: what its server says of it, and what a refusal of pictures sounds like. Pure."""

import re
from typing import Any, cast

from ...errors import EndpointFailed
from ...records import JSON

_PICTURES = re.compile(
    r"image|picture|vision|visual|multi-?modal|mmproj|media|content (?:parts?|type)|must be a string|valid string|string_type"
    r"|expected (?:a )?string|cannot unmarshal|roles must alternate",
    re.IGNORECASE,
)
_REFUSALS = (400, 404, 413, 415, 422, 500, 501)
"""llama.cpp and Ollama refuse pictures with a 500, OpenRouter with a 404."""


def is_about_pictures(fault: EndpointFailed) -> bool:
    """Whether a request that had pictures may have been refused because of them. It is made again without them then, so that being
    wrong costs a request and no turn."""
    if fault.kind in ("too_large", "bad_history"):
        return True
    return fault.status in (None, *_REFUSALS) and _PICTURES.search(str(fault)) is not None


def without_pictures(fault: EndpointFailed) -> None:
    """Make the fault one that is asked again at once, and says what changes."""
    fault.kind, fault.retryable = "bad_pictures", True
    fault.args = (f"{str(fault).rstrip('.')}; from now on it is shown no pictures",)


def listed_sight(entry: JSON) -> bool | None:
    """What a server's list of models says of one; ``None``: nothing."""
    architecture = entry.get("architecture")
    if isinstance(architecture, dict):
        modalities: Any = cast(JSON, architecture).get("input_modalities")
        if isinstance(modalities, list):
            return "image" in modalities
    capabilities: Any = entry.get("capabilities")
    if isinstance(capabilities, dict) and isinstance(cast(JSON, capabilities).get("vision"), bool):
        return bool(cast(JSON, capabilities)["vision"])
    if isinstance(capabilities, list):
        return bool({"vision", "multimodal", "image"} & set(map(str, cast(list[Any], capabilities))))
    return True if entry.get("type") == "vlm" else False if entry.get("type") == "llm" else None


def told_sight(answer: JSON) -> bool | None:
    """The same of an answer about one model: SGLang's ``model_info``, llama.cpp's ``props``, Ollama's ``show``."""
    if isinstance(answer.get("has_image_understanding"), bool):
        return bool(answer["has_image_understanding"])
    modalities: Any = answer.get("modalities")
    if isinstance(modalities, dict) and isinstance(cast(JSON, modalities).get("vision"), bool):
        return bool(cast(JSON, modalities)["vision"])
    capabilities: Any = answer.get("capabilities")
    return "vision" in capabilities if isinstance(capabilities, list) else None
