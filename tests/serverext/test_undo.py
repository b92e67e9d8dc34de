"""What a session changed is listed and put back: real tools, real bash, real git, over HTTP."""

import os
import stat
from pathlib import Path

import pytest

from .conftest import Serve
from .undoing import at_desk, edit, git, read, repository, sha, shell, write

pytestmark = pytest.mark.server


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but git's and ours, as it is."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git", "pernix-runs"} & set(path.relative_to(folder).parts)
    }


async def test_outside_of_git_what_tools_changed_is_put_back_byte_by_byte(serve: Serve, root: Path) -> None:
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    (root / "a.txt").chmod(0o640)
    before = tree(root)
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), edit("a.txt", "two", "2"), write("new/deep/b.txt", "b\n"))
        files = await desk.files(diff=1)
        assert list(files) == ["a.txt", "new/deep/b.txt"]
        assert files["a.txt"]["before"] == sha(before["a.txt"])
        assert files["a.txt"]["after"] == files["a.txt"]["now"] == sha((root / "a.txt").read_bytes())
        assert "+b" in files["new/deep/b.txt"]["diff"] and files["new/deep/b.txt"]["before"] is None
        assert not files["a.txt"]["undone"] and not files["a.txt"]["by_commands"]
        assert await desk.undo() == {"a.txt": "", "new/deep/b.txt": ""}
        assert all(file["undone"] for file in (await desk.files()).values())
    assert tree(root) == before
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640
    assert not (root / "new").exists()


