"""What a person sees of a turn in a terminal."""

import io

import pytest

from jupyter_pernix.cli.screen import Screen


@pytest.mark.parametrize(("model", "said"), [("small", "small at home, mode ask\n"), ("", "mode ask\n")])
def test_a_turn_without_a_model_names_none(model: str, said: str):
    err = io.StringIO()
    screen = Screen("trn_1", io.StringIO(), err)
    screen.event(
        {"type": "turn.started", "turn_id": "trn_1", "model": model, "endpoint": model and "home", "mode": "ask"}
    )
    assert err.getvalue() == said
