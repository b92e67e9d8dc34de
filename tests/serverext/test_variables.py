"""The variables of a session's kernel over HTTP, with real kernels."""

import pytest

from .carrying import Told
from .conftest import Serve
from .test_kernels import run, running_kernels, said

pytestmark = [pytest.mark.server, pytest.mark.kernel]


async def test_the_variables_of_a_kernel_are_told_and_one_in_detail(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        await said(
            server, session, "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ntoken = 'abc'\nprint('done')"
        )

        found = await server.get(f"/sessions/{session}/variables")
        assert (found["language"], found["busy"], found["total"]) == ("python", False, 2)
        assert [(each["name"], each["type"], each["hidden"]) for each in found["variables"]] == [
            ("token", "str", True),
            ("df", "pandas.DataFrame", False),
        ]
        one = await server.get(f"/sessions/{session}/variables/df")
        assert (one["shape"], one["columns"], one["preview"]) == (
            [2, 1],
            [{"name": "a", "dtype": "int64"}],
            "a\n1\n2",
        )
        missing = await server.http.get(f"/sessions/{session}/variables/nowhere")
        assert (missing.status_code, missing.json()["message"]) == (404, "there is no variable 'nowhere'")


async def test_a_session_without_a_kernel_says_so_and_gets_none(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        for path in ("variables", "variables/df"):
            answer = await server.http.get(f"/sessions/{session}/{path}")
            assert answer.status_code == 409
            assert "no kernel yet" in answer.json()["message"]
        assert await running_kernels(server) == 0
        assert (await server.http.get("/sessions/ses_nowhere/variables")).status_code == 404


async def test_a_kernel_that_cannot_be_looked_into_is_a_conflict(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session(place="in_cell")
        answer = await server.http.get(f"/sessions/{session}/variables")
        assert answer.status_code == 409
        assert "not known to this server" in answer.json()["message"]
