"""Which rules there can be, and when they cover what a judge found."""

from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.judgement import Judgement
from jupyter_pernix.agent.policy.rules import RuleSet, covered, offer, paths_denied, tool_denied, valid_deny, valid_rule

HOME = "/home/u"


def asked(*rules: str) -> Judgement:
    return Judgement(ruling="ask", why="it is asked", rules=rules)


@pytest.mark.parametrize(
    "rule",
    [
        "cargo test",
        "make",
        "npm run",
        "npx vite",
        "uv run pytest",
        "uv run python scripts/x.py",
        "xargs grep",
        "bash scripts/test.sh",
        "python scripts/x.py",
        "python -m pytest",
        "python -m pip install",
        "./scripts/x.sh",
        "docker compose up",
        "git commit",
        ">",
        "exact:sed -i 's/a*/b/' src/a.py",
        "exact:python -c 'print(1)'",
        "dir:/srv/out",
        "dir:/home/u/other",
        "file:/tmp/p.diff",
        "tool:web_fetch",
    ],
)
def test_what_a_judge_may_offer_is_a_rule(rule: str):
    assert valid_rule(rule, home=HOME) == ""


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "   ",
        "rm",
        "rm -rf",
        "/bin/rm",
        "sudo",
        "sudo *",
        "su root",
        "doas make",
        "kill",
        "chmod",
        "crontab",
        "eval",
        "ssh host",
        "mkfs.ext4",
        "git push",
        "git reset",
        "npm publish",
        "gh pr merge",
        "python",
        "python3.12",
        "/usr/bin/python3",
        "bash",
        "sh",
        "node",
        "Rscript",
        "awk",
        "awk prog",
        "sed s",
        "python -c",
        "python -u x.py",
        "python -m code",
        "python -m pip",
        "bash -c",
        "npx",
        "npx -y",
        "uv run",
        "uv run rm",
        "uv run python",
        "uv run --with",
        "xargs",
        "xargs rm",
        "xargs sh",
        "npm exec",
        "docker run",
        "poetry run bash",
        "env",
        "timeout make",
        "nohup",
        "cargo *",
        "cargo te?t",
        "make [a-z]",
        "cargo test; ls",
        "cargo $X",
        "cargo 'test x'",
        "cargo --version",
        "make -j8",
        "-y",
        "FOO=1 make",
        "FOO=1",
        "*",
        "cargo test\nrm",
        "cargo test\x1b",
        "cargo\u202etest",
        "cargo\u200btest",
        "m\u0430ke",
        "exact:",
        "exact:   ",
        "exact:rm -rf x",
        "exact:sudo ls",
        "exact:ls\nrm x",
        "dir:",
        "dir:/",
        "dir:/home",
        "dir:/home/u",
        "dir:/tmp",
        "dir:/tmp/x",
        "dir:/usr",
        "dir:/etc",
        "dir:/srv/../etc",
        "dir:/srv/",
        "dir://srv",
        "dir:out",
        "dir:~/x",
        "dir:/srv/*",
        "dir:/home/u/.ssh",
        "dir:/home/u/.aws/sso",
        "dir:/home/v/.gnupg",
        "file:/home/u/.netrc",
        "file:/srv/app/.env",
        "file:/etc/passwd",
        "file:/home/u/.ssh/id_rsa",
        "tool:",
        "tool:a b",
        "tool:notes.*",
        "write:x",
        "read:x",
        "x" * 3000,
    ],
)
def test_what_is_never_remembered_is_no_rule_whoever_wrote_it(rule: str):
    assert valid_rule(rule, home=HOME)


@pytest.mark.parametrize(
    "rule",
    [
        "make",
        "rm -rf",
        "git push",
        "notes.*",
        "tool:web_fetch",
        "write:protected.txt",
        "read:data",
        "sudo",
        "python",
        ">",
    ],
)
def test_a_deny_rule_may_be_wider_than_one_that_allows(rule: str):
    assert valid_deny(rule) == ""


@pytest.mark.parametrize("rule", ["", " ", "rm *", "write:", "write: ", "-rf", "a\nb", "a\u202eb", "rm; ls", "*"])
def test_a_deny_rule_that_would_never_match_is_refused(rule: str):
    assert valid_deny(rule)


