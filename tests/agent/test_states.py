from collections import deque

import pytest

from jupyter_pernix.agent.states import REASONS, TRANSITIONS, Reason, advance, picture
from jupyter_pernix.errors import InvalidTransition
from jupyter_pernix.records import SessionState

S = SessionState

TABLE: dict[tuple[SessionState, Reason], SessionState] = {
    (S.IDLE_READY, "turn_started"): S.PROCESSING,
    (S.IDLE_READY, "compaction_started"): S.COMPACTING,
    (S.SCOUTING, "scout_done"): S.PROCESSING,
    (S.SCOUTING, "cancel_asked"): S.CANCELLING,
    (S.SCOUTING, "turn_ending"): S.FINALIZING,
    (S.SCOUTING, "recovered"): S.IDLE_READY,
    (S.PROCESSING, "scout_started"): S.SCOUTING,
    (S.PROCESSING, "approval_requested"): S.AWAITING_USER,
    (S.PROCESSING, "input_requested"): S.AWAITING_USER,
    (S.PROCESSING, "workers_started"): S.AWAITING_WORKERS,
    (S.PROCESSING, "compaction_started"): S.COMPACTING,
    (S.PROCESSING, "pause_asked"): S.PAUSE_REQUESTED,
    (S.PROCESSING, "cancel_asked"): S.CANCELLING,
    (S.PROCESSING, "turn_ending"): S.FINALIZING,
    (S.PROCESSING, "recovered"): S.IDLE_READY,
    (S.PAUSE_REQUESTED, "step_ended"): S.PAUSED,
    (S.PAUSE_REQUESTED, "resumed"): S.PROCESSING,
    (S.PAUSE_REQUESTED, "scout_started"): S.SCOUTING,
    (S.PAUSE_REQUESTED, "approval_requested"): S.AWAITING_USER,
    (S.PAUSE_REQUESTED, "input_requested"): S.AWAITING_USER,
    (S.PAUSE_REQUESTED, "workers_started"): S.AWAITING_WORKERS,
    (S.PAUSE_REQUESTED, "compaction_started"): S.COMPACTING,
    (S.PAUSE_REQUESTED, "cancel_asked"): S.CANCELLING,
    (S.PAUSE_REQUESTED, "turn_ending"): S.FINALIZING,
    (S.PAUSE_REQUESTED, "recovered"): S.IDLE_READY,
    (S.PAUSED, "resumed"): S.PROCESSING,
    (S.PAUSED, "cancel_asked"): S.CANCELLING,
    (S.PAUSED, "recovered"): S.IDLE_READY,
    (S.AWAITING_USER, "approval_resolved"): S.PROCESSING,
    (S.AWAITING_USER, "input_answered"): S.PROCESSING,
    (S.AWAITING_USER, "cancel_asked"): S.CANCELLING,
    (S.AWAITING_USER, "turn_ending"): S.FINALIZING,
    (S.AWAITING_USER, "recovered"): S.IDLE_READY,
    (S.AWAITING_WORKERS, "workers_done"): S.PROCESSING,
    (S.AWAITING_WORKERS, "cancel_asked"): S.CANCELLING,
    (S.AWAITING_WORKERS, "turn_ending"): S.FINALIZING,
    (S.AWAITING_WORKERS, "recovered"): S.IDLE_READY,
    (S.COMPACTING, "compaction_done"): S.PROCESSING,
    (S.COMPACTING, "settled"): S.IDLE_READY,
    (S.COMPACTING, "cancel_asked"): S.CANCELLING,
    (S.COMPACTING, "turn_ending"): S.FINALIZING,
    (S.COMPACTING, "recovered"): S.IDLE_READY,
    (S.FINALIZING, "turn_ended"): S.IDLE_READY,
    (S.FINALIZING, "recovered"): S.IDLE_READY,
    (S.CANCELLING, "turn_ending"): S.FINALIZING,
    (S.CANCELLING, "turn_ended"): S.IDLE_READY,
    (S.CANCELLING, "recovered"): S.IDLE_READY,
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("state", S)
def test_each_pair_leads_where_the_table_says_or_is_refused(state: SessionState, reason: Reason) -> None:
    after = TABLE.get((state, reason))
    if after is not None:
        assert advance(state, reason) is after
        return
    with pytest.raises(InvalidTransition) as refused:
        advance(state, reason)
    assert (refused.value.state, refused.value.reason) == (state.value, reason)


def test_each_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(S)


def test_each_reason_is_used() -> None:
    assert {reason for row in TRANSITIONS.values() for reason in row} == set(REASONS)


@pytest.mark.parametrize("state", S)
def test_each_state_can_become_idle(state: SessionState) -> None:
    assert S.IDLE_READY in _reachable(state)


def test_each_state_can_be_reached_from_idle() -> None:
    assert _reachable(S.IDLE_READY) == set(S)


@pytest.mark.parametrize("state", [state for state in S if state not in (S.IDLE_READY, S.FINALIZING, S.CANCELLING)])
def test_a_turn_can_be_stopped_in_every_state_that_works_or_waits(state: SessionState) -> None:
    assert advance(state, "cancel_asked") is S.CANCELLING


def test_the_picture_shows_every_arrow_of_the_table_and_no_other() -> None:
    first, start, *arrows = picture().splitlines()
    assert (first, start.strip()) == ("stateDiagram-v2", "[*] --> idle_ready")
    assert {arrow.strip() for arrow in arrows} == {
        f"{before.value} --> {after.value}: {reason}" for (before, reason), after in TABLE.items()
    }


def _reachable(start: SessionState) -> set[SessionState]:
    found, waiting = {start}, deque([start])
    while waiting:
        for after in TRANSITIONS[waiting.popleft()].values():
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found
