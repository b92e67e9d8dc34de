"""The fold in Python and its twin in TypeScript read the same logs: ``tests/cases/logs/*.json``, each a log and what it folds into.

The files are made here (``python tests/test_fold_twins.py``) and committed; Jest folds the same files with ``reduce.ts``.
"""

import json
from pathlib import Path

import msgspec
import pytest
from support.fold_log import SESSION
from support.fold_stories import LOGS

from jupyter_pernix import events as ev
from jupyter_pernix.fold import SessionFold

FOLDER = Path(__file__).parent / "cases" / "logs"


def case(name: str) -> str:
    """The file's text: the log as it travels, and the view as the server sends it."""
    stored = LOGS[name]().stored
    lines = [json.loads(ev.encode_stored(entry)) for entry in stored]
    view = json.loads(msgspec.json.encode(SessionFold.of(SESSION, stored).view))
    return json.dumps({"log": lines, "view": view}, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", LOGS)
def test_the_committed_log_is_what_the_fold_says_today(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == case(name), "run python tests/test_fold_twins.py"


def test_the_logs_hold_every_event_there_is():
    seen = {ev.event_type(stored.event) for build in LOGS.values() for stored in build().stored}
    assert set(ev.EVENT_TYPES) <= seen


@pytest.mark.parametrize("name", LOGS)
def test_a_reader_that_returns_with_any_after_folds_to_the_same_view(name):
    stored = LOGS[name]().stored
    whole = SessionFold.of(SESSION, stored).view
    for cut in range(len(stored)):
        for back in range(cut + 1):
            fold = SessionFold.of(SESSION, stored[:cut])
            for entry in stored[back:]:
                fold.add(entry)
            assert fold.view == whole


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for log_name in LOGS:
        (FOLDER / f"{log_name}.json").write_text(case(log_name), encoding="utf-8")
