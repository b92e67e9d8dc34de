"""What a route table is made of; the table itself is ``handlers/__init__.py``."""

import re
from dataclasses import dataclass, field
from typing import Any

from tornado.web import RequestHandler

BASE = "/pernix/api"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One method of one address. ``query``: name → what it means. ``media`` other than JSON has no schema."""

    says: str
    status: int = 200
    takes: Any = None
    gives: Any = None
    media: str = "application/json"
    query: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Route:
    """``path`` as in OpenAPI, below ``BASE``: ``{name}`` is one part of a path."""

    path: str
    handler: type[RequestHandler]
    verbs: dict[str, Verb]


def pattern(path: str) -> str:
    """The regular expression of a route's address."""
    parts = ["([^/]+)" if part.startswith("{") else re.escape(part) for part in path.strip("/").split("/")]
    return BASE + "/" + "/".join(parts) + ("/?" if path == "/" else "")
