"""Our own command line is the user's: with it the agent could allow itself anything."""

import pytest

from jupyter_pernix.agent.policy.rule_forms import valid_rule

from ..conftest import World
from .tables import lines

OURS = lines(r"""
jupyter pernix permissions consents --give 0123456789abcdef
jupyter pernix permissions add make
jupyter --debug pernix permissions list
jupyter-pernix permissions add make
./node_modules/../jupyter-pernix sessions
python -m jupyter_pernix.cli permissions add make
python3 -Pm jupyter_pernix.cli permissions add make
python -mjupyter_pernix.cli permissions add make
uv run jupyter pernix permissions add make
nice jupyter pernix run x
""")


@pytest.mark.parametrize("line", OURS)
def test_it_is_asked_about_each_time_in_every_mode(world: World, line: str) -> None:
    found = world.judge(line)
    assert (found.ruling, found.grave, found.rules) == ("ask_always", True, ())


@pytest.mark.parametrize("line", ["python -m pytest jupyter_pernix", "jupyter lab", "python tools/jupyter_pernix.py"])
def test_other_programs_are_not_taken_for_it(world: World, line: str) -> None:
    assert world.judge(line).ruling == "ask"


@pytest.mark.parametrize("rule", ["jupyter pernix", "jupyter pernix permissions", "jupyter-pernix"])
def test_it_can_be_no_rule(rule: str) -> None:
    assert "it changes what the agent may do" in valid_rule(rule)
