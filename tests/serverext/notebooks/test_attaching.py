"""Sessions attached to notebooks, with a real server and real kernels."""

from pathlib import Path

from ..conftest import Serve
from .making import code, write


async def test_a_session_is_attached_to_the_kernel_that_the_notebook_has(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", code("one", "x = 1"))
    async with serve() as server:
        made = await server.app.session_manager.create_session(
            path="a.ipynb", name="a.ipynb", type="notebook", kernel_name="python3"
        )
        session = await server.new_session()
        summary = await server.post(f"/sessions/{session}/notebook", {"path": "a.ipynb"}, status=200)
        assert summary["notebook"] == "a.ipynb"
        view = await server.get(f"/sessions/{session}")
        assert view["notebook"] == {
            "path": "a.ipynb",
            "kernel_id": made["kernel"]["id"],
            "kernel_name": "python3",
        }
        response = await server.http.delete(f"/sessions/{session}/notebook")
        assert response.json()["notebook"] == ""
        assert list(server.app.kernel_manager.list_kernel_ids()) == [made["kernel"]["id"]]
