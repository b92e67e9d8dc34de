"""git: reading is plain, what can be taken back is asked under its verb, what loses or publishes work is asked each time.

Options in front of the verb and those that name a program decide what git runs; they are never taken for harmless. What the configuration
of the repository itself lets git run is judged where the repository is found, not here.
"""

import re
from dataclasses import replace
from pathlib import Path

from ..parts import EXACT, Call, Finding
from .findings import always, asks, only_reads, path_words
from .gitreads import BRANCH_LIKE, GIT_READS, SECOND_READS
from .options import Spec, parse, spec, word_set
from .readers import read_with
from .tools import is_risky

_GLOBAL = spec(
    """C< P no-pager no-optional-locks literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-replace-objects no-lazy-fetch
    c! config-env! exec-path! git-dir! work-tree! namespace! p! paginate! bare! super-prefix! attr-source! list-cmds!"""
)
_RECOVERABLE = word_set(
    "add commit stash branch fetch pull clone merge restore tag init mv switch checkout revert cherry-pick notes"
)
_NETWORK = word_set("fetch pull clone ls-remote")
_LOSES = word_set("""push reset rebase rm clean filter-branch filter-repo gc prune update-ref reflog replace repack fast-import symbolic-ref
    send-email request-pull svn p4 send-pack http-push daemon instaweb credential maintenance update-index read-tree checkout-index
    pack-refs remote submodule worktree lfs bisect am apply archive bundle sparse-checkout config difftool mergetool gui citool
    commit-tree write-tree hash-object mktree unpack-objects index-pack merge-file rerere hook for-each-repo scalar shell upload-pack
    receive-pack upload-archive""")
_RUNS_PROGRAM = [
    "upload-pack",
    "receive-pack",
    "exec",
    "textconv",
    "ext-diff",
    "open-files-in-pager",
    "template",
    "config",
    "smtp-server",
    "sendmail-cmd",
    "edit",
    "interactive",
    "separate-git-dir",
    "recurse-submodules",
    "reference",
]
_FORCING = {
    "commit": ("amend", "fixup", "squash", "no-verify"),
    "branch": ("D", "d", "M", "m", "f", "C", "delete", "move", "force", "edit-description", "copy"),
    "tag": ("d", "f", "delete", "force", "s", "u", "sign", "local-user"),
    "checkout": (
        "f",
        "B",
        "force",
        "ours",
        "theirs",
        "p",
        "patch",
        "orphan",
        "m",
        "merge",
        "pathspec-from-file",
        "overlay",
    ),
    "switch": ("f", "C", "force", "discard-changes", "force-create", "orphan", "m", "merge"),
    "fetch": ("f", "p", "force", "prune", "prune-tags", "P", "u", "update-head-ok"),
    "pull": ("f", "r", "force", "rebase", "p", "prune"),
    "merge": ("s", "X", "strategy", "abort", "quit"),
    "stash": ("p", "patch"),
    "add": ("i", "p", "e", "interactive", "patch", "f", "force", "chmod"),
    "mv": ("f", "force"),
    "restore": (),
    "clone": ("c", "u", "upload-pack", "config", "template", "bare"),
    "revert": ("abort", "quit", "skip"),
    "cherry-pick": ("abort", "quit", "skip"),
    "notes": ("f", "force"),
}
"""Options with which a verb loses work, runs something or asks for keys; the first letters stand alone or in a bundle."""
_STASHED = frozenset(("push", "save", "apply", "list", "show", "create", "branch"))
_CONFIG_READS = spec(
    """l z get: get-all: get-regexp: get-urlmatch: list local name-only show-origin show-scope includes no-includes null type: bool int
    bool-or-int path expiry-date default: all regexp show-names""",
    "text",
)
_SECRET_KEY = re.compile(r"(?i)token|password|secret|credential|auth|extraheader|helper|url|smtp|cookie")
_LOOKS_ONLY = re.compile(
    r"(?:color|user|advice|log)\.[\w.]+=[\w .@+-]*|core\.(?:quotepath|autocrlf|abbrev)=\w+", re.ASCII
)
_ADDRESS = re.compile(r"remote\.[\w-]+\.(?:push)?url", re.ASCII)
"""What ``git remote -v`` shows as well."""


def judge_git(call: Call) -> Finding:
    found = parse(_GLOBAL, call.args, to_first_operand=True)
    paths = path_words(call.args)
    if found.starts or found.unknown:
        name = found.starts or found.unknown
        grave = any(word in _LOSES for word in call.args) or not _only_looks(call.args)
        return always(
            f"git {name} decides what git runs or which repository it takes",
            "opaque",
            "runs_process",
            grave=grave,
            reads=paths,
        )
    if not found.operands:
        return asks("git is given no verb", EXACT)
    verb, rest = found.operands[0], tuple(found.operands[1:])
    finding = _verb(call, verb, rest)
    return replace(finding, reads=(*finding.reads, *found.reads))


