"""Logs that hold every kind of event, written by a small builder: what both folds are tested on."""

from jupyter_pernix import events as ev
from jupyter_pernix.ids import CallId, TurnId
from jupyter_pernix.records import (
    Budget,
    FileChange,
    Mention,
    Picture,
    Plan,
    PlanStep,
    TerminalCode,
    Usage,
)
from support.fold_log import SESSION, Log, S, stream


def whole_job() -> Log:
    """A real turn with an approval, code, an edit and a queued second turn."""
    log = Log()
    log.create()
    log.add(ev.SessionRenamed(session_id=SESSION, title="Dröppt 📉 rows"))
    log.add(ev.SessionRenamed(session_id=SESSION, title="Dropped rows", record_path="csv/pernix-runs/dropped.ipynb"))
    log.add(ev.SessionConfigured(session_id=SESSION, mode="auto", endpoint="scripted"))
    log.start("t1", "Find the bug 🐛")
    log.step("t1", "s1", 0)
    log.think("t1", "s1", "Look first.")
    log.say("t1", "s1", "I read the **importer**.")
    log.call("t1", "s1", "c1", "read_file", "read", path="importer.py")
    log.step_end("t1", "s1")
    log.decide("t1", "c1", "allow")
    log.begin("t1", "c1")
    log.end("t1", "c1", "completed", "1  import csv")
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="and then?", origin="cli"))
    log.step("t1", "s2", 1)
    log.call("t1", "s2", "c2", "run_code", "execute", code="x = 1\nprint(x)")
    log.call("t1", "s2", "c3", "edit_file", "edit", path="importer.py", old_text="[:-1]", new_text="")
    log.step_end("t1", "s2", None)
    log.decide("t1", "c2", "ask")
    log.ask("t1", "c2", "a1")
    log.answer("t1", "c2", "a1", "allow_session")
    log.begin("t1", "c2")
    log.execute("t1", "c2", "e1")
    log.output("t1", "e1", "append", output=stream("0 "))
    log.output("t1", "e1", "extend", index=0, text="1 ✓")
    log.output(
        "t1", "e1", "append", output={"output_type": "display_data", "data": {"text/plain": "a"}, "metadata": {}}
    )
    log.output(
        "t1",
        "e1",
        "replace",
        index=1,
        output={"output_type": "display_data", "data": {"text/plain": "b"}, "metadata": {}},
    )
    log.executed("t1", "e1", "ok")
    log.save_widgets("t1", m1="0 %", m2="red")
    log.end("t1", "c2", "completed", "0 1 ✓")
    log.decide("t1", "c3", "allow")
    log.begin("t1", "c3")
    change = FileChange(
        path="csv/importer.py", before="aa", after="bb", added_lines=1, removed_lines=1, diff="-a\n+b\n"
    )
    log.add(ev.FileChanged(session_id=SESSION, turn_id=TurnId("t1"), call_id=CallId("c3"), change=change))
    log.end("t1", "c3", "completed", "edited")
    log.add(ev.ProblemNoticed(session_id=SESSION, turn_id=TurnId("t1"), text="The endpoint was slow.", hint="Wait."))
    log.step("t1", "s3", 2)
    log.say("t1", "s3", "Done.")
    log.step_end("t1", "s3", 900)
    log.save_widgets("t1", m1="100 %", m3="new")
    log.finish("t1", TerminalCode.ANSWERED)
    log.add(ev.SessionArchived(session_id=SESSION, archived=True))
    return log


