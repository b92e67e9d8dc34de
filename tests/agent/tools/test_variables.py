"""The tool that looks at the kernel's variables."""

from pathlib import Path
from typing import Any

from agent.acting import Acting
from agent.tools.doing import did

from jupyter_pernix.agent.describing import variable_line, variable_text, variables_text
from jupyter_pernix.agent.testing import FakeExecutor
from jupyter_pernix.errors import KernelError
from jupyter_pernix.events import PolicyDecided
from jupyter_pernix.records import Column, Mode, Variable, Variables

FRAME = Variable(
    name="df",
    type="pandas.DataFrame",
    shape=[1200, 2],
    size_bytes=3_000_000,
    columns=[Column(name="a", dtype="int64"), Column(name="b", dtype="str")],
    more_columns=3,
    preview="a | b\n1 | 'x'",
)
NUMBER = Variable(name="n", type="int", preview="5")
SECRET = Variable(name="api_key", type="str", hidden=True)


class Silent(FakeExecutor):
    async def variables(self, names: Any = None) -> Variables:
        raise KernelError("the kernel is busy, and of a kind that cannot be looked into while code runs")


def holding(root: Path, *variables: Variable, mode: Mode = "ask", executor: FakeExecutor | None = None) -> Acting:
    acting = Acting(root=root, mode=mode, executor=executor or FakeExecutor())
    acting.executor.has = list(variables)
    acting.host.has_kernel = True
    return acting


async def test_all_variables_are_listed_in_short_in_the_mode_that_only_reads(tmp_path: Path) -> None:
    acting = holding(tmp_path, FRAME, NUMBER, SECRET)
    assert await did(acting, ("inspect_variables", {})) == [
        "3 variables in the kernel python3:\n"
        "- df: pandas.DataFrame (1,200 × 2, 2.9 MiB), columns a int64, b str, 3 more = a | b 1 | 'x'\n"
        "- n: int = 5\n"
        "- api_key: str (not shown: it looks like a secret)"
    ]
    decided = [event for event in acting.host.events if isinstance(event, PolicyDecided)]
    assert [event.verdict for event in decided] == ["allow"]


async def test_named_variables_are_told_in_detail(tmp_path: Path) -> None:
    acting = holding(tmp_path, FRAME, NUMBER)
    assert await did(acting, ("inspect_variables", {"names": ["df", "nowhere"]})) == [
        "df: pandas.DataFrame (1,200 × 2, 2.9 MiB)\ncolumns: a int64, b str, 3 more\nfirst rows:\na | b\n1 | 'x'\n\n"
        "nowhere: there is no such variable"
    ]


async def test_it_starts_no_kernel(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    (result,) = await did(acting, ("inspect_variables", {}))
    assert result.startswith("There is no kernel yet")
    assert not acting.host.has_kernel


async def test_a_kernel_without_variables_says_so(tmp_path: Path) -> None:
    assert await did(holding(tmp_path), ("inspect_variables", {})) == ["The kernel python3 has no variables."]


async def test_a_kernel_that_cannot_be_looked_into_is_a_failure_in_a_sentence(tmp_path: Path) -> None:
    acting = holding(tmp_path, executor=Silent())
    (result,) = await did(acting, ("inspect_variables", {}))
    assert result == "Not done: the kernel is busy, and of a kind that cannot be looked into while code runs."
    assert acting.statuses == ["failed"]


def test_a_list_of_variables_keeps_to_its_limit() -> None:
    many = [Variable(name=f"v{number}", type="str", preview="x" * 100) for number in range(100)]
    found = Variables(kernel_name="python3", language="python", busy=False, total=10_000, variables=many)
    text = variables_text(found, limit=1_000)
    assert len(text) < 1_100
    assert text.splitlines()[-1] == f"({10_000 - text.count('- v'):,} more)"


def test_a_secret_has_no_value_in_any_form() -> None:
    told = Variable(name="token", type="str", hidden=True, preview="never", length=5)
    assert "never" not in variable_line(told) + variable_text(told)
