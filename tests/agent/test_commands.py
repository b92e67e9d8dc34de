"""Command lines and cells, read for what they are."""

import pytest

from jupyter_pernix.agent.commands import (
    checks_only,
    code_may_write,
    code_runs_tests,
    commits,
    downloads,
    exit_code_is_of_tests,
    installs,
    looks_only,
    pushes,
    runs_tests,
    scripts,
    scripts_of_code,
    simple_commands,
    waits,
)


def test_a_line_is_split_at_what_separates_commands_and_nowhere_else() -> None:
    assert simple_commands("a 'b; c' && d | e # f; g\nh > i") == (("a", "b; c"), ("d",), ("e",), ("h", ">", "i"))
    assert simple_commands("echo 'unended") is None


@pytest.mark.parametrize(
    "line",
    [
        "ls -la | grep x",
        "git status",
        "git -P log --oneline",
        "cat a b | head -3",
        "sed -n '1,5p' f",
        "echo hi >&2",
        "true",
        "find . -name '*.py'",
        "cd src && wc -l *.py 2>/dev/null",
        "LC_ALL=C sort a | uniq -c",
        "bash -c 'ls'",
        "sleep 3; tail -1 log",
    ],
)
def test_a_line_that_only_shows_cannot_have_changed_a_file(line: str) -> None:
    assert looks_only(line) and checks_only(line)


@pytest.mark.parametrize(
    "line",
    [
        "cat a > b",
        "echo x >> log",
        "sed -i s/a/b/ f",
        "find . -delete",
        "find . -exec rm {} +",
        "git commit -m x",
        "git -c core.pager=x status",
        "ls $(rm x)",
        "ls `rm x`",
        "cat <<E > f\nE",
        "tee f < g",
        "sort -o a a",
        "python a.py",
        "make",
        "xargs rm",
        "rm a",
        "bash -c 'rm a'",
        "echo 'unended",
    ],
)
def test_any_other_line_may_have(line: str) -> None:
    assert not looks_only(line) and not checks_only(line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "python -m pytest -q",
        "python3.12 -m unittest",
        "uv run pytest tests/",
        "cd x && pytest 2>&1 | tail -5",
        "timeout 60 pytest -x",
        "npm test",
        "npm run test:unit",
        "yarn test",
        "cargo test --all",
        "go test ./...",
        "make check",
        "make test-fast",
        "tox -e py312",
        "FOO=1 nice -n 10 pytest",
        "bash -c 'pytest -q'",
        "python tests/test_a.py",
        "./run_tests.sh",
        "coverage run -m pytest",
        "python manage.py test",
    ],
)
def test_a_run_of_tests_is_known(line: str) -> None:
    assert runs_tests(line)


@pytest.mark.parametrize(
    "line",
    [
        "ls tests",
        "cat test_a.py",
        "pytest --collect-only",
        "pytest --version",
        "echo pytest",
        "pip install pytest",
        "git add tests",
        "python a.py",
        "test -f a",
        "npm install",
        "make",
        "grep -rn 'cargo test' docs",
    ],
)
def test_what_is_about_tests_does_not_run_them(line: str) -> None:
    assert not runs_tests(line)


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("pytest -q", True),
        ("cd a && pytest -q", True),
        ("pytest && echo ok", True),
        ("pytest | tail -3", False),
        ("pytest; echo done", False),
        ("pytest || true", False),
        ("set -o pipefail; pytest | tail -3", False),
    ],
)
def test_whose_exit_code_it_is_is_known(line: str, own: bool) -> None:
    assert exit_code_is_of_tests(line) is own


def test_linters_check_and_fixers_do_not() -> None:
    assert all(
        checks_only(line) for line in ("ruff check .", "mypy a.py && pytest", "black --check .", "ruff format --check")
    )
    assert not any(
        checks_only(line)
        for line in ("ruff check --fix", "black .", "ruff format .", "eslint --fix a.js", "pytest > log")
    )


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("./x.sh a b", ("./x.sh",)),
        ("bash -x x.sh", ("x.sh",)),
        ("python a.py data.csv && sh b.sh", ("a.py", "b.sh")),
        ("source env/bin/activate; . ./more", ("env/bin/activate", "./more")),
        ("bash -c './x.sh'", ("./x.sh",)),
        ("make -f other.mk all", ("other.mk", "Makefile", "makefile")),
        ("cat a.py", ()),
        ("python -m pytest", ()),
    ],
)
def test_the_scripts_that_a_line_runs_are_known(line: str, names: tuple[str, ...]) -> None:
    assert scripts(line) == names


def test_the_scripts_that_a_cell_runs_are_known() -> None:
    assert scripts_of_code("x = 1\n!./x.sh\n%run a.py 3\n!!bash b.sh") == ("./x.sh", "b.sh", "a.py")


def test_cells_that_may_write_or_test_are_known() -> None:
    assert not any(code_may_write(code) for code in ("df.sum()", "print(1 + 1)", "x = [y for y in z]\nplt.plot(x)"))
    assert all(
        code_may_write(code)
        for code in ("df.to_csv('a')", "open('a', 'w')", "!touch a", "%cd x", "Path('a').unlink()", "os.remove('a')")
    )
    assert all(
        code_runs_tests(code)
        for code in ("!pytest", "assert f(1) == 2", "unittest.main()", "np.testing.assert_allclose(a, b)")
    )
    assert not any(code_runs_tests(code) for code in ("test = 3", "train, test = split(df)", "df.test.sum()"))


def test_installs_downloads_commits_and_pushes_are_known() -> None:
    assert all(
        installs(line)
        for line in (
            "pip install x",
            "python -m pip install -U x",
            "%pip install x",
            "uv add x",
            "npm ci",
            "apt-get install -y x",
        )
    )
    assert not any(installs(line) for line in ("pip list", "pip show install", "ls"))
    assert all(
        downloads(line)
        for line in ("curl -O x", "wget x", "git clone x", "requests.get(u)", "urllib.request.urlretrieve(u)")
    )
    assert all(commits(line) for line in ("git commit -m x", "git -C a commit -am x", "repo.index.commit('x')"))
    assert not any(commits(line) for line in ("git log", "echo commit"))
    assert pushes("git push origin main") and not pushes("git pull")


def test_waiting_is_known() -> None:
    assert waits("sleep 5") and waits("cat a; sleep 5") and not waits("echo sleep")