def stopped_turn() -> Log:
    """A question that the host answers because the turn is stopped, code that is interrupted, a queued turn withdrawn."""
    log = Log()
    log.create()
    log.start("t1", "loop forever")
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "run_code", "execute", code="while True: pass")
    log.step_end("t1", "s1")
    log.begin("t1", "c1")
    log.execute("t1", "c1", "e1")
    log.output("t1", "e1", "append", output=stream("a"))
    log.output("t1", "e1", "clear")
    log.output("t1", "e1", "append", output=stream("b"))
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="later", origin="panel"))
    log.add(
        ev.TurnFinished(
            session_id=SESSION, turn_id=TurnId("t2"), code=TerminalCode.CANCELLED, detail="withdrawn", usage=Usage()
        )
    )
    log.move(S.CANCELLING, "cancel_asked", "t1")
    log.executed("t1", "e1", "cancelled", "KeyboardInterrupt")
    log.end("t1", "c1", "cancelled", "stopped by the user")
    log.finish("t1", TerminalCode.CANCELLED, "stopped by the user")
    log.start("t3", "again")
    log.step("t3", "s2", 0)
    log.call("t3", "s2", "c2", "run_shell", "execute", command="make")
    log.step_end("t3", "s2")
    log.ask("t3", "c2", "a1")
    log.answer("t3", "c2", "a1", "reject_once", "use pytest instead")
    log.end("t3", "c2", "failed", "The user said: use pytest instead")
    log.finish("t3", TerminalCode.MODEL_FAILED, "the endpoint gave up")
    return log


def strange_log() -> Log:
    """Facts about unknown things, steps that fit no list, events of a newer program: nothing breaks, nothing shows."""
    log = Log()
    log.create()
    log.say("nowhere", "s0", "lost")
    log.step_end("nowhere", "s0", 77)
    log.call("nowhere", "s0", "c0", "read_file", "read", path="x")
    log.begin("t1", "c9")
    log.ask("t1", "c9", "a9")
    log.execute("t1", "c9", "e9")
    log.output("t1", "e9", "append", output=stream("x"))
    log.executed("t1", "e9", "ok")
    log.add(ev.ProblemNoticed(session_id=SESSION, turn_id=None, text="the store is slow"))
    log.add(
        ev.Unknown(
            session_id=SESSION, type="worker.spawned", body={"type": "worker.spawned", "session_id": SESSION, "n": 1}
        )
    )
    log.add(ev.Unknown(session_id=SESSION, type="moon.landed", body={"type": "moon.landed", "session_id": SESSION}))
    log.step("nowhere", "s0", 0)
    log.retry("nowhere", "s0", 3.0)
    log.fall_back("nowhere", "s0")
    log.compact("nowhere", 5)
    log.compact(None, 6)
    log.instructions("nowhere", "d", "text")
    log.add(ev.TurnEdited(session_id=SESSION, turn_id=TurnId("nowhere"), text="lost"))
    log.add(ev.TurnResumed(session_id=SESSION, turn_id=TurnId("nowhere"), text="lost"))
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("nowhere"), plan=Plan(approach="none")))
    log.spawn("t1", "c9", "w9")
    log.report("t1", "c9", "w9", TerminalCode.ANSWERED)
    log.mirror("t1", "e9")
    log.ask_line("t1", "e9", "i9")
    log.answer_line("t1", "e9", "i9", "lost")
    log.restart("nowhere", "lost")
    log.save_widgets("nowhere", m9="lost")
    log.tell("nowhere", "variable", "df")
    log.changecell("t1", "c9", "g9", "a", "b")
    log.cell_changed("t1", "c9", "g9", "file")
    log.cell_refused("t1", "c9", "g9")
    log.decide_change("t1", "g9", "keep")
    log.start("t1", "go")
    log.fall_back("t1", "s7")
    log.step_end("t1", "s7", 77, 1.0)
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "run_code", "execute", code="1")
    log.execute("t1", "c1", "e1")
    log.output("t1", "e1", "extend", index=0, text="no such output")
    log.output("t1", "e1", "replace", index=4, output=stream("no"))
    log.output("t1", "e1", "append")
    log.output("t1", "e1", "append", output={"output_type": "error", "ename": "E", "evalue": "", "traceback": []})
    log.output("t1", "e1", "extend", index=0, text="tail")
    log.ask("t1", "c1", "a1")
    log.answer("t1", "c1", "another", "allow_once")
    log.spawn("t1", "c1", "w1")
    log.report("t1", "c1", "another", TerminalCode.ANSWERED)
    log.answer_line("t1", "e1", "another", "lost")
    return log


