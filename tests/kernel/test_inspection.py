"""Looking at the variables of real Python kernels, with values that do not want to be looked at."""

import json
from functools import partial
from pathlib import Path

import anyio
import pytest

from jupyter_pernix.errors import KernelError
from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel import inspection
from jupyter_pernix.kernel.provision import Kernels
from jupyter_pernix.ports import Surroundings
from jupyter_pernix.records import Column, OutputOp, Variable

from .conftest import Cells, Ran, kernel_environ
from .test_sidechannel import wait_text

pytestmark = pytest.mark.kernel

HOSTILE = Path(__file__).with_name("hostile.py").read_text()
"""Code that defines values whose every method, property and metaclass leaves a trace, sleeps or raises."""


async def told(cells: Cells, *names: str) -> dict[str, Variable]:
    found = await cells.executor.variables(list(names) or None)
    return {each.name: each for each in found.variables}


async def test_plain_values_are_told_in_short(python: Cells):
    await python(
        "number = 42\nratio = 0.5\ntext = 'hello'\nraw = b'abc'\nnothing = None\n"
        "items = [1, 'two', [3, [4]]]\npairs = {'a': 1, (2, 3): {'b': [1]}}\nmany = list(range(1_000_000))\n"
        "loop = []; loop.append(loop)\nhuge = 10 ** 100_000\nimport datetime, decimal, pathlib, collections\n"
        "day = datetime.date(2026, 1, 2)\nprice = decimal.Decimal('1.50')\npath = pathlib.Path('/tmp/x')\n"
        "counts = collections.Counter('aab')\nPoint = collections.namedtuple('Point', 'x y'); point = Point(1, 2)\n"
        "def function(a, *, b): pass"
    )
    found = await python.executor.variables()
    assert (found.kernel_name, found.language, found.busy, found.total) == ("python3", "python", False, 15)
    assert {each.name: (each.type, each.length, each.preview) for each in found.variables} == {
        "number": ("int", None, "42"),
        "ratio": ("float", None, "0.5"),
        "text": ("str", 5, "'hello'"),
        "raw": ("bytes", 3, "b'abc'"),
        "nothing": ("NoneType", None, "None"),
        "items": ("list", 3, "[1, 'two', [3, […]]]"),
        "pairs": ("dict", 2, "{'a': 1, (2, 3): {'b': […]}}"),
        "many": ("list", 1_000_000, "[0, 1, 2, 3, 4, 5, …]"),
        "loop": ("list", 1, "[[[…]]]"),
        "huge": ("int", None, "<int of 332,193 bits>"),
        "day": ("datetime.date", None, "2026-01-02"),
        "price": ("decimal.Decimal", None, "1.50"),
        "path": ("pathlib.PosixPath", None, "/tmp/x"),
        "counts": ("collections.Counter", 2, "{'a': 2, 'b': 1}"),
        "point": ("Point", 2, "(1, 2)"),
    }
    assert [each.name for each in found.variables][:2] == ["point", "counts"]  # the last defined first
    assert (await told(python, "function", "nowhere"))["function"].preview == "(a, b)"


async def test_arrays_and_frames_are_told_by_shape_and_schema(python: Cells):
    await python(
        "import numpy as np, pandas as pd\n"
        "grid = np.arange(6.0).reshape(2, 3)\nobjects = np.array([object(), 'x'], dtype=object)\n"
        "rows = np.zeros(3, dtype=[('a', 'i4'), ('b', 'f8')])\nscalar = np.float32(1.5)\nview = np.arange(10**6)[::7]\n"
        "frame = pd.DataFrame({'n': [1, 2], 't': ['x', None], 'c': pd.Categorical(['u', 'v']),"
        " 'd': pd.to_datetime(['2026-01-01', '2026-01-02']), 'i': pd.array([1, None], dtype='Int64'), 'o': [object(), {'k': 1}]})\n"
        "series = frame['n']\nindex = pd.RangeIndex(10**12)\nwide = pd.DataFrame(np.zeros((2, 5000)))\n"
        "later = pd.Timestamp('2026-01-01')\ntimes = pd.Series(pd.date_range('2026', periods=2, tz='Europe/Berlin'))"
    )
    short = await told(python)
    assert short["grid"] == Variable(
        name="grid",
        type="numpy.ndarray",
        shape=[2, 3],
        dtype="float64",
        size_bytes=48,
        preview="[0.0, 1.0, 2.0, 3.0, 4.0, …]",
    )
    assert short["objects"].preview == "[<object>, 'x']"
    assert short["rows"].columns == [Column(name="a", dtype="int32"), Column(name="b", dtype="float64")]
    assert short["scalar"].preview == "1.5"
    assert short["view"].preview == "[0, 7, 14, 21, 28, …]"
    assert (short["series"].length, short["series"].dtype, short["series"].preview) == (2, "int64", "[1, 2]")
    assert (short["index"].length, short["index"].dtype) == (10**12, "int64")
    assert (short["wide"].shape, len(short["wide"].columns), short["wide"].more_columns) == ([2, 5000], 10, 4990)
    assert short["later"].preview == "2026-01-01 00:00:00"
    assert (short["times"].dtype, short["times"].preview) == ("datetime64[us, tz]", "")
    frame = short["frame"]
    assert (frame.type, frame.shape, frame.preview) == ("pandas.DataFrame", [2, 6], "")
    kinds = {column.name: column.dtype for column in frame.columns}
    assert kinds == {"n": "int64", "t": "str", "c": "category", "d": "datetime64[us]", "i": "Int64", "o": "object"}
    detail = (await told(python, "frame"))["frame"]
    assert detail.preview.splitlines()[0] == "n | t | c | d | i | o"
    assert detail.preview.splitlines()[1].startswith("1 | 'x' | 'u' | 2026-01-01 00:00:00 | 1 | <object>")
    assert detail.preview.splitlines()[2].endswith("<NA> | {'k': 1}")


