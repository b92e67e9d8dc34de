"""``kill -9`` of the server at random moments of the main job. More rounds: ``PERNIX_CRASH_ROUNDS``, or ``benchmarks/crash.py``."""

import os
from pathlib import Path

import pytest
from support.crash import crash_rounds
from support.model_server import ModelServer

ROUNDS = int(os.environ.get("PERNIX_CRASH_ROUNDS", "5"))
JOBS = Path(__file__).parent / "support" / "jobs.py"


@pytest.mark.server
@pytest.mark.kernel
@pytest.mark.timeout(60 * ROUNDS)
def test_a_killed_server_loses_nothing_it_has_told_and_goes_on(tmp_path_factory: pytest.TempPathFactory):
    with ModelServer(program=f"{JOBS}:decide") as model:
        rounds = crash_rounds(tmp_path_factory.mktemp("crash"), model.url, rounds=ROUNDS, seed=2026)
    assert [crash for crash in rounds if not crash.good] == []
    assert {crash.code for crash in rounds} <= {"interrupted", "answered"}
    assert "interrupted" in {crash.code for crash in rounds}
