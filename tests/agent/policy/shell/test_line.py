"""How a line is followed from part to part: folders, variables, patterns, files that change on the way, what a person must see."""

import os
import subprocess

import pytest

from .conftest import World

Expected = tuple[str, ...]


@pytest.mark.parametrize(
    ("line", "ruling"),
    [
        ("cd src && cat a.py", "auto"),
        ("cd src; cd ..; cat README.md", "auto"),
        ("cd inlink && ls ..", "auto"),
        ("(cd src); cat README.md", "auto"),
        ("if cd src; then ls; fi", "auto"),
        ("cd nowhere; ls", "ask_always"),
        ("cd", "ask_always"),
        ("cd -P src; ls", "ask_always"),
        ("cd src || cd tests; ls", "ask_always"),
        ("false && cd src; ls", "ask_always"),
        ("if true; then cd src; fi; ls", "ask_always"),
        ("while true; do cd ..; ls; done", "ask_always"),
        ("for d in src tests; do cd $d; ls; done", "ask_always"),
        ("pushd src; ls", "ask_always"),
        ("command cd src; ls", "ask_always"),
        ("cd src && cd deep/../.. && ls", "ask_always"),
    ],
)
def test_line_is_followed_into_folders_of_the_space(pristine: World, line: str, ruling: str):
    assert pristine.judge(line).ruling == ruling, pristine.judge(line)


def test_names_are_looked_up_where_the_line_is_by_then(world: World):
    (world.root / "src" / "away").symlink_to("/etc")
    assert world.judge("cat away/passwd").ruling == "auto"  # nothing of that name is there
    assert world.judge("cd src && cat away/passwd").ruling == "ask_always"
    assert world.judge("command cd src && cat away/passwd").ruling == "ask_always"
    assert world.judge("cat src/a.py; cd src; cat a.py away/passwd").ruling == "ask_always"


def test_cdpath_of_the_environment_makes_folders_uncertain(pristine: World):
    environ = {"CDPATH": "/"}
    assert pristine.judge("cd src && ls", environ=environ).ruling == "ask_always"
    assert pristine.judge("cd ./src && ls", environ=environ).ruling == "auto"


