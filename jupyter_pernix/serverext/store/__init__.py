"""The store: one DuckDB file, one writing thread, an append-only log, and the projections made from it.

``StoreError`` and its kinds are in ``jupyter_pernix.errors``.
"""

from .audit_rows import Auditor, AuditState, EventRow, Ledger, Mark, new_state
from .log import EventStore, Wire

__all__ = ["AuditState", "Auditor", "EventRow", "EventStore", "Ledger", "Mark", "Wire", "new_state"]
