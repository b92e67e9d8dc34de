"""Each fault that users of other agents reported is shown to be absent by a test, or its part of the product does not exist yet.

A test says so itself (``@fault("id")``, in ``tests/faults``) or is linked here. The names are read from the source, so a test that is
renamed or removed leaves its fault uncovered, and that is a failure.
"""

import ast
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
FAULTS: list[dict[str, Any]] = json.loads((TESTS / "cases" / "agent_faults.json").read_text(encoding="utf-8"))["faults"]
IDS = [fault["id"] for fault in FAULTS]

LINKED: dict[str, tuple[str, ...]] = {
    # loops
    "same-call-3x": ("agent/test_loops.py::test_the_same_call_again_and_again_is_run_twice_then_said_then_ended",),
    "same-call-other-order": ("agent/test_loops.py::test_order_of_arguments_and_descriptions_make_no_other_call",),
    "same-call-varying-output": ("agent/test_loops.py::test_an_output_that_changes_does_not_hide_a_repeat",),
    "declined-again": ("agent/test_loops.py::test_a_declined_call_is_not_asked_about_again",),
    "stale-edit-storm": (
        "agent/test_loops.py::test_a_file_that_is_reformatted_after_each_read_is_edited_by_the_text_in_the_refusal",
        "agent/tools/test_files.py::test_a_long_file_that_changed_is_shown_around_the_place",
    ),
    "double-action-text": ("agent/test_loops.py::test_text_that_repeats_without_end_is_cut_off",),
    # claims
    "claims-tests": ("agent/test_claims.py::test_a_reply_is_corrected_by_facts_and_only_then",),
    "ends-on-promise": ("agent/test_loops.py::test_an_announced_action_is_asked_for_in_the_same_turn",),
    "claims-deploy": ("agent/test_claims.py::test_a_reply_is_corrected_by_facts_and_only_then",),
    # histories
    "orphan-on-cancel": (
        "agent/test_cancelling.py::test_after_a_stop_the_next_message_goes_to_a_model_that_sees_what_happened",
        "agent/test_context.py::test_calls_that_a_crash_cut_off_get_a_result_when_the_log_is_read",
    ),
    "orphan-result": (
        "agent/model/test_history.py::test_a_result_without_its_call_goes_and_the_first_of_two_counts",
        "agent/test_compaction.py::test_old_results_are_left_out_first_and_calls_keep_their_results",
    ),
    "orphan-parallel": ("agent/test_cancelling.py::test_stopped_in_the_first_of_three_calls_all_three_have_a_result",),
    "half-args-stored": ("agent/test_run.py::test_a_broken_stream_is_asked_again_and_leaves_nothing_of_itself",),
    "dup-tool-ids": ("agent/test_context.py::test_ids_that_an_endpoint_gives_twice_are_made_unique",),
    "switch-model": ("agent/test_context.py::test_thoughts_are_not_sent_again",),
    # context
    "compact-loses-rule": (
        "agent/test_compaction.py::test_what_the_user_forbade_is_in_the_next_request_word_for_word",
    ),
    "compact-redo": (
        "agent/test_compaction.py::test_an_edit_that_is_repeated_after_a_compaction_is_not_done_twice",
        "agent/test_compaction.py::test_done_work_comes_from_the_record_and_not_from_the_summary",
    ),
    "overflow-storm": (
        "agent/test_compaction.py::test_a_server_that_always_refuses_is_asked_twice_at_most",
        "agent/test_compaction.py::test_a_compaction_that_frees_nothing_ends_the_turn_at_once",
    ),
    "compact-idle": ("agent/test_compaction.py::test_no_compaction_happens_without_a_turn",),
    "huge-result": (
        "agent/test_compaction.py::test_a_result_that_is_larger_than_the_context_is_cut_when_it_comes_and_kept_whole",
    ),
    "cut-json-mid": ("agent/test_excerpt.py::test_cuts_fall_between_lines_and_say_how_much_is_missing",),
    "notebook-outputs-flood": (
        "agent/tools/test_notebookview.py::test_outputs_are_one_line_each_and_sources_are_whole",
    ),
    # permission
    "stale-approval": (
        "serverext/test_approvals.py::test_a_stopped_turn_takes_its_question_with_it",
        "serverext/test_approvals.py::test_a_question_is_answered_once",
    ),
    "pending-lost-reload": (
        "serverext/test_approvals.py::test_a_question_of_a_stopped_server_is_answered_in_the_next_under_the_same_id",
        "browser/test_panel.py::test_the_main_job_in_edit_mode_survives_a_reload",
    ),
    "always-useless": (
        "agent/policy/test_broker.py::test_each_offered_rule_would_have_allowed_the_call",
        "agent/policy/shell/test_cases.py::test_an_offered_rule_covers_the_very_line_it_was_offered_for",
    ),
    "rule-beats-deny": ("agent/policy/test_broker.py::test_a_deny_rule_beats_everything",),
    "rules-file-damaged": (
        "agent/policy/test_rules_file.py::test_a_file_that_cannot_be_understood_allows_nothing_and_is_left_as_it_is",
        "agent/policy/test_broker.py::test_with_unreadable_rules_everything_is_asked_and_nothing_offered",
    ),
    "rules-race": (
        "agent/policy/test_rules_file.py::test_rules_of_many_threads_are_all_kept",
        "agent/policy/test_rules_file.py::test_rules_of_many_programs_are_all_kept",
    ),
    "unattended-ask": ("agent/test_permission.py::test_what_would_be_asked_is_refused_when_nobody_is_there",),
    # streams
    "reconnect-lost-events": (
        "serverext/test_stream.py::test_a_client_that_comes_back_after_any_event_folds_to_the_same_state",
    ),
    "replay-doubles-text": (
        "test_fold.py::test_a_reconnect_from_anywhere_folds_to_the_same_view",
        "serverext/test_bus.py::test_offset_zero_starts_afresh_and_a_repeated_piece_does_no_harm",
        "test_fold_twins.py::test_a_reader_that_returns_with_any_after_folds_to_the_same_view",
    ),
    # workers
    "sub-fail-silent": (
        "serverext/test_workers.py::test_a_worker_that_breaks_is_reported",
        "serverext/test_workers.py::test_a_worker_that_does_not_end_is_closed",
        "agent/test_delegating.py::test_a_worker_that_fails_is_told_as_a_failure",
    ),
    "sub-budget": (
        "agent/test_delegating.py::test_workers_share_what_is_left_of_the_budget",
        "agent/test_delegating.py::test_what_workers_spent_ends_the_turn_that_delegated",
    ),
    "cancel-leaves-children": (
        "serverext/test_workers.py::test_stopping_the_parent_stops_the_worker_and_both_say_so",
        "agent/test_delegating.py::test_stopping_a_turn_stops_its_workers",
        "agent/test_cancelling.py::test_stopped_in_a_command_its_processes_are_ended",
    ),
    # costs
    "budget-not-enforced": (
        "agent/test_run.py::test_tokens_are_checked_before_a_request_is_made",
        "agent/test_delegating.py::test_when_nothing_is_left_no_worker_is_started",
    ),
    "retry-storm": (
        "agent/model/test_retry.py::test_the_server_is_believed_about_the_time_and_the_user_is_told",
        "agent/model/test_retry.py::test_all_pauses_of_a_request_together_are_bounded",
    ),
    "quota-retry": ("agent/model/test_retry.py::test_a_used_up_quota_is_never_asked_again",),
    # secrets
    "key-in-error": (
        "agent/model/test_client.py::test_the_key_never_shows",
        "agent/model/test_faults.py::test_what_looks_like_a_key_is_masked",
    ),
    "child-env": (
        "agent/tools/test_shell.py::test_keys_and_start_files_are_not_handed_on",
        "kernel/test_provision.py::test_a_kernel_gets_no_token_and_no_foreign_backend",
    ),
    # foreign content
    "md-image-exfil": (
        "browser/test_hostile.py::test_hostile_text_in_answers_results_and_names_stays_text",
        "kernel/test_markdown.py::test_what_would_run_or_fetch_is_only_text",
    ),
    "output-html": (
        "browser/test_hostile.py::test_hostile_text_stays_text_in_the_run_notebook",
        "kernel/test_record.py::test_hostile_text_never_becomes_live_and_can_be_written",
    ),
    # edits
    "mtime-false": ("agent/tools/test_files.py::test_a_touched_file_is_the_same_file",),
    "crlf": ("agent/tools/test_files.py::test_what_an_edit_does_not_touch_stays_byte_for_byte",),
    "mixed-endings": (
        "agent/tools/test_files.py::test_what_an_edit_does_not_touch_stays_byte_for_byte",
        "agent/tools/test_textfile.py::test_a_replacement_in_mixed_endings_touches_its_own_bytes_only",
    ),
    "bom-encoding": ("agent/tools/test_files.py::test_a_character_that_the_files_encoding_lacks_is_named",),
    "ambiguous": ("agent/tools/test_files.py::test_a_text_that_occurs_several_times_is_refused_with_its_lines",),
    "partial-write": (
        "agent/policy/test_opening.py::test_a_write_that_fails_leaves_the_old_file_and_no_other",
        "agent/tools/test_files.py::test_an_edit_keeps_mode_and_link",
    ),
    # notebooks and kernels
    "nb-open-overwrite": (
        "browser/notebooks/test_notebook_edits.py::test_what_the_user_wrote_in_between_is_kept_and_the_change_refused",
        "browser/notebooks/test_notebook_care.py::test_the_user_types_on_while_cells_far_away_and_the_same_cell_change",
    ),
    "nb-ids": (
        "kernel/test_record.py::test_cells_keep_their_ids_when_the_session_goes_on",
        "kernel/test_record.py::test_a_notebook_is_written_as_jupyter_would_write_it",
        "agent/tools/test_files.py::test_notebooks_are_read_as_text_and_never_written",
    ),
    "nb-bad-json-replaced": ("agent/tools/test_files.py::test_a_damaged_notebook_is_reported_and_not_replaced",),
    "kernel-input": ("kernel/test_executor.py::test_code_that_asks_for_input_fails_and_says_so",),
    "kernel-restarted": (
        "kernel/test_executor.py::test_a_kernel_that_died_while_idle_is_replaced_and_the_next_code_is_told",
    ),
    "kernel-output-flood": (
        "kernel/test_executor.py::test_a_flood_is_bounded_in_the_record_and_whole_in_its_side_file",
    ),
    "automagic": ("agent/test_permission.py::test_in_edit_code_and_commands_are_asked_about_and_writes_are_not",),
    # processes
    "timeout-orphans": ("agent/tools/test_shell.py::test_after_the_deadline_the_whole_group_is_ended",),
    "setsid-escape": (
        "agent/tools/test_shell.py::test_what_is_left_in_the_background_neither_holds_the_call_nor_outlives_it",
    ),
}