@pytest.mark.parametrize("name", ["BASH_FUNC_ls%%", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE", "BASH_ENV"])
def test_environment_that_changes_what_lines_mean_is_no_ground_to_stand_on(pristine: World, name: str):
    judgement = pristine.judge("ls", environ={name: "x"})
    assert (judgement.ruling, judgement.grave) == ("ask_always", True)


def test_program_of_the_space_that_hides_a_known_one_is_asked(world: World):
    folder = world.root / "bin"
    folder.mkdir()
    (folder / "ls").write_text("#!/bin/sh\nrm -rf .\n")
    environ = {"PATH": f"{folder}:/usr/bin:/bin"}
    assert world.judge("ls", environ=environ).ruling == "ask_always"
    assert world.judge("cat README.md", environ=environ).ruling == "auto"


@pytest.mark.parametrize(
    ("line", "ruling"),
    [
        ('cat "$PWD/README.md" $PWD/src/a.py ~/proj/list.txt ~+/list.txt', "auto"),
        ("for f in README.md src/*.rs 'my file.txt'; do head -1 \"$f\"; done", "auto"),
        ("for f in 'my file.txt'; do cat $f; done", "ask_always"),
        ("for f in '*'; do cat $f; done", "ask_always"),
        ("for f in -o; do sort $f x list.txt; done", "ask"),
        ("for f in ls rm; do $f list.txt; done", "ask_always"),
        ("for _ in 1 2; do ls; done", "auto"),
        ("for _ in 1 2; do cat $_; done", "ask_always"),
        ("for PATH in /tmp; do ls; done", "ask_always"),
        ("for f in a b; do true; done; cat $f", "ask_always"),
        ("f=README.md; cat $f", "ask_always"),
        ("cd src && cat $PWD/../../secret.txt", "ask_always"),
        ("cat $OLDPWD", "ask_always"),
        ("echo $API_KEY", "ask_always"),
        ("cat ~root/x", "ask_always"),
        ("cat ~+:/../../secret.txt", "ask_always"),
        ("cat ~:/../secret.txt", "ask_always"),
        ("dd if=list.txt of=~/x", "ask_always"),
        ("sort list.txt -o ~/x", "ask_always"),
    ],
)
def test_only_variables_that_are_known_are_put_in(pristine: World, line: str, ruling: str):
    assert pristine.judge(line).ruling == ruling, pristine.judge(line)


@pytest.mark.parametrize(
    ("line", "ruling", "grave"),
    [
        ("x=1", "auto", False),
        ("FOO=1 ls", "auto", False),
        ("export CI=1; ls", "auto", False),
        ("TZ=Europe/Berlin date", "auto", False),
        ("TZ=:/etc/passwd date", "ask_always", False),
        ("LC_ALL=../x ls", "ask_always", False),
        ("SOMETHING=1 ls", "ask_always", False),
        ("https_proxy=evil.example curl -s localhost:3000", "ask_always", True),
        ("PATH=/tmp:$PATH", "ask_always", True),
        ("PATH+=:/tmp", "ask_always", True),
        ("LD_LIBRARY_PATH=. ls", "ask_always", True),
        ("GIT_DIR=/tmp/x git log", "ask_always", True),
        ("IFS=/ ls", "ask_always", True),
        ("PAGER=x git log", "ask_always", True),
        ("HOME=/tmp git status", "ask_always", True),
        ("PYTHONSTARTUP=x python3 src/a.py", "ask_always", True),
        ("export -p", "ask_always", True),
        ("export", "ask_always", True),
        ("declare -x A=1", "ask_always", True),
    ],
)
def test_only_variables_known_to_be_harmless_are_set_unasked(pristine: World, line: str, ruling: str, grave: bool):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.grave) == (ruling, grave), judgement


@pytest.mark.parametrize(
    ("line", "ruling", "rules"),
    [
        ("ls > out.txt", "ask", (">",)),
        ("ls 2>&1 >/dev/null </dev/null", "auto", ()),
        ("ls >&2 2>&-", "auto", ()),
        ("cat < /dev/stdin > /dev/stderr", "auto", ()),
        ("cat /dev/fd/3", "ask_always", ()),
        ("cat //proc/self/cwd/README.md", "ask_always", ()),
        ("cd src && cat ../../../../../../../../../proc/self/cwd/a.py", "ask_always", ()),
        ("ls >&out.txt", "ask", (">",)),
        ("ls >&٣", "ask", (">",)),
        ("ls &>> out.txt", "ask", (">",)),
        ("ls <> out.txt", "ask", (">",)),
        ("{ ls; pwd; } > out.txt", "ask", (">",)),
        ("for f in a; do ls; done > out.txt", "ask", (">",)),
        ("ls > out.txt > /etc/x", "ask_always", ()),
        ("ls > *.txt", "ask_always", ()),
        ("ls {x}> out.txt", "ask_always", ()),
        ("ls 3>&out.txt", "ask_always", ()),
        ("> list.txt", "ask", (">",)),
        ("cat < .env", "ask_always", ()),
        ("cat < passwd.txt", "ask_always", ()),
        ("ls > .git/config", "ask_always", ()),
        ("ls > .vscode/tasks.json", "ask_always", ()),
        ("ls > /dev/udp/h/1", "ask_always", ()),
        ("ls > outlink", "ask_always", ()),
    ],
)
def test_redirections_are_judged_by_where_they_lead(pristine: World, line: str, ruling: str, rules: Expected):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.rules) == (ruling, rules), judgement


@pytest.mark.parametrize(
    ("line", "ruling"),
    [
        ("cat *.md", "auto"),
        ("cat src/*.[rp]*", "auto"),
        ("cat '*'/../README.md", "auto"),
        ("cat out*/secret.txt", "ask_always"),
        ("cat */secret.txt", "ask_always"),
        ("cat .e*", "ask_always"),
        ("cat pass*", "ask_always"),
        ("cat ../*", "ask_always"),
        ("cat .*/secret.txt", "ask_always"),
        ("cat /etc/pass*", "ask_always"),
        ("l* src", "ask_always"),
        ("cat *-x/../../secret.txt", "ask_always"),
    ],
)
def test_patterns_are_judged_by_what_they_match(pristine: World, line: str, ruling: str):
    assert pristine.judge(line).ruling == ruling, pristine.judge(line)


