"""What a rule may be: the forms that can be remembered, and what never is, whoever wrote it down.

An allow rule is ``cargo test`` (a program and its subcommand or script, without options), ``exact:LINE``, ``>`` (output into files of the
space), ``dir:/abs``, ``file:/abs`` or ``tool:NAME``. A deny rule may be wider, since it only forbids: any words, with options if they
matter (``rm -rf``), ``write:PATH``, ``read:PATH``, ``exact:LINE``, ``tool:NAME`` and ``NAME.*`` for every tool of a connector.
"""

import posixpath
import re
from pathlib import Path

from .paths import holds_credentials, inside, is_shared
from .places import TOO_WIDE
from .plain import visible


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _sequences(text: str) -> tuple[tuple[str, ...], ...]:
    """Sequences of words with semicolons between."""
    return tuple(tuple(one.split()) for one in text.split(";"))


INTERPRETERS = _words("""sh bash dash zsh ksh mksh fish csh tcsh ash pwsh powershell cmd busybox python pypy ipython node nodejs deno bun perl ruby
    irb php lua luajit r rscript julia ghci racket guile tclsh wish osascript awk gawk mawk nawk sed scala groovy jshell elixir iex erl swift sqlite3
    duckdb psql mysql""")
"""Programs that run any text: a rule has to name the script. Compared without a version (``python3.12``)."""

_TOOLS_BY_TEXT = frozenset(
    {"awk", "gawk", "mawk", "nawk", "sed", "sqlite3", "duckdb", "psql", "mysql", "cmd", "busybox"}
)
"""Of these, the second word is no file with a program: only ``exact:`` will do."""

_RUN_TEXT_MODULES = _words("code runpy timeit pdb profile cProfile trace idlelib IPython pip")

RUNNERS = _sequences("""npx;bunx;uvx;pnpx;xargs;parallel;uv run;uv tool run;pipx run;poetry run;pdm run;hatch run;rye run;pixi run;pipenv run;
    conda run;mamba run;micromamba run;npm exec;npm x;pnpm exec;pnpm dlx;yarn exec;yarn dlx;bun x;bundle exec;dotnet exec;nix run;nix shell;
    docker run;docker exec;docker compose run;docker compose exec;podman run;podman exec;kubectl exec;kubectl run;srun;mpirun;mpiexec;
    direnv exec;mise exec;mise x;asdf exec;tox exec;devbox run;npm explore""")
"""Words after which another program stands: a rule has to name it."""

_WRAPPERS = _words("""env nice ionice nohup time timeout stdbuf setsid command builtin chrt taskset unbuffer script watch strace ltrace caffeinate
    catchsegv faketime""")

_NEVER: dict[str, str] = {
    **dict.fromkeys(_words("rm rmdir unlink shred srm wipe trash truncate"), "it deletes"),
    **dict.fromkeys(
        _words("sudo su doas pkexec runuser setpriv newgrp sg chroot nsenter unshare"), "it takes other rights"
    ),
    **dict.fromkeys(
        _words("dd mkfs fdisk sfdisk parted wipefs mkswap mount umount losetup cryptsetup"),
        "it works on disks as a whole",
    ),
    **dict.fromkeys(_words("chmod chown chgrp setfacl chattr setcap"), "it changes who may do what"),
    **dict.fromkeys(_words("kill pkill killall xkill"), "it ends other programs"),
    **dict.fromkeys(
        _words("crontab at batch systemctl service launchctl systemd-run shutdown reboot halt poweroff init"),
        "it changes what runs later",
    ),
    **dict.fromkeys(_words("eval exec source . trap alias"), "it runs any text"),
    **dict.fromkeys(_words("ssh scp sftp rsync telnet nc ncat netcat socat ftp"), "it reaches other machines"),
    **dict.fromkeys(_words("twine"), "it publishes"),
}
"""Programs of which no call is remembered."""

_NEVER_WORDS: dict[tuple[str, ...], str] = {
    words: why
    for why, lines in {
        "it publishes or changes something elsewhere": """git push;git lfs push;git send-email;npm publish;npm unpublish;yarn publish;
        pnpm publish;cargo publish;cargo yank;gem push;poetry publish;uv publish;hatch publish;flit publish;pdm publish;docker push;
        podman push;helm push;gh pr merge;gh pr create;gh release create;gh release delete;gh repo delete;gh secret set;gh api;
        kubectl apply;kubectl delete;kubectl create;kubectl replace;kubectl patch;terraform apply;terraform destroy;pulumi up""",
        "it throws work away": "git reset;git clean;git gc;git prune;git filter-branch;git update-ref;git reflog",
        "it changes what runs later": "git config;git hook;git submodule;git worktree",
        "it changes what the agent may do": "jupyter pernix;jupyter-pernix",
    }.items()
    for words in _sequences(lines)
}

_VERSION = re.compile(r"[\d.]+$")
_NAME = re.compile(r"[A-Za-z0-9_][\w.:/-]*", re.ASCII)
_WILD = set("*?[]{}")
_SHELL = set(";|&$`<>()\"'\\!#~^")
_LONGEST = 2000


def valid_rule(rule: str, *, home: str = "") -> str:
    """Why ``rule`` can never be an allow rule, as a sentence's end for a person; "" if it can. ``home`` "": the user's own."""
    fault = _text_fault(rule)
    if fault:
        return fault
    kind, _, rest = rule.partition(":")
    match kind:
        case "exact":
            return _exact_fault(rest)
        case "dir" | "file":
            return _path_fault(kind, rest, home)
        case "tool":
            return "" if _NAME.fullmatch(rest) else f"{rest!r} is not the name of a tool"
        case "read" | "write":
            return f"`{kind}:` is a form of deny rules; allow a folder by `dir:` or a file by `file:`"
        case _:
            return "" if rule == ">" else _words_fault(rule.split())


