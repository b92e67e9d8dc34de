"""Small programs whose words need a reading of their own: date, ps, uniq, xxd, jq, yq, test, printf, echo and the like."""

import re

from ..parts import Call, Finding
from ..variables import is_secret
from .findings import always, asks, only_reads
from .options import parse, spec
from .readers import read_with

_DATE = spec(
    """d: I? R r< u date: debug iso-8601? rfc-email rfc-2822 rfc-3339: reference< utc universal resolution s! set! f< file<""",
    "text",
)
_UNIQ = spec(
    """c d D f: i s: u w: z count repeated all-repeated? skip-fields: group? ignore-case skip-chars: unique check-chars:
    zero-terminated""",
    numeric=True,
)
_PS_LONG = frozenset(
    ("forest", "headers", "no-headers", "sort", "pid", "ppid", "user", "cols", "columns", "width", "rows", "lines")
)
_PS_BSD = re.compile(r"[aAcfghHjlmMnrStTuvwx]+")
_PS_DASHED = re.compile(r"-[AadeFfjHLlMNPTwyZc]+|-a?ux?w*|-aux?w*|-ax[uw]*")
_PS_VALUED = frozenset(
    ("-p", "-u", "-U", "-C", "-t", "-g", "-G", "-s", "-q", "p", "U", "t", "--sort", "--pid", "--ppid", "--user")
)
_PS_FORMAT = frozenset(("-o", "o", "-O", "--format"))
_PS_BUNDLED_FORMAT = re.compile("-[AadefFjlLNPTwy]*o")
_PS_COLUMNS = frozenset(
    [
        "pid",
        "ppid",
        "pgid",
        "sid",
        "uid",
        "user",
        "ruser",
        "euser",
        "group",
        "rgroup",
        "egroup",
        "gid",
        "comm",
        "cmd",
        "command",
        "args",
        "ucmd",
        "ucomm",
        "pcpu",
        "%cpu",
        "pmem",
        "%mem",
        "rss",
        "rsz",
        "vsz",
        "vsize",
        "sz",
        "nice",
        "ni",
        "pri",
        "stat",
        "state",
        "s",
        "start",
        "start_time",
        "lstart",
        "stime",
        "etime",
        "etimes",
        "time",
        "cputime",
        "cputimes",
        "tty",
        "tt",
        "tname",
        "wchan",
        "psr",
        "nlwp",
        "lwp",
        "tid",
        "thcount",
        "cgroup",
        "class",
        "cls",
        "policy",
        "min_flt",
        "maj_flt",
        "size",
        "trs",
        "drs",
        "label",
        "unit",
    ]
)
_JQ = spec(
    """n r R s c C M S e a j u h~ f! L! null-input raw-input slurp compact-output raw-output raw-output0 join-output color-output
    monochrome-output sort-keys exit-status ascii-output unbuffered tab seq stream indent: from-file! library-path!""",
)
_JQ_UNSAFE = re.compile(
    r"\$__|\bENV\b|\benv\b|\binput_filename\b|\bimport\b|\binclude\b|\bget_search_list\b|\bmodulemeta\b"
)
_YQ_UNSAFE = re.compile(r"env|load|\$ENV|eval|system|input_filename|strenv|import|include|split_doc")
_YQ = spec(
    """r y Y c C M n s! e P N o: p: j 0 S raw-output compact-output null-input slurp exit-status prettyPrint no-doc output-format:
    input-format: tojson colors no-colors sort-keys unwrapScalar? indent: I: yaml-output i! in-place! inplace! from-file! f! split-exp!"""
)
_XXD = {
    **dict.fromkeys(
        ("-a", "-autoskip", "-b", "-bits", "-C", "-capitalize", "-e", "-E", "-EBCDIC", "-i", "-include", "-u", "-d"),
        False,
    ),
    **dict.fromkeys(("-p", "-ps", "-postscript", "-plain"), False),
    **dict.fromkeys(("-c", "-cols", "-g", "-groupsize", "-l", "-len", "-s", "-seek", "-o", "-n", "-name", "-R"), True),
}
_TEST_ARGUMENTLESS = frozenset(("!", "(", ")", "-a", "-o", "]"))


def judge_date(call: Call) -> Finding:
    found = parse(_DATE, call.args)
    if found.starts or any(not word.startswith("+") for word in found.operands):
        return always("This sets the clock of this machine", "privilege", grave=True)
    return read_with(call, _DATE, found)


def judge_uniq(call: Call) -> Finding:
    found = parse(_UNIQ, call.args)
    second = found.operands[1:] or ([] if not _globs(call) else ["."])
    if second and not found.unknown:
        return asks(
            "The second file that uniq is given is written",
            effects=("writes_file",),
            reads=found.operands[:1],
            writes=second,
        )
    return read_with(call, _UNIQ, found)