def long_life() -> Log:
    """A planned turn that waits, falls back, delegates, is made shorter and paused over a restart; then work between turns."""
    log = Log()
    log.create(parent="ses_0", budget=Budget(tokens=100_000, cost=2.5))
    log.add(ev.SessionRenamed(session_id=SESSION, title="Long", by="host"))
    log.start("t1", "Do all of it")
    log.instructions("t1", "d1", "")
    log.instructions("t1", "d2", "be brief")
    log.instructions("t1", "", "")
    log.move(S.SCOUTING, "scout_started", "t1")
    log.step("t1", "s0", 0, "scout", "background")
    log.step_end("t1", "s0", 50, 0.125)
    steps = [
        PlanStep(text="look", status="completed"),
        PlanStep(text="mend", status="in_progress"),
        PlanStep(text="test"),
    ]
    plan = Plan(approach="Look first", steps=steps, tools=["read_file"])
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("t1"), plan=plan))
    log.move(S.PROCESSING, "scout_done", "t1")
    log.step("t1", "s1", 0)
    log.retry("t1", "s1", 12.0)
    log.step(None, "s8", 0, "title", "background")
    log.step_end(None, "s8", 30, 0.25)
    log.add(ev.SessionRenamed(session_id=SESSION, title="All of it", by="model"))
    log.retry("t1", "s1", 20.5)
    log.fall_back("t1", "s1")
    log.call("t1", "s1", "c1", "delegate", "other", title="part", task="do a part")
    log.call("t1", "s1", "c2", "delegate", "other", title="rest", task="do the rest")
    log.step_end("t1", "s1", 800, 0.5)
    log.begin("t1", "c1")
    log.spawn("t1", "c1", "w1")
    log.move(S.AWAITING_WORKERS, "workers_started", "t1")
    log.begin("t1", "c2")
    log.spawn("t1", "c2", "w2")
    log.report("t1", "c1", "w1", TerminalCode.BUDGET_COST)
    log.end("t1", "c1", "failed", "it ran out of money")
    log.end("t1", "c2", "unknown", "the server ended meanwhile")
    log.move(S.PROCESSING, "workers_done", "t1")
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("t1"), plan=Plan(approach="Mend", by="agent")))
    log.move(S.COMPACTING, "compaction_started", "t1")
    log.step("t1", "s2", 0, "summary", "background")
    log.step_end("t1", "s2", 700)
    log.compact("t1", 4321)
    log.move(S.PROCESSING, "compaction_done", "t1")
    log.move(S.PAUSE_REQUESTED, "pause_asked", "t1")
    log.move(S.PAUSED, "step_ended", "t1")
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="later", origin="panel"))
    log.add(ev.TurnEdited(session_id=SESSION, turn_id=TurnId("t2"), text="later, please"))
    log.add(ev.TurnResumed(session_id=SESSION, turn_id=TurnId("t1"), text="The server was started again."))
    log.move(S.PROCESSING, "resumed", "t1")
    log.step("t1", "s3", 1)
    log.say("t1", "s3", "All tests pass.", "No test was run in this turn.")
    log.step_end("t1", "s3", 900, 0.0625)
    log.finish("t1", TerminalCode.BUDGET_LINES, "200 lines", 0.6875)
    log.move(S.COMPACTING, "compaction_started", None)
    log.step(None, "s9", 0, "summary", "background")
    log.retry(None, "s9", 4.0)
    log.fall_back(None, "s9")
    log.retry(None, "s9", 1.0)
    log.step_end(None, "s9", 600, 0.5)
    log.compact(None, 99)
    log.move(S.IDLE_READY, "settled", None)
    log.add(ev.SessionConfigured(session_id=SESSION, budget=Budget(rounds=None, seconds=None)))
    return log