def valid_deny(rule: str) -> str:
    """Why ``rule`` can never be a deny rule; "" if it can."""
    fault = _text_fault(rule)
    if fault:
        return fault
    kind, colon, rest = rule.partition(":")
    if colon and kind in ("exact", "dir", "file", "read", "write", "tool"):
        return "" if rest.strip() else f"nothing stands behind `{kind}:`"
    if rule == ">" or re.fullmatch(r"[A-Za-z0-9_][\w-]*\.\*", rule, re.ASCII):
        return ""
    found = (_WILD | _SHELL) & set(rule)
    if found:
        return f"{_quoted(found)} has no meaning in a deny rule: name the program, and the subcommand or options that matter"
    return "it has no program" if rule.startswith("-") else ""


def normal(rule: str) -> str:
    """A rule as it is compared: one space between words; the text of the other forms stays as it is."""
    kind, colon, _ = rule.partition(":")
    prefixed = colon and kind in ("exact", "dir", "file", "read", "write", "tool")
    return rule if prefixed else " ".join(rule.split())


def _text_fault(rule: str) -> str:
    if not rule.strip():
        return "it is empty"
    if len(rule) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    if any(character in "\n\t\r" for character in rule) or visible(rule) != rule:
        return "it holds a line break, or a character that does not show"
    return ""


def _exact_fault(line: str) -> str:
    words = line.split()
    if not words:
        return "nothing stands behind `exact:`"
    why = _never(words)
    return f"{words[0]!r} is never remembered: {why}" if why else ""


def _words_fault(words: list[str]) -> str:
    wild = _WILD & set("".join(words))
    if wild:
        return f"{_quoted(wild)} is no wildcard here: name the program and its subcommand"
    odd = _SHELL & set("".join(words))
    if odd:
        return f"{_quoted(odd)} does not belong to the words of one command; a whole line is `exact:LINE`"
    if not words[0].isascii():
        return "the program's name has letters that look like others"
    return _program_fault(words)


def _program_fault(words: list[str]) -> str:
    """Of words without anything special in them."""
    program = posixpath.basename(words[0])
    if words[0].startswith("-") or not program:
        return f"{words[0]!r} is not a program"
    if "=" in words[0]:
        return "assignments are left out of rules"
    why = _never(words)
    if why:
        return f"{' '.join(words)!r} is never remembered: {why}"
    if program in _WRAPPERS:
        return f"{program!r} is left out of rules: write the command behind it"
    runner = _runner(words)
    if runner:
        return _run_fault(runner, words[len(runner) :])
    if _interpreter(program):
        return _script_fault(program, words[1:])
    if any(word.startswith("-") for word in words):
        return "options are left out of rules; a whole line is `exact:LINE`"
    return ""


def _run_fault(runner: tuple[str, ...], behind: list[str]) -> str:
    if not behind:
        return f"{' '.join(runner)!r} runs another program: the rule must name it"
    if behind[0].startswith("-"):
        return f"{behind[0]!r} is an option, not the program that {' '.join(runner)!r} runs"
    return _program_fault(behind)


def _script_fault(program: str, behind: list[str]) -> str:
    if not behind or program in _TOOLS_BY_TEXT:
        return f"{program!r} runs any text: name the script, or remember the whole line as `exact:LINE`"
    if behind[0] == "-m" and len(behind) > 1 and _NAME.fullmatch(behind[1]):
        if behind[1] in _RUN_TEXT_MODULES and len(behind) == 2:
            return f"the module {behind[1]!r} can do anything: name what it is to do"
        return "options are left out of rules" if any(word.startswith("-") for word in behind[2:]) else ""
    if any(word.startswith("-") for word in behind):
        return f"options of {program!r} are left out of rules: name the script"
    return ""


def _never(words: list[str]) -> str:
    program = posixpath.basename(words[0])
    why = _NEVER.get(program) or _NEVER.get(program.split(".")[0], "")
    return why or next((why for never, why in _NEVER_WORDS.items() if (program, *words[1:])[: len(never)] == never), "")


def _runner(words: list[str]) -> tuple[str, ...]:
    """The longest runner that the words begin with."""
    mine = (posixpath.basename(words[0]), *words[1:])
    return max((one for one in RUNNERS if mine[: len(one)] == one), key=len, default=())


def _interpreter(program: str) -> bool:
    return program.lower() in INTERPRETERS or _VERSION.sub("", program.lower()) in INTERPRETERS


def _path_fault(kind: str, path: str, home: str) -> str:
    if not path.startswith("/") or path.startswith("//") or posixpath.normpath(path) != path:
        return f"{path!r} is not an absolute path in its shortest form"
    if _WILD & set(path):
        return f"{_quoted(_WILD & set(path))} is no wildcard here: name the folder"
    mine = home or str(Path.home().resolve())
    if holds_credentials(path, home=mine):
        return f"{path} may hold credentials"
    if kind == "file":
        return ""
    if path in TOO_WIDE or inside(mine, path):
        return f"{path} is too wide"
    if is_shared(path, home=mine):
        return f"{path} is in a folder of everybody's: name the file as `file:`"
    return ""


def _quoted(characters: set[str]) -> str:
    return " ".join(f"`{character}`" for character in sorted(characters))