def judge_xxd(call: Call) -> Finding:
    operands: list[str] = []
    words = list(call.args)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif word in _XXD:
            if _XXD[word]:
                words[:1] = []
        elif not re.fullmatch(r"-[cgls][+-]?(?:0x)?[0-9a-fA-F]+", word):
            return asks(
                f"{word} is no option of xxd known to only read",
                reads=operands[:1],
                writes=[*operands[1:], *_names(words)],
            )
    if len(operands) > 1 or _globs(call):
        return asks(
            "The second file that xxd is given is written",
            effects=("writes_file",),
            reads=operands[:1],
            writes=operands[1:],
        )
    return only_reads("xxd", reads=operands)


def judge_ps(call: Call) -> Finding:
    words = list(call.args)
    dashed_e = extended = False
    while words:
        word = words.pop(0)
        if word in _PS_FORMAT or _PS_BUNDLED_FORMAT.fullmatch(word) or word.startswith(("--format=", "--sort=")):
            dashed_e = dashed_e or "e" in word.partition("=")[0].removeprefix("--")
            columns = word.partition("=")[2] or (words.pop(0) if words else "")
            if any(column.lstrip("+-").partition("=")[0] not in _PS_COLUMNS for column in re.split(r"[, ]", columns)):
                return always("ps is asked for columns that are not known to be harmless", "reads_env")
        elif word in _PS_VALUED:
            words[:1] = []
        elif word.startswith("--"):
            if word[2:].partition("=")[0] not in _PS_LONG:
                return asks(f"{word} is no option of ps known to only read")
        elif word.startswith("-"):
            if not _PS_DASHED.fullmatch(word):
                return always("ps is given options that can show the environment of programs", "reads_env")
            dashed_e, extended = dashed_e or "e" in word, extended or "x" in word or "u" in word
        elif not (word.isdecimal() or _PS_BSD.fullmatch(word)):
            return always("ps is given options that can show the environment of programs", "reads_env")
        else:
            extended = extended or not word.isdecimal()
    if dashed_e and extended:
        return always("ps takes this e for the environment of programs", "reads_env")
    return only_reads("ps")


def judge_jq(call: Call) -> Finding:
    return _query(call, _JQ_UNSAFE)


def judge_yq(call: Call) -> Finding:
    return _query(call, _YQ_UNSAFE)


def _query(call: Call, unsafe: "re.Pattern[str]") -> Finding:
    args, reads = _jq_variables(call.args) if call.name == "jq" else (call.args, [])
    of = _JQ if call.name == "jq" else _YQ
    found = parse(of, args)
    if any(unsafe.search(word) for word in call.args):
        return always(
            f"This {call.name} program can show variables of the environment or read other files", "reads_env"
        )
    if call.words[1:] and any(word.glob and word.text == (found.operands or [""])[0] for word in call.words[1:]):
        return always(f"The program of {call.name} is not known", "opaque")
    start = 0 if call.name == "yq" else 1
    found.operands[:] = [*found.operands[start:], *reads]
    return read_with(call, of, found)


def _jq_variables(args: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """``args`` without ``--arg`` and its kin; the files that these name."""
    kept: list[str] = []
    reads: list[str] = []
    words = list(args)
    while words:
        word = words.pop(0)
        if word in ("--arg", "--argjson"):
            words[:2] = []
        elif word in ("--slurpfile", "--rawfile"):
            reads.extend(words[1:2])
            words[:2] = []
        elif word == "--args" or word == "--jsonargs":
            kept.extend(words[:1])
            break
        else:
            kept.append(word)
    return tuple(kept), reads


def judge_test(call: Call) -> Finding:
    args = call.args[:-1] if call.name == "[" and call.args[-1:] == ("]",) else call.args
    if any(word in ("-v", "-R") for word in args):
        return always(
            "-v takes its text for the name of a variable and may run what stands in its brackets",
            "runs_code_from_text",
        )
    files = [args[place + 1] for place, word in enumerate(args[:-1]) if re.fullmatch("-[abcdefghkprsuwxGLNOS]", word)]
    return only_reads(
        "test", reads=[*files, *(word for word in args if "/" in word and word.startswith(("/", "~", "..")))]
    )


def judge_printf(call: Call) -> Finding:
    if call.args and call.args[0].startswith("-v"):
        return always("printf -v sets a variable and may run what stands in its brackets", "runs_code_from_text")
    return only_reads("printf")


def judge_text(call: Call) -> Finding:
    """Programs that print or compare the words they are given."""
    return only_reads(call.name)


def judge_command_query(call: Call) -> Finding | None:
    """``command -v NAME`` asks what would be run; ``None``: it runs something."""
    return only_reads("command -v") if call.args[:1] in (("-v",), ("-V",)) else None


def judge_sleep(call: Call) -> Finding:
    if call.args and all(re.fullmatch(r"\d{1,4}(?:\.\d+)?s?", word) for word in call.args):
        return only_reads("sleep")
    return asks("This waits for a long time", "sleep")


def judge_environment(call: Call) -> Finding:
    secret = any(is_secret(arg) for arg in call.args)
    return always("This prints variables of the environment, which may hold secrets", "reads_env", grave=secret)


def _globs(call: Call) -> bool:
    return any(word.glob for word in call.words[1:])


def _names(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]
