"""The cells of a run notebook as they are gathered: each with an id that no other has and with our metadata."""

import re
from collections import Counter
from collections.abc import Mapping

from ..ids import SessionId
from ..records import JSON
from .bundles import Caps, clean_output

CAPS = Caps(total=10**12)
SKIP, RAISES, SETUP = "skip-execution", "raises-exception", "pernix-setup"


class RecordCells:
    """``all``: the cells so far. Further keywords of the methods are what the cell's ``pernix`` metadata say; empty ones are left out."""

    def __init__(self, session_id: SessionId, *, comment: str) -> None:
        self._session_id = session_id
        self._comment = comment
        self._ids: Counter[str] = Counter()
        self.all: list[JSON] = []

    def markdown(self, wanted_id: str, text: str, /, *, attachments: JSON | None = None, **pernix: object) -> None:
        self.all.append(
            {
                "cell_type": "markdown",
                "id": self._unique(wanted_id),
                "metadata": self._metadata(pernix),
                "source": text,
                **({"attachments": attachments} if attachments else {}),
            }
        )

    def code(
        self,
        wanted_id: str,
        source: str,
        /,
        *,
        outputs: list[JSON],
        count: int | None,
        tags: list[str],
        **pernix: object,
    ) -> None:
        metadata = self._metadata(pernix)
        if tags:
            metadata["tags"] = tags
        self.all.append(
            {
                "cell_type": "code",
                "id": self._unique(wanted_id),
                "metadata": metadata,
                "source": source,
                "outputs": outputs,
                "execution_count": count,
            }
        )

    def told(self, wanted_id: str, source: list[str], /, *outputs: JSON, **pernix: object) -> None:
        """A cell that runs nothing and shows ``outputs``; ``source`` are the lines of a comment."""
        lines = "\n".join(f"{self._comment} {line}" for line in source)
        clean = [clean_output(output, caps=CAPS) for output in outputs]
        self.code(wanted_id, lines, outputs=clean, count=None, tags=[SKIP], **pernix)

    def _metadata(self, pernix: Mapping[str, object]) -> JSON:
        given = {key: value for key, value in pernix.items() if value not in (None, "", [])}
        return {"pernix": {"session_id": self._session_id, **given}}

    def _unique(self, wanted: str) -> str:
        cell_id = re.sub(r"[^a-zA-Z0-9_-]", "-", wanted)[:56] or "cell"
        self._ids[cell_id] += 1
        return cell_id if self._ids[cell_id] == 1 else f"{cell_id}-{self._ids[cell_id]}"