SECRETS: dict[str, str] = {
    "password": "'hunter2'",
    "api_key": "'abcdefgh1234'",
    "OPENAI_API_KEY": "'x' * 40",
    "hfToken": "'abc'",
    "db_secret": "['a', 'b']",
    "plain": "'sk-abcdefghijklmnopqrstuvwx'",
    "remote": "'https://me:hunter2@example.org/x'",
    "pem": "'-----BEGIN RSA PRIVATE KEY-----\\nMII'",
    "github": "'ghp_' + 'a' * 36",
    "aws": "'AKIA' + 'A' * 16",
    "web": "'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc'",
    "dsn": "'Server=x;Password=hunter2;'",
    "signed": "b'Bearer abcdefghijklmnop'",
}


async def test_a_secret_is_never_shown_by_name_or_by_value(python: Cells):
    await python("\n".join(f"{name} = {value}" for name, value in SECRETS.items()))
    for found in (await told(python), await told(python, *SECRETS)):
        assert found == {name: Variable(name=name, type=found[name].type, hidden=True) for name in SECRETS}


async def test_a_secret_inside_of_something_is_left_out(python: Cells):
    await python(
        "import pandas as pd\nconfig = {'user': 'me', 'password': 'hunter2', 'nested': {'token': 'abc'}, 'url': 'http://a:hunter2@b/'}\n"
        "keys = ['sk-abcdefghijklmnopqrstuvwx', 'fine']\n"
        "table = pd.DataFrame({'name': ['a'], 'password': ['hunter2'], 'note': ['ghp_' + 'a' * 36]})\n"
        "column = pd.DataFrame({'sk-abcdefghijklmnopqrstuvwx': [1]})\nmax_tokens = 4096\ntokenizer = 'words'\nkey = 'name'"
    )
    found = await told(python, "config", "keys", "table", "column", "max_tokens", "tokenizer", "key")
    everything = json.dumps([each.preview for each in found.values()])
    assert not [secret for secret in ("hunter2", "sk-abc", "ghp_", "abc'") if secret in everything]
    assert (
        found["config"].preview
        == "{'user': 'me', 'password': <hidden>, 'nested': {'token': <hidden>}, 'url': <hidden>}"
    )
    assert found["keys"].preview == "[<hidden>, 'fine']"
    assert found["table"].preview == "name | password | note\n'a' | <hidden> | <hidden>"
    assert found["column"].columns == [Column(name="<hidden>", dtype="int64")]
    assert [found[name].preview for name in ("max_tokens", "tokenizer", "key")] == ["4096", "'words'", "'name'"]


async def test_no_code_of_a_value_is_run(python: Cells, tmp_path: Path):
    (tmp_path / "victim").write_text("alive")
    ran = await python(HOSTILE)
    assert ran.result.status == "ok", ran.outputs
    with anyio.fail_after(20):
        short = await told(python)
        names = [name for name in short if name.startswith("evil")]
        detail = {**await told(python, *names[:15]), **await told(python, *names[15:])}
    assert len(names) > 15
    assert set(detail) == set(names)
    assert (tmp_path / "victim").read_text() == "alive"
    traces = (await python("print(len(TRACES), sorted(set(TRACES)))")).text
    assert traces == "0 []\n"
    asked = await python("time.sleep = str\ntry: str(evil)\nexcept BaseException: print(TRACES)")
    assert asked.text == "['Evil.__str__']\n"  # the traps are armed
    assert short["evil_str"].preview == "'a text'"
    assert short["evil_list"].preview == "[1, <Evil>]"
    assert short["evil_dict"].preview == "{'k': <Evil>}"
    assert short["evil"] == Variable(name="evil", type="Evil")
    assert short["evil_frame"].shape == [1, 2]
    assert detail["evil_frame"].preview == "<Evil> | b\n<Evil> | 1"
    assert (short["impostor"].type, short["impostor"].shape) == ("pandas.DataFrame", None)