@pytest.mark.parametrize(
    ("needed", "allowed", "yes"),
    [
        (("cargo test",), ("cargo test",), True),
        (("cargo test",), ("  cargo   test ",), True),
        (("cargo test",), ("cargo",), False),
        (("cargo",), ("cargo test",), False),
        (("cargo test", ">"), ("cargo test",), False),
        (("cargo test", ">"), (">", "ls", "cargo test"), True),
        (("exact:find . -name '*.pyc' -delete",), ("exact:find . -name '*' -delete",), False),
        (("exact:a  b",), ("exact:a b",), False),
        (("dir:/srv/out/a",), ("dir:/srv/out",), True),
        (("file:/srv/out/b",), ("dir:/srv/out",), True),
        (("dir:/srv/outer",), ("dir:/srv/out",), False),
        (("file:/srv/outer",), ("dir:/srv/out",), False),
        (("dir:/srv/out",), ("dir:/srv/out/a",), False),
        (("dir:/srv/out",), ("file:/srv/out",), False),
        (("dir:/srv/out/../x",), ("dir:/srv/out",), False),
        (("file:/srv/out/../x",), ("dir:/srv/out", "file:/srv/out/../x"), False),
        (("dir:/srv/out/a",), ("dir:/",), False),
        (("file:/home/u/.ssh/id_rsa",), ("dir:/home/u", "file:/home/u/.ssh/id_rsa"), False),
        (("file:/home/u/a/.ssh/id_rsa",), ("dir:/home/u/a",), False),
        (("rm",), ("rm",), False),
        (("npx -y",), ("npx -y",), False),
        ((), ("cargo test",), False),
    ],
)
def test_each_needed_rule_has_to_be_there(needed: tuple[str, ...], allowed: tuple[str, ...], yes: bool):
    assert covered(asked(*needed), allowed, home=HOME) is yes


@pytest.mark.parametrize("ruling", ["ask_always", "denied", "auto"])
def test_only_an_ask_is_covered(ruling: str):
    judgement = Judgement(ruling=ruling, why="", rules=("cargo test",))  # pyright: ignore[reportArgumentType]
    assert not covered(judgement, ("cargo test",), home=HOME)


def test_nothing_is_covered_while_rules_cannot_be_read():
    assert RuleSet(allow=("cargo test",)).covers(asked("cargo test"))
    assert RuleSet().covers(asked("cargo test"), session=("cargo test",))
    assert not RuleSet(allow=("cargo test",), broken="it is no JSON").covers(
        asked("cargo test"), session=("cargo test",)
    )


def test_rules_are_offered_only_if_they_cover_the_same_call():
    assert offer(asked("cp", "dir:/srv/out"), lambda: asked("cp", "dir:/srv/out"), home=HOME) == ("cp", "dir:/srv/out")
    assert offer(asked("cp"), lambda: asked("cp", "dir:/srv/out"), home=HOME) == ()
    assert offer(asked("cp"), lambda: Judgement(ruling="ask_always", why=""), home=HOME) == ()
    assert offer(asked("cp", "cp"), lambda: asked("cp"), home=HOME) == ("cp",)


@pytest.mark.parametrize(
    "judgement", [asked(), asked("rm"), asked("cp", "dir:/"), Judgement(ruling="ask_always", why="", rules=("cp",))]
)
def test_what_can_be_no_rule_is_not_offered(judgement: Judgement):
    assert offer(judgement, lambda: judgement, home=HOME) == ()


@pytest.mark.parametrize(
    ("rule", "tool", "yes"),
    [
        ("notes.*", "notes.add_note", True),
        ("tool:notes.*", "notes.add_note", True),
        ("notes.*", "notes2.add_note", False),
        ("notes.*", "notes", False),
        ("tool:run_code", "run_code", True),
        ("tool:run_code", "run_code2", False),
        ("run_code", "run_code", False),
    ],
)
def test_a_tool_or_all_of_a_connector_can_be_denied(rule: str, tool: str, yes: bool):
    assert tool_denied(tool, ("make", rule)) == (rule if yes else "")


def test_paths_can_be_denied_for_reading_or_writing(tmp_path: Path):
    root = tmp_path / "space"
    (root / "data").mkdir(parents=True)
    (root / "link").symlink_to(root / "data")
    read = Judgement(ruling="auto", why="", reads=(f"{root}/data/in.csv",))
    written = Judgement(ruling="ask", why="", writes=(f"{root}/data/in.csv",))

    def denied(judgement: Judgement, rule: str) -> bool:
        return paths_denied(judgement, ("make", rule), root=str(root), home=str(tmp_path)) == rule

    for path in ("data", "data/", "./data/in.csv", "link", f"{root}/data", "~/space", "~"):
        assert (denied(read, f"read:{path}"), denied(written, f"read:{path}")) == (True, False)
        assert (denied(read, f"write:{path}"), denied(written, f"write:{path}")) == (False, True)
    assert denied(read, "dir:data")
    assert denied(written, "dir:data")
    for path in ("dat", "data2", "~/other", "/data"):
        assert not denied(written, f"write:{path}")
