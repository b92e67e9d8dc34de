"""Further fields of a request: a role's over the endpoint's, and none that would break the protocol."""

import pytest

from jupyter_pernix.agent.model.options import REFUSED, merged
from jupyter_pernix.errors import ModelError


def test_a_role_goes_before_its_endpoint() -> None:
    assert merged({"temperature": 0.2, "seed": 7}, {"temperature": 0.9}) == {"temperature": 0.9, "seed": 7}


def test_a_role_can_take_an_option_away() -> None:
    assert merged({"temperature": 0.2, "seed": 7}, {"seed": {}}) == {"temperature": 0.2}
    assert merged({"temperature": 0.2, "seed": 7}, {"seed": None}) == {"temperature": 0.2}


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_what_would_break_the_protocol_is_refused_by_name(key: str) -> None:
    with pytest.raises(ModelError, match=f"{key!r} cannot be set") as caught:
        merged({}, {key: 1})
    assert key in caught.value.hint