def _only_looks(args: tuple[str, ...]) -> bool:
    """Whether all that is set in front of the verb is how something looks, or who writes it."""
    given = [args[place + 1 : place + 2] for place, arg in enumerate(args) if arg == "-c"]
    return bool(given) and all(one and _LOOKS_ONLY.fullmatch(one[0]) for one in given) and args[0] == "-c"


def _verb(call: Call, verb: str, rest: tuple[str, ...]) -> Finding:
    if verb in GIT_READS:
        return _read(call, verb, GIT_READS[verb], rest)
    if verb in SECOND_READS and rest and rest[0] in SECOND_READS[verb]:
        return _read(call, f"{verb} {rest[0]}", SECOND_READS[verb][rest[0]], rest[1:])
    if any(is_risky(arg, (name,)) for arg in rest for name in _RUNS_PROGRAM):
        why = f"An option of git {verb} names what git runs"
        return always(why, "runs_process", "opaque", grave=True, reads=path_words(rest))
    special = _SPECIAL.get(verb)
    finding = special(call, rest) if special else None
    if finding is not None:
        return finding
    if verb in _RECOVERABLE:
        return _recoverable(verb, rest)
    if verb in ("ls-remote",):
        return asks(
            "git asks another place for its branches",
            "git ls-remote",
            effects=("network",),
            grave=True,
            reads=path_words(rest),
        )
    effect = "publishes" if verb in ("push", "lfs", "send-email", "svn") else "deletes"
    if verb in _LOSES:
        why = f"git {verb} publishes" if effect == "publishes" else f"git {verb} can lose work or change what git does"
        return always(why, effect, grave=True, reads=path_words(rest))
    return always(
        f"git {verb} is no verb of git that is known; it may be an alias for any command",
        "opaque",
        reads=path_words(rest),
    )


def _read(call: Call, phrase: str, of: Spec, rest: tuple[str, ...]) -> Finding:
    found = parse(of, rest)
    name = f"git {phrase}"
    if found.has("--output") or (phrase != "grep" and found.has("-O")):
        written = found.value("--output")
        written = written or next((rest[at + 1] for at, arg in enumerate(rest[:-1]) if arg == "--output"), None)
        if written is None:
            return always(f"{name} takes a file for the order of its output", "opaque", reads=path_words(rest))
        return asks(
            f"{name} writes {written!r}", EXACT, effects=("writes_file",), reads=path_words(rest), writes=(written,)
        )
    if any("%G" in arg or "signature" in arg for arg in rest):
        return always(
            f"{name} runs the program that checks signatures", "runs_process", "opaque", reads=path_words(rest)
        )
    if found.follows:
        return always(
            f"{name} {found.follows} reads any files, also such as git does not keep", "opaque", reads=found.operands
        )
    finding = read_with(replace(call, name=name), of, found)
    if phrase == "grep" and not found.unknown and not found.starts:
        return only_reads(name, reads=path_words(rest))
    if phrase == "cat-file" and found.unknown:
        return always(finding.why, "opaque")
    return finding


def _recoverable(verb: str, rest: tuple[str, ...]) -> Finding:
    letters = tuple(name for name in _FORCING.get(verb, ()) if len(name) == 1)
    words = tuple(name for name in _FORCING.get(verb, ()) if len(name) > 1)
    ends = rest.index("--") if "--" in rest else len(rest)
    for arg in rest[:ends]:
        bundle = arg[1:] if arg.startswith("-") and not arg.startswith("--") else ""
        cut = bundle.partition("m")[0] if verb == "commit" else bundle
        if is_risky(arg, words) or any(letter in letters for letter in cut):
            return always(
                f"git {verb} {arg} can lose work, overwrite, or run something",
                "deletes",
                grave=True,
                reads=path_words(rest),
            )
    effects = ("network", "runs_process") if verb in _NETWORK else ("runs_process",)
    why = f"git {verb} changes the repository"
    reads = path_words(_without_message(rest))
    return asks(why, f"git {verb}", effects=effects, grave=verb in _NETWORK, reads=reads)


def _without_message(rest: tuple[str, ...]) -> list[str]:
    after = ("-m", "-am", "--message")
    return [
        arg
        for place, arg in enumerate(rest)
        if not (place and rest[place - 1] in after) and not arg.startswith(("-m", "--message="))
    ]


def _branch(call: Call, rest: tuple[str, ...]) -> Finding | None:
    found = parse(BRANCH_LIKE, rest)
    lists = not found.operands or found.has("-l", "--list", "--contains", "--merged", "--no-merged", "--points-at")
    return only_reads("git branch") if lists and not found.unknown else None


def _tag(call: Call, rest: tuple[str, ...]) -> Finding | None:
    return _branch(call, rest)


def _stash(call: Call, rest: tuple[str, ...]) -> Finding | None:
    if rest and not rest[0].startswith("-") and rest[0] not in _STASHED:
        return always(f"git stash {rest[0]} loses what was put away", "deletes", grave=True)
    return None