def in_a_notebook() -> Log:
    """A session in an open notebook: told of variables, changes cells, runs them, asks for lines; the kernel starts anew."""
    picture = Picture(mime="image/png", data="iVBORw0KGgo=")
    log = Log()
    log.create()
    log.restart(None, "nobody is told before the first turn")
    log.attach("csv/a.ipynb")
    log.start(
        "t1", "mend @df", Mention(kind="variable", name="df"), Mention(kind="cell", name="abc", path="csv/a.ipynb")
    )
    log.tell("t1", "environment", "python3")
    log.tell("t1", "inventory", "")
    log.tell("t1", "cell", "abc", picture)
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "edit_notebook", "edit", op="edit")
    log.call("t1", "s1", "c2", "run_cells", "execute", cell_ids=["abc"])
    log.call("t1", "s1", "c3", "edit_notebook", "edit", op="delete")
    log.step_end("t1", "s1")
    log.begin("t1", "c1")
    for change, before, after in (("g1", "x = 1", "x = 2\ny"), ("g2", None, "# new"), ("g3", "old", None)):
        log.changecell("t1", "c1", change, before, after)
        log.cell_changed("t1", "c1", change, "page")
    log.changecell("t1", "c1", "g4", "x", "z")
    log.cell_refused("t1", "c1", "g4")
    log.end("t1", "c1", "completed", "changed 3 cells", picture)
    log.begin("t1", "c2")
    log.execute("t1", "c2", "e1", "abc")
    log.ask_line("t1", "e1", "i1")
    log.answer_line("t1", "e1", "i1", "Ada ✓")
    log.ask_line("t1", "e1", "i2", password=True)
    log.answer_line("t1", "e1", "i2", None)
    log.output("t1", "e1", "append", output=stream("Ada"))
    log.executed("t1", "e1", "ok")
    log.mirror("t1", "e1")
    log.execute("t1", "c2", "e3", "abc")
    log.executed("t1", "e3", "error", "NameError")
    log.output("t1", "e1", "extend", index=0, text=" is late")
    log.end("t1", "c2", "completed", "Ada")
    log.begin("t1", "c3")
    log.execute("t1", "c3", "e2", "abc")
    log.ask_line("t1", "e2", "i3")
    log.restart("t1", "The kernel died; all variables are gone.")
    log.answer_line("t1", "e2", "i3", None, "host")
    log.executed("t1", "e2", "dead")
    log.changecell("t1", "c3", "g5", "gone", None)
    log.decide_change("t1", "g1", "undo", "Nothing that ran is undone in the kernel.")
    log.decide_change("t1", "g2", "keep")
    log.finish("t1", TerminalCode.ANSWERED)
    log.attach("csv/renamed.ipynb")
    log.restart(None, "The user restarted the kernel.")
    log.detach("The notebook was closed.")
    return log


def put_back() -> Log:
    """Hooks about a call, files kept before a change, and some of them put back."""
    log = Log()
    log.create()
    log.add(ev.SessionConfigured(session_id=SESSION, sandbox=True, network=True))
    log.add(ev.SessionConfigured(session_id=SESSION, network=False))
    log.start("t1", "tidy up")
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "write_file", "edit", path="a.py", content="x")
    log.call("t1", "s1", "c2", "write_file", "edit", path="b.py", content="y")
    log.call("t1", "s1", "c3", "write_file", "edit", path="c.py", content="z")
    log.step_end("t1", "s1")
    log.hook("t1", "c1", "PreToolUse", "allow")
    log.decide("t1", "c1", "allow")
    log.keep("t1")
    log.keep("t1", "copies", "ignored.txt")
    for call, path in (("c1", "a.py"), ("c2", "b.py")):
        log.begin("t1", call)
        change = FileChange(path=path, before=None, after="bb", added_lines=1)
        log.add(ev.FileChanged(session_id=SESSION, turn_id=TurnId("t1"), call_id=CallId(call), change=change))
        log.end("t1", call, "completed", "written")
    log.hook("t1", "c1", "PostToolUse", "failed", "It could not be started.")
    log.hook("t1", "c3", "PreToolUse", "deny", "Not on Fridays.")
    log.hook("t1", "gone", "PreToolUse", "deny")
    log.end("t1", "c3", "failed", "Not done: a hook refused it.")
    log.finish("t1", TerminalCode.ANSWERED)
    log.undo("u1", "t1", "a.py", "b.py")
    log.restored("u1", "a.py", "c1", "gone")
    log.restore_refused("u1", "b.py", "It was changed since.")
    log.undo("u2", None, "a.py")
    log.restored("u2", "a.py", "c1", "c2")
    log.restored("unknown", "a.py", "c1")
    log.restore_refused("unknown", "a.py", "?")
    return log


LOGS = {
    "put_back": put_back,
    "whole_job": whole_job,
    "stopped_turn": stopped_turn,
    "strange_log": strange_log,
    "long_life": long_life,
    "in_a_notebook": in_a_notebook,
}
