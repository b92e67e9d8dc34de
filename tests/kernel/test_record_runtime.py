"""What the run notebook tells of the host's own doings: corrections, plans, notices, calls of which nobody knows, workers."""

from support.story import SESSION, story

from jupyter_pernix.fold import SessionFold
from jupyter_pernix.kernel.record import PLAN_MIME, TOOL_CALL_MIME, run_notebook
from jupyter_pernix.records import CallView, MessageView, SessionView


def view() -> SessionView:
    return SessionFold.of(SESSION, story()).view


def sources(told: SessionView, kind: str) -> list[str]:
    return [cell["source"] for cell in run_notebook(told)["cells"] if cell["metadata"]["pernix"].get("kind") == kind]


def test_corrections_stand_before_the_text() -> None:
    told = view()
    message = next(item for turn in told.turns for item in turn.items if isinstance(item, MessageView))
    message.text, message.corrections = "All is done.", ["Nothing was\nchanged."]
    (answer,) = [source for source in sources(told, "answer") if "All is done." in source]
    assert answer == "> **Correction:** Nothing was changed.\n\nAll is done."


def test_the_plan_and_what_the_host_did_are_told() -> None:
    (plan,) = [cell for cell in run_notebook(view())["cells"] if cell["metadata"]["pernix"].get("kind") == "plan"]
    data = plan["outputs"][0]["data"]
    assert plan["source"] == "# plan: Count, then mend."
    assert data["text/markdown"] == "**Plan:** Count, then mend.\n\n- · Count the rows"
    assert data["text/plain"] == "Plan: Count, then mend.\n· Count the rows"
    assert data[PLAN_MIME]["steps"] == [{"text": "Count the rows", "status": "pending"}]
    notices = "\n".join(sources(view(), "notice"))
    assert "waiting 12 s" in notices
    assert "scripted failed, so spare answers" in notices


def test_a_call_of_which_nobody_knows_says_so_and_a_worker_is_named() -> None:
    told = view()
    call = next(item for turn in told.turns for item in turn.items if isinstance(item, CallView) and not item.execution)
    call.status = "unknown"
    outputs = {
        cell["metadata"]["pernix"]["call_id"]: cell["outputs"][0]["data"]
        for cell in run_notebook(told)["cells"]
        if cell["metadata"]["pernix"].get("kind") == "tool"
    }
    assert "It is not known whether this had its effect." in outputs[call.call_id]["text/plain"]
    workers = [data[TOOL_CALL_MIME]["worker"] for data in outputs.values() if data[TOOL_CALL_MIME]["worker"]]
    assert [worker["worker_id"] for worker in workers] == ["ses_0002"]