NOT_YET: dict[str, str] = {
    "mcp-timeout-kills": "connectors",
    "mcp-crash": "connectors",
    "mcp-start-hang": "connectors",
    "mcp-stdout-noise": "connectors",
    "mcp-collision": "connectors",
    "mcp-name-400": "connectors",
    "mcp-list-changed": "connectors",
    "tool-desc-injection": "connectors",
    "dst-skipped": "schedules",
    "dst-minutely": "schedules",
    "tz-moved": "schedules",
    "catch-up-storm": "schedules",
    "two-servers": "schedules",
    "open-dirty": "editing of open documents",
}
"""Faults of a part that the product does not have: nothing can go wrong in it, and nothing is shown. The part's name is said."""


@cache
def functions(path: Path) -> dict[str, tuple[str, ...]]:
    """The tests of a file, each with the faults that it names."""
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            named = [each for each in node.decorator_list if isinstance(each, ast.Call)]
            ids = [
                str(argument.value)
                for each in named
                if isinstance(each.func, ast.Name) and each.func.id == "fault"
                for argument in each.args
                if isinstance(argument, ast.Constant)
            ]
            found[node.name] = tuple(ids)
    return found


@cache
def decorated() -> Counter[str]:
    """How many tests name each fault."""
    files = TESTS.rglob("test_*.py")
    return Counter(name for file in files for names in functions(file).values() for name in names)


def test_no_fault_is_told_twice() -> None:
    assert len(IDS) == len(set(IDS)) == 79


def test_only_faults_that_there_are_are_named() -> None:
    assert (set(LINKED) | set(NOT_YET) | set(decorated())) - set(IDS) == set()


@pytest.mark.parametrize("fault", IDS)
def test_each_fault_has_a_test_or_lacks_its_part(fault: str) -> None:
    covered = bool(LINKED.get(fault)) or decorated()[fault] > 0
    assert covered != (fault in NOT_YET), "in neither, or in both"


@pytest.mark.parametrize("place", sorted({place for places in LINKED.values() for place in places}))
def test_each_linked_test_is_there(place: str) -> None:
    file, _, name = place.partition("::")
    assert name in functions(TESTS / file)


def test_what_the_product_lacks_is_really_lacking() -> None:
    """A part that has come is no excuse any more."""
    package = TESTS.parent / "jupyter_pernix"
    parts = {
        "connectors": package / "agent" / "mcp",
        "schedules": package / "serverext" / "scheduler",
        "editing of open documents": package / "agent" / "tools" / "documents.py",
    }
    assert set(NOT_YET.values()) == set(parts)
    assert [name for name, path in parts.items() if path.exists()] == []