def _config(call: Call, rest: tuple[str, ...]) -> Finding | None:
    words = rest[1:] if rest[:1] in (("get",), ("list",)) else rest
    found = parse(_CONFIG_READS, words)
    given = next((value for name, value in found.given if name.startswith("--get")), None)
    keys = [given] if given else found.operands
    asked = rest[:1] in (("get",), ("list",)) or bool(given) or found.has("-l", "--list")
    plain = not found.unknown and (asked or len(found.operands) == 1) and len(keys) <= (2 if given else 1)
    if not plain or not all(re.fullmatch(r"[A-Za-z][\w.*-]*", key) and (asked or "." in key) for key in keys):
        return always(
            "git config decides what git runs and where it connects to",
            "runs_later",
            grave=True,
            reads=path_words(rest),
        )
    if any(_SECRET_KEY.search(key) and not _ADDRESS.fullmatch(key) for key in keys):
        return always("This setting of git may hold a secret", "reads_secret", grave=True)
    return only_reads("git config")


def _remote(call: Call, rest: tuple[str, ...]) -> Finding | None:
    lists = all(word in ("-v", "--verbose") for word in rest) or rest == ("show",)
    return only_reads("git remote") if lists else None


def _symbolic_ref(call: Call, rest: tuple[str, ...]) -> Finding | None:
    found = parse(spec("q quiet short recurse no-recurse", "text"), rest)
    plain = len(found.operands) == 1 and not found.unknown
    return only_reads("git symbolic-ref") if plain else None


def _reflog(call: Call, rest: tuple[str, ...]) -> Finding | None:
    if rest[:1] in (("expire",), ("delete",), ("drop",)):
        return None
    return _read(call, "reflog", SECOND_READS["reflog"]["show"], rest)


def _submodule(call: Call, rest: tuple[str, ...]) -> Finding | None:
    return only_reads("git submodule status") if not rest else None


def _restore(call: Call, rest: tuple[str, ...]) -> Finding | None:
    staged = any(arg in ("--staged", "-S") for arg in rest)
    only = not any(
        is_risky(arg, ("worktree", "W", "p", "patch", "ignore-unmerged")) or re.match("-[A-Za-z]*W", arg)
        for arg in rest
    )
    if staged and only:
        return asks("git restore takes files out of the next commit", "git restore", reads=path_words(rest))
    return always("git restore throws changes away", "deletes", grave=True, reads=path_words(rest))


def _checkout(call: Call, rest: tuple[str, ...]) -> Finding | None:
    operands = [arg for arg in rest if not arg.startswith("-") or arg == "-"]
    makes = any(arg in ("-b", "-t", "--track", "--detach") for arg in rest)
    if "--" in rest or len(operands) > (2 if makes else 1) or any(arg in (".", "..") or "*" in arg for arg in operands):
        return always("git checkout of files throws changes away", "deletes", grave=True, reads=path_words(rest))
    if operands and not makes and _may_be_file(call, operands[0]):
        return always("git checkout of a file throws its changes away", "deletes", grave=True, reads=path_words(rest))
    return None


def _may_be_file(call: Call, name: str) -> bool:
    """A name with a dot or a slash within, as most files have and few branches, or that is there as a file."""
    try:
        return Path(call.folder, name).exists()
    except (OSError, ValueError):
        return True


def _clone(call: Call, rest: tuple[str, ...]) -> Finding | None:
    if any("::" in arg or arg.startswith("ext:") for arg in rest):
        return always("This address makes git run a program", "runs_process", grave=True)
    return None


def _archive(call: Call, rest: tuple[str, ...]) -> Finding | None:
    found = parse(
        spec("o> l v format~ prefix: output> list verbose worktree-attributes add-file< remote! exec!", "text"), rest
    )
    if found.starts or found.unknown or found.follows:
        return None
    if found.writes:
        return asks("git archive writes a file", EXACT, effects=("writes_file",), writes=found.writes)
    return only_reads("git archive")


def _apply(call: Call, rest: tuple[str, ...]) -> Finding | None:
    found = parse(
        spec(
            "v stat numstat summary check index cached 3 3way R reverse p: C: whitespace: recount verbose directory~ unsafe-paths!"
        ),
        rest,
    )
    if found.starts or found.unknown or found.follows:
        return None
    if found.has("--stat", "--numstat", "--summary", "--check") and not found.has("--index", "--cached"):
        return only_reads("git apply", reads=found.operands)
    return asks("git apply changes files of the space", EXACT, effects=("writes_file",), reads=found.operands)


def _remote_address(call: Call, rest: tuple[str, ...]) -> Finding | None:
    return _clone(call, rest)


_SPECIAL = {
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "config": _config,
    "remote": _remote,
    "symbolic-ref": _symbolic_ref,
    "reflog": _reflog,
    "submodule": _submodule,
    "restore": _restore,
    "checkout": _checkout,
    "clone": _clone,
    "fetch": _remote_address,
    "pull": _remote_address,
    "ls-remote": _remote_address,
    "archive": _archive,
    "apply": _apply,
}