STATE = (
    "import sys\n"
    "names = sorted({name for name in globals() if name.strip('_i0123456789')} | {'names', 'modules', 'shell'})\n"
    "modules = sorted(name for name in sys.modules if name.partition('.')[0] not in sys.stdlib_module_names)\n"
    "shell = get_ipython()\n"
    "print(names, modules, _, sorted(Out), shell.last_execution_result.result, 'trigger' in shell.events.__dict__)"
)


async def test_nothing_is_left_behind(python: Cells):
    await python(STATE)
    await python("41 + 1")
    await python.executor.inspect_expression("'{}'", before=inspection.SHIELD)
    await told(python)
    await python.executor.surroundings()
    with pytest.raises(KernelError):
        await python.executor.inspect_expression("1 / 0", before=inspection.SHIELD)
    looked = await python(STATE)
    await python("41 + 1")
    plain = await python(STATE)
    assert (looked.result.execution_count, plain.result.execution_count) == (3, 5)
    assert looked.text.replace("[2] 42", "[2, 4] 42") == plain.text
    assert looked.text.endswith(" 42 [2] 42 False\n")


async def test_ten_thousand_variables_are_counted_and_some_are_told(python: Cells):
    await python("globals().update({f'v{n}': [n] * 10 for n in range(10_000)})")
    found = await python.executor.variables()
    assert (found.total, len(found.variables)) == (10_000, inspection.MOST)
    assert found.variables[0].name == "v9999"


async def test_a_kernel_that_runs_code_is_looked_at_and_keeps_its_figures(python: Cells):
    code = (
        "import matplotlib; matplotlib.use('module://matplotlib_inline.backend_inline')\n"
        "import matplotlib.pyplot as plt, builtins\nstop = False\nfigure = plt.plot([1, 2]); started = builtins.input\n"
        "print('begun', flush=True)\nimport time\nwhile not stop: time.sleep(0.01)\nprint(plt.get_fignums(), builtins.input == started)"
    )
    ran: list[Ran] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: python(code, into=ran))
            await wait_text(ran, "begun")
            busy = await python.executor.variables(["stop", "figure"])
            await python.executor.inspect_expression("(globals().update(stop=True), '{}')[1]", before=inspection.SHIELD)
    assert (busy.busy, [each.name for each in busy.variables]) == (True, ["stop", "figure"])
    assert ran[0].result.status == "ok"
    assert "[1] True" in ran[0].text
    assert "image/png" in ran[0].outputs[-1]["data"]


@pytest.mark.parametrize("attended", [True, False])
async def test_a_look_changes_nothing_of_whether_running_code_may_ask_for_a_line(python: Cells, attended: bool):
    async def user(prompt: str, password: bool) -> str | None:
        return "typed"

    texts: list[str] = []
    begun = anyio.Event()

    async def on_output(op: OutputOp) -> None:
        texts.append(op.text or str((op.output or {}).get("text", "")))
        begun.set()

    code = (
        "stop = False\nprint('begun', flush=True)\nimport time\nwhile not stop: time.sleep(0.01)\n"
        "try: print(input('? '))\nexcept Exception as exc: print(type(exc).__name__)"
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            run = partial(python.executor.execute, code, execution_id=new_execution_id(), on_output=on_output)
            tasks.start_soon(partial(run, ask_input=user if attended else None))
            await begun.wait()
            assert (await python.executor.variables(["stop"])).busy
            await python.executor.inspect_expression("(globals().update(stop=True), '{}')[1]")
    assert ("typed" in "".join(texts), "StdinNotImplementedError" in "".join(texts)) == (attended, not attended)


async def test_the_surroundings_are_told_without_importing_anything(python: Cells, tmp_path: Path):
    around = await python.executor.surroundings()
    assert (around.kernel_name, around.language, around.cwd) == ("python3", "python", str(tmp_path))
    assert around.version.startswith("3.")
    assert around.interpreter.endswith("python")
    assert around.packages["pandas"].startswith("3.")
    assert (await python("import sys; print('pandas' in sys.modules)")).text == "False\n"


@pytest.mark.filterwarnings("ignore:Passing unrecognized arguments to super.KernelSpec.:DeprecationWarning")
async def test_another_language_says_that_it_cannot_be_looked_at(kernels: Kernels, bash_spec: str, tmp_path: Path):
    executor = await kernels.start(bash_spec, tmp_path, kernel_environ())
    with pytest.raises(KernelError, match="bash"):
        await executor.variables()
    assert await executor.surroundings() == Surroundings("bash", "bash", "", "", "", {})


def test_an_answer_that_is_none_is_refused():
    for broken in ({}, {"total": 1}, {"total": "x", "variables": []}, {"total": 1, "variables": [{"name": 3}]}):
        with pytest.raises(KernelError, match="cannot be read"):
            inspection.read_variables(broken)
