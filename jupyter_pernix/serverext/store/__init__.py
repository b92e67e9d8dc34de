"""The store: one DuckDB file, one writing thread, an append-only log, and the projections made from it.

``StoreError`` and its kinds are in ``jupyter_pernix.errors``.
"""

from .log import EventStore, Wire

__all__ = ["EventStore", "Wire"]