def test_names_that_look_like_options_or_hide_something_are_not_given_to_a_program(world: World):
    assert world.judge("sort *").ruling == "ask_always"  # passwd.txt leads out
    assert world.judge("cd docs && sort *").ruling == "auto"
    (world.root / "docs" / "-ox").touch()
    assert world.judge("cd docs && sort *").ruling == "ask_always"
    assert world.judge("cd docs && sort ./*").ruling == "auto"
    (world.root / "data" / "a\nb").touch()
    assert world.judge("cat data/*").ruling == "auto"
    (world.root / "data" / "a\x1b[2Jb").touch()
    assert world.judge("cat data/*").ruling == "ask_always"


def test_pattern_with_too_many_names_is_asked(world: World):
    for number in range(450):
        (world.root / "docs" / f"{number}.txt").touch()
    assert world.judge("wc -l docs/*").ruling == "ask_always"
    assert world.judge("wc -l docs/1*").ruling == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "ln -s /etc e && cat e/passwd",
        "ln -s /etc src; cat src/etc/passwd",
        "cp -a outlink z; cat z/secret.txt",
        "mv outlink z; cd z; ls",
        "tar xf a.tar; cat new/README.md",
        "git checkout other; cat README.md",
        "(ln -s .. up); ls up",
        "ln -s .. up | true; ls up",
        "if ln -s .. up; then ls up; fi",
        "ln -s / s; wc -l */etc/passwd",
        "echo 'rm -rf .' > x.sh; ./x.sh",
        "echo 'rm -rf .' > scripts/test.sh; bash scripts/test.sh",
    ],
)
def test_what_an_earlier_part_may_have_changed_is_not_what_it_looks_like(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "ask_always", judgement


@pytest.mark.parametrize(
    "line", ["mkdir -p out/x && touch out/x/y && ls out", "cargo build && ls", "git add -A && git commit -m x"]
)
def test_plain_steps_after_each_other_can_be_remembered(pristine: World, line: str):
    assert pristine.judge(line).ruling == "ask"


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("./scripts/x.sh a", ("./scripts/x.sh",)),
        ("cd scripts && ./x.sh", ("./scripts/x.sh",)),
        ("scripts/../x.sh", ("./x.sh",)),
        ("/usr/bin/touch x", ("touch",)),
    ],
)
def test_program_named_by_its_file_is_remembered_as_that_file(pristine: World, line: str, rules: Expected):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.rules) == ("ask", rules)


@pytest.mark.parametrize(
    "line", ["./nothing.sh", "outlink/x.sh", "./outlink/secret.txt", "/srv/x", "../x", "~/x", "$PWD/outlink/x"]
)
def test_program_outside_or_not_there_is_asked_every_time(pristine: World, line: str):
    assert pristine.judge(line).ruling == "ask_always"


def git(world: World, *words: str) -> None:
    subprocess.run(["git", *words], cwd=world.root, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("key", "value", "ruling"),
    [
        ("core.fsmonitor", "touch x", "ask_always"),
        ("core.pager", "touch x", "ask_always"),
        ("core.hooksPath", "/tmp/x", "ask_always"),
        ("core.hooksPath", ".husky", "auto"),
        ("core.sshCommand", "touch x", "ask_always"),
        ("core.worktree", "/", "ask_always"),
        ("alias.x", "!touch x", "ask_always"),
        ("diff.external", "touch x", "ask_always"),
        ("diff.x.textconv", "touch x", "ask_always"),
        ("filter.x.clean", "touch x", "ask_always"),
        ("include.path", "other", "ask_always"),
        ("remote.origin.url", "ext::touch x", "ask_always"),
        ("remote.origin.url", "https://example.com/x.git", "auto"),
        ("branch.main.merge", "refs/heads/main", "auto"),
        ("something.else", "x", "ask_always"),
    ],
)
def test_git_reads_only_where_its_configuration_runs_nothing(world: World, key: str, value: str, ruling: str):
    git(world, "config", key, value)
    assert world.judge("git status").ruling == ruling
    assert world.judge("cd src && timeout 5 git log").ruling in ("ask", "ask_always")
    assert world.judge("git -C src diff").ruling == ruling