async def test_what_is_kept_is_stored_before_the_file_is_changed(serve: Serve, root: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.turn(write("a.txt", "a\n"))
        tags = [event["type"] for event in await desk.server.get("/events", session=desk.session, limit=1000)]
    assert tags.index("tool_call.started") < tags.index("files.kept") < tags.index("file.changed")


async def test_a_turn_that_only_reads_keeps_nothing(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n"})
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"))
        assert await desk.events("files.kept") == []
    assert git(root, "for-each-ref", "refs/pernix") == ""


async def test_in_git_what_commands_changed_is_put_back_too(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n", "run.sh": "true\n", "gone/x.txt": "x\n", ".gitignore": "*.log\n"})
    (root / "untracked.bin").write_bytes(bytes(range(256)))
    (root / "link").symlink_to("a.txt")
    before = tree(root)
    async with at_desk(serve, root) as desk:
        await desk.turn(
            read("a.txt"),
            edit("a.txt", "a", "A"),
            shell(
                "rm -r gone untracked.bin link; chmod +x run.sh; ln -s nowhere link; mkdir made; echo n > made/n.txt"
            ),
        )
        files = await desk.files(diff=1)
        assert set(files) == {"a.txt", "gone/x.txt", "link", "made/n.txt", "run.sh", "untracked.bin"}
        assert {name for name, file in files.items() if file["by_commands"]} == set(files) - {"a.txt"}
        assert (
            files["untracked.bin"]["before"] == sha(before["untracked.bin"]) and files["untracked.bin"]["now"] is None
        )
        assert files["untracked.bin"]["diff"].startswith("[binary")
        assert set((await desk.undo()).values()) == {""}
    assert tree(root) == before
    assert (root / "link").readlink() == Path("a.txt")
    assert not os.access(root / "run.sh", os.X_OK)


async def test_permission_bits_come_back_with_what_commands_deleted_or_replaced(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n", "key": "secret\n", "run": "x\n", "odd": "o\n"})
    modes = {"a.txt": 0o644, "key": 0o600, "run": 0o750, "odd": 0o4711}
    for name, mode in modes.items():
        (root / name).chmod(mode)
    async with at_desk(serve, root) as desk:
        await desk.turn(shell("rm key run odd; echo new > key; echo b > a.txt; chmod 777 a.txt"))
        assert set((await desk.undo()).values()) == {""}
    assert {name: stat.S_IMODE((root / name).stat().st_mode) for name in modes} == modes


async def test_the_users_index_head_stash_and_reflog_are_not_touched(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n", "b.txt": "b\n"})
    (root / "b.txt").write_text("staged\n")
    git(root, "add", "b.txt")
    (root / "b.txt").write_text("not staged\n")
    watched = [root / ".git" / name for name in ("index", "HEAD", "config", "logs/HEAD", "refs/heads/master")]
    seen = {path: path.read_bytes() for path in watched if path.exists()}
    status = git(root, "status", "--porcelain", "--untracked-files=no")
    async with at_desk(serve, root) as desk:
        turn = await desk.turn(write("c.txt", "c\n"), shell("echo d > d.txt"))
        assert {path: path.read_bytes() for path in watched if path.exists()} == seen
        refs = git(root, "for-each-ref", "--format=%(refname)", "refs/pernix").split()
        assert refs[0] == f"refs/pernix/{desk.session}/{turn}" and len(refs) == 3
        assert git(root, "show", f"{refs[0]}:b.txt") == "not staged\n"
    assert git(root, "status", "--porcelain", "--untracked-files=no") == status
    assert git(root, "stash", "list") == "" and not (root / ".git" / "logs" / "refs" / "pernix").exists()


async def test_a_file_that_somebody_changed_since_is_refused_and_the_others_are_put_back(
    serve: Serve, root: Path
) -> None:
    (root / "a.txt").write_text("a\n")
    (root / "b.txt").write_text("b\n")
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), read("b.txt"), edit("a.txt", "a", "A"), edit("b.txt", "b", "B"))
        (root / "a.txt").write_text("mine\n")
        (root / "mine.txt").write_text("mine\n")
        undone = await desk.undo()
        assert undone["b.txt"] == "" and "changed by somebody else" in undone["a.txt"]
        assert (await desk.events("file.restore_refused"))[0]["path"] == "a.txt"
    assert tree(root) == {"a.txt": b"mine\n", "b.txt": b"b\n", "mine.txt": b"mine\n"}


async def test_what_the_user_changes_between_two_commands_is_nobody_elses(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n", "mine.txt": "1\n"})
    async with at_desk(serve, root) as desk:
        await desk.turn(shell("echo b > b.txt"))
        (root / "mine.txt").write_text("2\n")
        await desk.turn(shell("echo c > c.txt"))
        assert set(await desk.files()) == {"b.txt", "c.txt"}
        await desk.undo()
    assert tree(root) == {"a.txt": b"a\n", "mine.txt": b"2\n"}


async def test_a_session_whose_file_was_changed_by_the_user_in_between_goes_back_turn_by_turn_only(
    serve: Serve, root: Path
) -> None:
    async with at_desk(serve, root) as desk:
        await desk.turn(write("a.txt", "one\n"))
        (root / "a.txt").write_text("mine\n")
        await desk.turn(read("a.txt"), edit("a.txt", "mine", "two"))
        assert "between" in (await desk.undo())["a.txt"]
        assert await desk.undo(turn=desk.turns[1]) == {"a.txt": ""}
        assert (root / "a.txt").read_text() == "mine\n"
        assert "changed by somebody else" in (await desk.undo())["a.txt"]


async def test_per_turn_and_per_file(serve: Serve, root: Path) -> None:
    (root / "a.txt").write_text("0\n")
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), write("a.txt", "1\n"), write("sub/b.txt", "1\n"), write("sub/c.txt", "1\n"))
        await desk.turn(write("a.txt", "2\n"), write("d.txt", "2\n"))
        assert await desk.undo(turn=desk.turns[1]) == {"a.txt": "", "d.txt": ""}
        assert tree(root) == {"a.txt": b"1\n", "sub/b.txt": b"1\n", "sub/c.txt": b"1\n"}
        assert await desk.undo("sub/b.txt", "nothing.txt") == {
            "sub/b.txt": "",
            "nothing.txt": "this session has not changed it",
        }
        assert await desk.undo("sub") == {"sub/c.txt": ""}
        files = await desk.files()
        assert not files["a.txt"]["undone"] and files["d.txt"]["undone"]
        assert await desk.undo() == {"a.txt": ""}
        assert await desk.undo() == {}
    assert tree(root) == {"a.txt": b"0\n"} and not (root / "sub").exists()


async def test_a_notebook_that_a_command_changed_is_put_back_only_if_it_is_named(serve: Serve, root: Path) -> None:
    repository(root, {"n.ipynb": "{}\n", "a.txt": "a\n"})
    async with at_desk(serve, root) as desk:
        await desk.turn(shell("echo '{ }' > n.ipynb; echo b > a.txt"))
        undone = await desk.undo()
        assert undone["a.txt"] == "" and "name it" in undone["n.ipynb"]
        assert await desk.undo("n.ipynb") == {"n.ipynb": ""}
    assert tree(root) == {"a.txt": b"a\n", "n.ipynb": b"{}\n"}


@pytest.mark.kernel
async def test_what_a_cell_changed_is_put_back_and_notebooks_are_their_editors(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n", "n.ipynb": "{}\n"})
    code = "open('a.txt', 'w').write('b')\nopen('c.txt', 'w').write('c')\nopen('n.ipynb', 'w').write('{ }')"
    async with at_desk(serve, root) as desk:
        await desk.turn(("run_code", {"code": code}))
        assert set(await desk.files()) == {"a.txt", "c.txt"}
        assert await desk.undo() == {"c.txt": "", "a.txt": ""}
    assert tree(root) == {"a.txt": b"a\n", "n.ipynb": b"{ }"}


async def test_a_formatter_after_an_edit_is_undone_with_it(serve: Serve, root: Path) -> None:
    repository(root, {"a.txt": "a\n"})
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), edit("a.txt", "a", "x"), shell("sed -i s/x/y/ a.txt; sed -i s/y/z/ a.txt"))
        file = (await desk.files(path="a.txt"))["a.txt"]
        assert file["diff"].endswith("-a\n+z\n") and file["by_commands"]
        assert await desk.undo() == {"a.txt": ""}
    assert tree(root) == {"a.txt": b"a\n"}


async def test_a_folder_that_became_a_file_and_a_file_that_became_a_folder(serve: Serve, root: Path) -> None:
    repository(root, {"d/x.txt": "x\n", "f": "f\n"})
    before = tree(root)
    async with at_desk(serve, root) as desk:
        await desk.turn(shell("rm -r d f; echo file > d; mkdir f; echo in > f/y.txt"))
        assert set((await desk.undo()).values()) == {""}
    assert tree(root) == before


async def test_what_it_was_is_gone(serve: Serve, root: Path, tmp_path: Path) -> None:
    (root / "a.txt").write_text("a\n")
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), write("a.txt", "b\n"), write("c.txt", "c\n"))
        for copy in (tmp_path / "data" / "kept" / "copies").rglob("*"):
            if copy.is_file():
                copy.unlink()
        assert "not kept any more" in (await desk.files(path="a.txt"))["a.txt"]["diff"]
        undone = await desk.undo()
        assert undone["c.txt"] == "" and "not kept any more" in undone["a.txt"]
    assert tree(root) == {"a.txt": b"b\n"}


