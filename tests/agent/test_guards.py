"""The guards as pure functions of calls and results: what is a circle, and what is honest work that only looks like one."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent.worlds import TURN, World

from jupyter_pernix.agent.guards import DESCRIBING, UNCHANGED, Guards, call_key
from jupyter_pernix.agent.tools.registry import key_of
from jupyter_pernix.events import ContextCompacted, ToolCallFinished
from jupyter_pernix.ids import SessionId, TurnId


@dataclass
class Turn:
    """Plays calls: each is shown to the guards, and ends with its result if they let it."""

    guards: Guards = field(default_factory=Guards)
    refusals: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    def do(self, tool: str, result: str = "done", *, failed: bool = False, **arguments: Any) -> str:
        """The sentence of a refusal, or ""."""
        key = key_of(tool, arguments)
        refused = self.guards.sees(key, tool, arguments)
        if refused:
            self.refusals.append(refused)
        else:
            self.ran.append(key)
        self.guards.ended(key, refused or result, failed=bool(refused) or failed)
        return refused

    def read(self, path: str = "a.py", text: str = "x = 1", first: int = 1, last: int = 0, lines: int = 300) -> str:
        head = f"{path}: lines {first}-{last or lines} of {lines}."
        return self.do("read_file", f"{head}\n{text}", path=path, start_line=first, end_line=last)

    def edit(self, path: str = "a.py", old: str = "x", new: str = "y") -> str:
        return self.do("edit_file", f"Edited {path} (+1 -1 lines).", path=path, old_text=old, new_text=new)

    def shell(self, command: str, output: str = "", code: int = 0) -> str:
        return self.do("run_shell", f"exit code {code}\n{output or '(no output)'}", failed=code != 0, command=command)

    def code(self, code: str, output: str = "(no output)", error: str = "") -> str:
        head = f"error [3]: {error}" if error else "ok [3]"
        return self.do("run_code", f"{head}\n{output}", failed=bool(error), code=code)

    def search(self, pattern: str, hits: Iterable[str] = (), path: str = ".") -> str:
        text = "\n".join(hits) or f"No line matches {pattern!r} in 12 files of {path!r}."
        return self.do("search_files", text, pattern=pattern, path=path)


# ---- keys ---------------------------------------------------------------------------------------------------------------


def test_a_key_ignores_order_and_descriptions_at_the_top_only() -> None:
    assert call_key("t", {"a": 1, "b": {"c": 2, "d": 3}}) == call_key("t", {"b": {"d": 3, "c": 2}, "a": 1, "why": "x"})
    assert call_key("t", {"a": {"why": 1}}) != call_key("t", {"a": {"why": 2}})
    assert call_key("t", {"a": 1}) != call_key("u", {"a": 1})


@pytest.mark.parametrize("name", sorted(DESCRIBING))
def test_each_describing_argument_is_ignored(name: str) -> None:
    assert call_key("t", {name: "one"}) == call_key("t", {})


def test_a_given_default_and_a_number_as_text_make_no_other_key() -> None:
    assert key_of("read_file", {"path": "a", "start_line": "1"}) == key_of("read_file", {"path": "a", "end_line": None})


# ---- circles ------------------------------------------------------------------------------------------------------------


def test_the_third_call_in_a_row_is_told_once_and_the_fifth_is_stuck() -> None:
    turn = Turn()
    told = [turn.read() for _ in range(4)]
    assert [bool(one) for one in told] == [False, False, True, True]
    assert told[2].startswith("Not done: this is the same call 3 times in a row")
    assert ("finish and say what is missing" in told[2], "finish and say what is missing" in told[3]) == (True, False)
    assert turn.guards.stuck == ""
    turn.read()
    assert turn.guards.stuck.startswith("The model asked for the same call 5 times in a row: read_file(a.py).")


def test_polling_without_end_is_told_and_then_ends_the_turn() -> None:
    turn = Turn()
    refused = [bool(turn.shell("sleep 30; tail -1 train.log", f"epoch {number}")) for number in range(31)]
    assert (refused.index(True), turn.guards.stuck) == (29, "")
    assert "Wait longer in one call" in turn.refusals[0]
    turn.shell("sleep 30; tail -1 train.log")
    assert turn.guards.stuck.startswith("The model asked for the same call 32 times in a row")


def test_the_rethink_is_given_once_in_a_turn() -> None:
    turn = Turn()
    for path in ("a.py", "b.py"):
        for _ in range(3):
            turn.read(path)
            given = turn.guards.rethink
        assert bool(given) == (path == "a.py")
    assert len(turn.refusals) == 2


def test_an_output_that_varies_does_not_hide_a_repeat() -> None:
    turn = Turn()
    refused = [turn.code("next(counter)", f"{number}") for number in range(5)]
    assert ([bool(one) for one in refused], bool(turn.guards.stuck)) == ([False, False, True, True, True], True)


@pytest.mark.parametrize(
    "spellings",
    [
        ["ls -la build", "ls  -la  build", "ls -la build;"],
        ["grep -rn 'a  b' .", "grep -rn 'a  b'  .", " grep -rn 'a  b' . "],
    ],
)
def test_spaces_make_no_other_command(spellings: list[str]) -> None:
    turn = Turn()
    assert [bool(turn.shell(one)) for one in spellings] == [False, False, True]


def test_spaces_inside_of_quotes_do() -> None:
    turn = Turn()
    assert not any(turn.shell(f"make 'a{' ' * count}b'") for count in range(5))


def test_comments_and_empty_lines_make_no_other_code() -> None:
    turn = Turn()
    assert [bool(turn.code(one)) for one in ["f()", "# again\nf()", "\n\nf()  \n"]] == [False, False, True]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_round_of_calls_that_all_bring_nothing_new_is_refused_at_its_third(size: int) -> None:
    turn = Turn()
    refused = [turn.code(f"step_{number % size}()", "the same") for number in range(2 * size + 1)]
    assert [bool(one) for one in refused] == [False] * 2 * size + [True]
    assert "you go round in a circle" in refused[-1]


def test_a_round_whose_results_keep_changing_is_refused_later() -> None:
    turn = Turn()
    count = next(
        number for number in range(100) if turn.code(f"step_{number % 2}()", f"{number} of {number * number} rows")
    )
    assert 12 < count < 24


def test_an_edit_back_and_forth_is_a_circle() -> None:
    turn = Turn()
    for number in range(40):
        old, new = ("1", "2") if number % 2 else ("2", "1")
        turn.edit(old=old, new=new)
        turn.shell("pytest -q", "1 failed in 0.1s", 1)
        if turn.guards.stuck:
            break
    assert turn.guards.stuck.startswith("The model went round in a circle")
    assert len(turn.ran) < 16


def test_reading_again_what_nothing_has_changed_is_refused_at_the_fourth() -> None:
    turn = Turn()
    refused: list[bool] = []
    for number in range(4):
        refused.append(bool(turn.read("a.py")))
        for other in range(3):
            turn.read(f"other-{number}-{other}.py")
    assert refused == [False, False, False, True]


def test_a_failing_command_is_not_repeated_while_nothing_was_changed() -> None:
    turn = Turn()
    refused: list[bool] = []
    for number in range(3):
        refused.append(bool(turn.shell("make", f"error: x.c:1 in {number} ms", 2)))
        turn.read(f"{number}.c")
    assert refused == [False, False, True]
    assert turn.refusals[0].startswith("Not done: this call has failed 2 times, and nothing was changed since.")


def test_a_failing_cell_is_not_repeated_while_nothing_was_changed() -> None:
    turn = Turn()
    refused: list[bool] = []
    for number in range(3):
        refused.append(bool(turn.code("load()", error="KeyError: 'x'")))
        turn.read(f"{number}.py")
    assert refused == [False, False, True]


def test_different_calls_with_the_same_failure_make_it_think_again() -> None:
    turn = Turn()
    refused = [
        turn.code(f"import foo\nfoo.load({number})", error="ModuleNotFoundError: No module named 'foo'")
        for number in range(9)
    ]
    assert refused.index(next(one for one in refused if one)) == 4
    assert turn.guards.rethink == "" and "4 different calls had the same result" in turn.refusals[0]
    assert "No module named 'foo'" in turn.refusals[0]


def test_different_commands_with_the_same_long_output_make_it_think_again() -> None:
    turn = Turn()
    output = "usage: tool [-h] [--input FILE] [--output FILE]\ntool: error: unrecognized arguments: --x\n" * 2
    refused = [turn.shell(f"tool --try {number}", output) for number in range(5)]
    assert [bool(one) for one in refused] == [False] * 4 + [True]


@pytest.mark.parametrize(
    "patterns",
    [
        ["load_config", "loadConfig", "def load_config", "load.*config", "config_load"],
        ["user login", "login user", r"user\s+logins?", "UserLogin", "login.*user"],
    ],
)
def test_a_search_in_other_words_that_finds_nothing_is_refused(patterns: list[str]) -> None:
    turn = Turn()
    refused = [turn.search(pattern) for pattern in patterns]
    assert [bool(one) for one in refused] == [False, False, False, True, True]
    assert "the same search in other words" in refused[3]


def test_a_reworded_search_that_finds_only_what_is_known_is_refused() -> None:
    turn = Turn()
    hits = ["a.py:1: def load_config():", "b.py:4: load_config()"]
    patterns = ["load_config", "def load_config", "loadConfig|load_config", "load_config\\(", "config.*load"]
    assert [bool(turn.search(pattern, hits)) for pattern in patterns] == [False, False, False, False, True]


def test_reworded_searches_by_the_shell_are_searches_too() -> None:
    turn = Turn()
    commands = ["grep -rn load_config .", "grep -rni loadConfig src", "rg 'load.?config'", "grep -r 'config load' ."]
    assert [bool(turn.shell(command, code=1)) for command in commands] == [False, False, False, True]


def test_a_narrower_place_is_the_same_search_another_place_is_not() -> None:
    near, far = Turn(), Turn()
    assert [bool(near.search("parse_row", path=path)) for path in (".", "src", "src/io", "src/io/csv")][-1]
    assert not any(far.search("parse_row", path=path) for path in ("src", "tests", "docs", "examples", "tools"))


def test_reading_page_by_page_is_refused_with_what_to_do() -> None:
    turn = Turn()
    refused = [turn.read(first=number * 20 + 1, last=number * 20 + 20) for number in range(8)]
    assert [bool(one) for one in refused[:6]] == [False] * 5 + [True]
    assert "Read it whole" in refused[5] and "search in it" in refused[5]


def test_reading_page_by_page_backwards_or_by_sed_is_the_same() -> None:
    back, sed = Turn(), Turn()
    assert any(back.read(first=281 - number * 20, last=300 - number * 20, lines=900) for number in range(8))
    assert any(sed.shell(f"sed -n '{number * 30 + 1},{number * 30 + 30}p' a.py", "x\n" * 30) for number in range(8))


def test_a_page_that_reaches_the_end_is_no_small_one() -> None:
    turn = Turn()
    assert not any(turn.read(f"{name}.py", first=1, last=30, lines=30) for name in "abcdefghij")


def test_what_the_user_declined_is_not_asked_again_in_any_spelling() -> None:
    turn = Turn()
    key = key_of("run_shell", {"command": "rm -r build"})
    turn.guards.sees(key, "run_shell", {"command": "rm -r build"})
    turn.guards.declined(key)
    turn.guards.ended(key, "Not done: the user declined this.", failed=True)
    turn.read()
    assert turn.shell("rm  -r build").startswith("Not done: the user has already declined exactly this call.")
    assert turn.do("run_shell", command="rm -r build", timeout_seconds=5)
    assert not turn.shell("rm -r dist")


def test_three_stale_refusals_of_one_file_end_the_turn() -> None:
    turn = Turn()
    for number in range(3):
        assert turn.guards.stuck == ""
        stale = (
            "Not done: 'a.py' has changed since it was read. Its content now, so that you can make the change:\n1\tx"
        )
        turn.do("edit_file", stale, failed=True, path="a.py", old_text="x", new_text=f"{number}")
    assert turn.guards.stuck.startswith("The file 'a.py' was changed 3 times between reading and editing it")


def test_stale_refusals_of_different_files_are_no_storm() -> None:
    turn = Turn()
    for name in "abcde":
        turn.do(
            "write_file", f"Not done: '{name}' has not been read in this session.", failed=True, path=name, content=name
        )
    assert turn.guards.stuck == ""


def test_many_failures_in_a_row_end_the_turn_and_a_success_starts_anew() -> None:
    turn = Turn()
    for number in range(11):
        turn.do("read_file", f"There is no file '{number}'.", failed=True, path=f"{number}")
    turn.read()
    for number in range(11):
        turn.do("read_file", f"There is no file '{number}'.", failed=True, path=f"x{number}")
    assert turn.guards.stuck == ""
    turn.do("read_file", "There is no file.", failed=True, path="y")
    assert turn.guards.stuck.startswith("12 tool calls in a row failed.")


def test_what_one_reply_asks_for_many_times_is_told_before_it_counts() -> None:
    turn = Turn()
    turn.guards.replied()
    told = [bool(turn.read()) for _ in range(8)]
    assert (told, turn.guards.stuck) == ([False, False] + [True] * 6, "")
    turn.guards.replied()
    turn.read()
    assert turn.guards.stuck == ""
    turn.guards.replied()
    turn.read()
    assert turn.guards.stuck.startswith("The model asked for the same call 5 times in a row")


def test_many_failures_of_one_reply_are_shown_to_the_model_first() -> None:
    turn = Turn()
    for reply in range(3):
        assert turn.guards.stuck == ""
        turn.guards.replied()
        for number in range(12):
            turn.do("read_file", "There is no such file.", failed=True, path=f"{reply}-{number}")
    assert turn.guards.stuck.startswith("36 tool calls in a row failed.")


def test_circles_of_one_reply_count_once() -> None:
    turn = Turn()
    turn.guards.replied()
    for name in "abcde":
        for _ in range(4):
            turn.read(name)
    assert turn.guards.stuck == ""


def test_after_the_rethink_two_more_circles_are_stuck_unless_something_new_was_changed() -> None:
    def circles(between: Callable[[Turn, int], Any]) -> Turn:
        turn = Turn()
        for number in range(3):
            for _ in range(3):
                turn.code(f"look({number})")
            between(turn, number)
        return turn

    assert circles(lambda turn, number: turn.read(f"{number}")).guards.stuck.startswith(
        "The model asked for the same call"
    )
    assert circles(lambda turn, number: turn.edit(new=f"{number}")).guards.stuck == ""


def test_a_call_whose_effect_is_unknown_is_asked_about_before_it_is_made_again() -> None:
    guards = Guards.of(_unknown_world().log, TURN, key_of)
    assert "could not be found out" in guards.needs_asking(
        key_of("run_shell", {"command": "make deploy", "why": "again"})
    )
    assert guards.needs_asking(key_of("run_shell", {"command": "make test"})) == ""
    assert guards.needs_asking(key_of("read_file", {"path": "a"})) == ""
    key = key_of("run_shell", {"command": "make deploy"})
    guards.sees(key, "run_shell", {"command": "make deploy"})
    guards.ended(key, "exit code 0", failed=False)
    assert guards.needs_asking(key) == ""


def test_a_task_is_asked_about_before_it_is_handed_over_again_under_another_title() -> None:
    world = World(TurnId("turn-0"))
    world.call("delegate", "?", status="unknown", title="Deploy it", task="Run make deploy")
    world.turn_id = TURN
    guards = Guards.of(world.log, TURN, call_key)
    assert guards.needs_asking(call_key("delegate", {"task": "Run make deploy", "title": "The rest"}))
    assert guards.needs_asking(call_key("delegate", {"task": "Run make test", "title": "Deploy it"})) == ""


def _unknown_world() -> World:
    world = World(TurnId("turn-0"))
    world.call("run_shell", "?", status="unknown", command="make deploy")
    world.call("read_file", "?", status="unknown", path="a")
    world.turn_id = TURN
    return world


# ---- honest work --------------------------------------------------------------------------------------------------------


def _edits_and_tests(turn: Turn) -> None:
    for number in range(30):
        turn.edit(old=f"v{number}", new=f"v{number + 1}")
        turn.shell("pytest -q", f"{30 - number} failed in 0.{number}s", code=1)
    turn.shell("pytest -q", "all passed")


def _different_files(turn: Turn) -> None:
    for number in range(60):
        turn.read(f"src/module_{number}.py", lines=40)


def _a_file_in_large_pieces(turn: Turn) -> None:
    for number in range(20):
        turn.read("big.log", text="line\n" * 300, first=number * 300 + 1, last=number * 300 + 300, lines=6000)


def _the_ends_of_a_file(turn: Turn) -> None:
    for first in (1, 400, 120, 900, 610, 250, 777):
        turn.read("big.py", first=first, last=first + 30, lines=1000)


def _polls_a_file_that_changes(turn: Turn) -> None:
    for number in range(20):
        turn.shell("sleep 10")
        turn.read("train.log", text=f"epoch {number}")


def _polls_in_one_command(turn: Turn) -> None:
    for number in range(25):
        turn.shell("sleep 30; tail -1 train.log", f"epoch {number}")


def _polls_what_does_not_change_yet(turn: Turn) -> None:
    for _ in range(12):
        turn.shell("sleep 30")
        turn.shell("cat status", "running")


def _reads_a_growing_file_in_a_row(turn: Turn) -> None:
    for number in range(8):
        turn.read("train.log", text=f"epoch {number}")


def _reads_again_after_each_edit(turn: Turn) -> None:
    for number in range(15):
        turn.read("a.py", text=f"v{number}")
        turn.edit(new=f"v{number + 1}")


def _makes_folders(turn: Turn) -> None:
    for name in "abcdefgh":
        turn.shell(f"mkdir {name}")


def _assigns_in_cells(turn: Turn) -> None:
    for name in "abcdefghijkl":
        turn.code(f"{name} = load('{name}')")


def _different_searches(turn: Turn) -> None:
    for word in ("parse", "render", "commit", "socket", "widget", "ledger", "kernel", "prefix", "budget", "journal"):
        turn.search(word)


def _a_search_that_finds_more_each_time(turn: Turn) -> None:
    for number, pattern in enumerate(
        ["load", "load_config", "load.*config", "reload_config", "preload config", "config"]
    ):
        turn.search(pattern, [f"a{number}.py:1: {pattern}"])


def _one_command_with_installs_between(turn: Turn) -> None:
    for name in ("numpy", "pandas", "scipy", "torch"):
        turn.shell("python make.py", f"ModuleNotFoundError: No module named '{name}'", code=1)
        turn.shell(f"pip install {name}", "ok")
    turn.shell("python make.py", "done")


def _a_failing_check_retried_once(turn: Turn) -> None:
    turn.shell("curl -f localhost:8000/health", "curl: (7) refused", code=7)
    turn.shell("sleep 2")
    turn.shell("curl -f localhost:8000/health", "ok")


def _cells_that_print_the_same(turn: Turn) -> None:
    for number in range(10):
        turn.code(f"assert rows[{number}] > 0\nprint('ok')", "ok")


def _steps_of_a_simulation(turn: Turn) -> None:
    for number in range(6):
        turn.code("model.step()")
        turn.code("model.loss", f"0.{9 - number}31")


def _the_same_test_on_each_file(turn: Turn) -> None:
    for number in range(12):
        turn.shell(f"pytest tests/test_{number}.py -q", ". [100%]\n1 passed in 0.01s")


def _writes_a_script_and_runs_it_until_it_works(turn: Turn) -> None:
    for number in range(10):
        turn.do("write_file", "Wrote run.py (+3 -3 lines, 90 bytes).", path="run.py", content=f"version {number}")
        turn.shell("python run.py", "Traceback (most recent call last):\nKeyError: 'x'", code=1)


def _two_files_compared_after_edits(turn: Turn) -> None:
    for number in range(8):
        turn.read("a.py", text=f"{number}")
        turn.read("b.py")
        turn.edit(new=f"{number}")


def _failures_of_different_kinds(turn: Turn) -> None:
    for number, name in enumerate(
        ["KeyError", "TypeError", "ValueError", "NameError", "IndexError", "OSError", "ZeroDivisionError"]
    ):
        turn.code(f"attempt({number})", error=f"{name}: {number}")


def _greps_without_hits(turn: Turn) -> None:
    for word in ("TODO", "FIXME", "XXX", "HACK", "print(", "breakpoint", "pdb"):
        turn.shell(f"grep -rn '{word}' src", code=1)


def _a_day_of_work(turn: Turn) -> None:
    for number in range(25):
        turn.search(f"feature {number}", [f"src/f{number}.py:3: feature {number}"])
        turn.read(f"src/f{number}.py")
        turn.edit(f"src/f{number}.py", old=f"{number}")
        turn.shell("git status --short", f" M src/f{number}.py")
        turn.shell("pytest -q", "12 passed in 1.2s")
        turn.shell(f"git commit -qam 'feature {number}'")


_HONEST = {
    name[1:]: value
    for name, value in list(globals().items())
    if name.startswith("_")
    and callable(value)
    and getattr(value, "__module__", "") == __name__
    and getattr(value, "__annotations__", {}).get("turn") is Turn
}


def test_there_are_honest_sequences() -> None:
    assert len(_HONEST) >= 20


@pytest.mark.parametrize("name", sorted(_HONEST))
def test_honest_work_is_never_refused(name: str) -> None:
    turn = Turn()
    _HONEST[name](turn)
    assert (turn.refusals, turn.guards.stuck) == ([], "")


def test_honest_work_is_never_refused_one_after_the_other() -> None:
    turn = Turn()
    for name in sorted(_HONEST):
        _HONEST[name](turn)
        turn.edit(new=f"after {name}")
    assert (turn.refusals, turn.guards.stuck) == ([], "")


def test_a_compaction_lets_it_look_again() -> None:
    turn = Turn()
    for _ in range(2):
        for name in "abc":
            assert not turn.read(name)
    turn.guards.compacted()
    for name in "abc":
        assert not turn.read(name)
    assert not turn.read("b")


def test_an_edit_that_changed_nothing_is_no_change() -> None:
    turn = Turn()
    refused: list[bool] = []
    for number in range(3):
        refused.append(bool(turn.shell("make", "error", 2)))
        turn.do("write_file", f"a has exactly this content already; {UNCHANGED}.", path="a", content=f"{number}")
    assert refused == [False, False, True]


# ---- from the log -------------------------------------------------------------------------------------------------------


def test_guards_from_the_log_know_what_the_live_ones_knew() -> None:
    world, live = World(), Guards()
    live.replied()
    told: list[tuple[str, str, dict[str, Any]]] = [
        ("read_file", "a: lines 1-1 of 1.", {"path": "a"}),
        ("read_file", "a: lines 1-1 of 1.", {"path": "a", "start_line": "1"}),
        ("run_shell", "exit code 1\nboom", {"command": "make"}),
        ("list_files", "a", {}),
        ("run_shell", "exit code 1\nboom", {"command": "make"}),
    ]
    for tool, result, arguments in told:
        key = key_of(tool, arguments)
        failed = result.startswith("exit code 1")
        live.sees(key, tool, arguments)
        live.ended(key, result, failed=failed)
        world.call(tool, result, status="failed" if failed else "completed", **arguments)
    rebuilt = Guards.of(world.log, TURN, key_of)
    assert rebuilt == live
    again = (key_of("run_shell", {"command": "make"}), "run_shell", {"command": "make"})
    assert rebuilt.sees(*again) == live.sees(*again) != ""


def test_guards_from_the_log_know_what_was_declined_and_when_the_input_was_shortened() -> None:
    world = World()
    world.decline("run_shell", command="rm -r build")
    for _ in range(3):
        world.call("read_file", "a", path="a")
        world.call("list_files", "a")
    world.tell(
        ContextCompacted(
            session_id=SessionId("session"),
            turn_id=TURN,
            level="outputs",
            upto_seq=3,
            summary="",
            kept=[],
            dropped="",
            tokens_before=9,
            tokens_after=1,
        )
    )
    guards = Guards.of(world.log, TURN, key_of)
    arguments = {"command": "rm -r build"}
    assert "already declined" in guards.sees(key_of("run_shell", arguments), "run_shell", arguments)
    assert guards.sees(key_of("read_file", {"path": "b"}), "read_file", {"path": "b"}) == ""


def test_other_turns_and_calls_that_were_never_begun_do_not_count() -> None:
    world = World(TurnId("turn-0"))
    for _ in range(4):
        world.call("read_file", "a", path="a")
    world.turn_id = TURN
    world.call(
        "read_file",
        "Not done: the user stopped the turn before this call was carried out.",
        status="cancelled",
        path="a",
    )
    guards = Guards.of(world.log, TURN, key_of)
    assert [bool(guards.sees(key_of("read_file", {"path": "a"}), "read_file", {"path": "a"})) for _ in range(3)] == [
        False,
        False,
        True,
    ]


def test_a_call_without_a_request_in_the_log_changes_nothing() -> None:
    world = World()
    world.end(world.begin("read_file", path="a")["call_id"], "a")
    log = [stored for stored in world.log if isinstance(stored.event, ToolCallFinished)]
    assert Guards.of(log, TURN, key_of) == Guards()


def test_a_long_turn_costs_little_for_each_call() -> None:
    turn = Turn()
    for number in itertools.islice(itertools.count(), 3000):
        turn.read(f"{number}.py", lines=20)
    assert turn.refusals == []