def test_git_in_a_folder_that_is_itself_a_repository_is_asked(world: World):
    subprocess.run(["git", "init", "-q", "--bare", str(world.root / "bare")], check=True)
    assert world.judge("git -C bare log").ruling == "ask_always"
    assert world.judge("cd bare && git log").ruling == "ask_always"


def test_git_with_a_hook_that_reading_starts_is_asked(world: World):
    hook = world.root / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch x\n")
    assert world.judge("git status").ruling == "auto"
    hook.chmod(0o755)
    assert world.judge("git status").ruling == "ask_always"


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_WORK_TREE"])
def test_git_steered_by_the_environment_is_asked(pristine: World, name: str):
    assert pristine.judge("git status", environ={name: "x"}).ruling == "ask_always"


@pytest.mark.parametrize(
    "line",
    [
        "rm list.txt", "git push", "git reset --hard", "sudo ls", "curl https://example.com", "cat ~/.ssh/id_rsa", "cat .env", "echo $API_TOKEN",
        "ls > .git/hooks/post-commit", "ls > ~/.bashrc", "curl -s localhost:3000/x | sh", "echo x | base64 -d | bash", "kill 1", "crontab x",
        "$CMD list.txt", "ls ../other", "cat /etc/passwd", "echo 'x", "ls\u200b", "ls" + " " * 70 + "; true", "eval ls", "echo $(rm list.txt)",
        "f() { rm list.txt; }", "case a in a) rm x;; esac", "npm publish", "pip install requests", "dd if=/dev/zero of=x", "ls" + " " * 13_000,
        "python3 - <<'E'\nimport shutil\nshutil.rmtree('/')\nE", "python3 <<< 'import os; os.remove(\"list.txt\")'", "read PATH; ls",
    ],
)  # fmt: skip
def test_what_a_person_must_see_is_grave(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.grave, judgement
    assert judgement.ruling in ("ask", "ask_always")


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'print(1)'", "echo $(date)", "echo `ls src`", "[[ -f x ]] && ls", "cat <<E\nx\nE",
        "python3 - <<'E'\nprint(1)\nE", "ls {src,tests}",
        "for f in src/*; do echo ${f%.py}; done", "echo $((1+2))", "npm test &",
        "diff <(ls src) <(ls tests)", "case a in a) ls;; esac",
        "cargo test > out.txt", "ls | python3 -c 'x'", "touch x",
        'while read -r l; do echo "$l"; done < list.txt', "env | grep FOO", "make -j$(nproc)",
    ],
)  # fmt: skip
def test_what_only_cannot_be_known_is_not_grave(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert not judgement.grave, judgement
    assert judgement.ruling in ("ask", "ask_always")


@pytest.mark.parametrize(
    "line",
    [
        "a" * 100_000,
        "ls " * 40_000,
        "(" * 10_000,
        "true;" * 2_000,
        "for f in * * *; do for g in * * *; do cat $f $g; done; done",
        "echo " + "* " * 2_000,
    ],
)
def test_too_much_is_asked_every_time(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.grave) == ("ask_always", True)


def test_paths_that_a_line_touches_are_named(pristine: World):
    judgement = pristine.judge("cat src/../README.md > out/x.txt")
    assert judgement.reads == (str(pristine.root / "README.md"),)
    assert judgement.writes == (str(pristine.root / "out" / "x.txt"),)


def test_space_reached_through_a_link_is_the_same_space(world: World):
    link = world.home / "way"
    link.symlink_to("proj")
    from jupyter_pernix.agent.policy.shell import judge_line

    assert judge_line("cat README.md", root=str(link), home=str(world.home)).ruling == "auto"
    assert judge_line(f"cat {link}/README.md", root=str(link), home=str(world.home)).ruling == "auto"
    assert os.path.realpath(link) == str(world.root)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("ls /srv/logs", "dir:/srv/logs"),
        ("find /srv/logs -name '*.log'", "dir:/srv/logs"),
        ("grep -r foo /srv/logs", "dir:/srv/logs"),
        ("cat /srv/logs/a.log", "dir:/srv/logs"),
        ("ls /srv/logs/a.log", "dir:/srv/logs"),
        ("cat /srv/logs", "file:/srv/logs"),
        ("ls /tmp/x", "file:/tmp/x"),
    ],
)
def test_folder_that_is_gone_through_is_given_itself(pristine: World, line: str, rule: str):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.rules) == ("ask", (rule,))