async def test_while_a_turn_runs_nothing_is_undone(serve: Serve, root: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.turn(write("a.txt", "a\n"))
        desk.model.ctl("reset", {})
        desk.model.ctl("script", {"turns": [{"text": "x" * 400, "tps": 5}], "advance": "counter"})
        turn = await desk.server.submit(desk.session, "Talk")
        await desk.server.wait(desk.session, lambda event: event["type"] == "turn.started" and event["turn_id"] == turn)
        await desk.server.post(f"/sessions/{desk.session}/undo", {}, status=409)
        await desk.server.post(f"/sessions/{desk.session}/turns/{turn}/cancel", status=202)
        await desk.server.wait(
            desk.session, lambda event: event.get("after") == "idle_ready" and event["turn_id"] == turn
        )
        assert await desk.undo() == {"a.txt": ""}
    assert tree(root) == {}


async def test_the_model_is_told_on_the_next_turn_and_does_not_know_the_file_any_more(serve: Serve, root: Path) -> None:
    (root / "a.txt").write_text("0\n")
    async with at_desk(serve, root) as desk:
        await desk.turn(read("a.txt"), write("a.txt", "1\n"))
        await desk.undo()
        await desk.turn(write("a.txt", "2\n"))
        (told,) = await desk.events("turn.context_added")
        assert told["item"]["kind"] == "files" and "a.txt" in told["item"]["text"]
        assert (await desk.results())[-1]["status"] == "failed"
        await desk.turn()
        assert len(await desk.events("turn.context_added")) == 1
    assert tree(root) == {"a.txt": b"0\n"}


async def test_the_call_whose_change_is_gone_says_so(serve: Serve, root: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.turn(write("a.txt", "1\n"))
        await desk.undo()
        view = await desk.server.get(f"/sessions/{desk.session}")
        calls = [item for item in view["turns"][0]["items"] if item.get("tool") == "write_file"]
        assert calls[0]["restored"] == ["a.txt"] and view["undos"][0]["done"] == ["a.txt"]


async def test_unknown_things_are_404_and_bad_ones_400(serve: Serve, root: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.server.post("/sessions/ses_none/undo", {}, status=404)
        await desk.server.post(f"/sessions/{desk.session}/undo", {"turn_id": "trn_none"}, status=404)
        await desk.server.post(f"/sessions/{desk.session}/undo", {"path": "x"}, status=400)
        for query, status in (("path=none", 404), ("diff=yes", 400)):
            assert (await desk.server.http.get(f"/sessions/{desk.session}/files?{query}")).status_code == status
