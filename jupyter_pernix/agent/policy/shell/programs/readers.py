"""Programs that only read, with every option of theirs that is known to do no more; anything else is asked."""

from collections.abc import Mapping

from ..parts import Call, Finding
from .findings import always, as_folder, asks, only_reads, path_words
from .links import stays
from .options import Parsed, Spec, parse, spec

_SUM = "b c! check! t z l: binary tag text zero length: algorithm: a: quiet~ status~ strict~ warn~ w~"
_GREP = """E F G P e: i v w x c l L n H h o q s m: A: B: C: r R f< a I U z Z b T d: D: y
extended-regexp fixed-strings basic-regexp perl-regexp regexp: ignore-case no-ignore-case invert-match word-regexp line-regexp count
files-with-matches files-without-match line-number with-filename no-filename only-matching quiet silent no-messages max-count:
after-context: before-context: context: recursive dereference-recursive file< text binary-files: null-data null byte-offset
initial-tab directories: devices: include: exclude: exclude-dir: exclude-from< color? colour? line-buffered label: binary
group-separator: no-group-separator"""
_RG = """e: f< i S s v w x c l n N H I o q m: A: B: C: r: g: t: T: F P U 0 a u j: M: . p d: L!
regexp: file< ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files-with-matches
files-without-match line-number no-line-number with-filename no-filename only-matching quiet max-count: after-context: before-context:
context: replace: glob: iglob: type: type-not: type-list fixed-strings pcre2 multiline multiline-dotall null text unrestricted threads:
max-columns: max-columns-preview hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global heading no-heading color:
colors: column no-column json stats trim sort: sortr: max-depth: max-filesize: files vimgrep passthru pretty no-messages byte-offset
context-separator: field-match-separator: field-context-separator: path-separator: glob-case-insensitive one-file-system crlf null-data
no-config encoding: no-unicode no-pcre2-unicode engine: no-follow follow! pre! pre-glob! hostname-bin! search-zip! z! ignore-file<"""
_FD = """H I u s i g F a l~ 0 p d: t: e: S: E: c: j: 1 q x! X! L! o: C!
hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path print0
full-path max-depth: min-depth: exact-depth: type: extension: size: exclude: color: threads: max-results: quiet changed-within:
changed-before: newer: older: owner: prune strip-cwd-prefix? path-separator: max-one-result exec! exec-batch! follow! base-directory!
list-details~ and: no-follow one-file-system ignore-file< search-path<"""
_LS = """a A b B c C d f F g G h i I: k l m n N o p q Q r R s S t T: u U v w: x X Z 1 H! L!
all almost-all author escape block-size: ignore-backups color? directory dired classify? file-type format: full-time
group-directories-first no-group human-readable si hide: hyperlink? indicator-style: inode ignore: kibibytes numeric-uid-gid literal
hide-control-chars show-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: tabsize: width: context
zero dereference! dereference-command-line!"""
_DU = """0 a B: b c d: h k m S s t: x X< l P H~ D~ L!
null all apparent-size block-size: bytes total max-depth: human-readable inodes separate-dirs si summarize threshold: time? time-style:
exclude: exclude-from< one-file-system count-links no-dereference files0-from! dereference!"""
_TREE = """a d f i n C s h p u g D F q r t c U N Q A S X J v x L: P: I: o> l! R! H: T:
gitignore gitfile< matchdirs ignore-case prune noreport dirsfirst filesfirst sort? filelimit: metafirst du si timefmt: charset: inodes
device info infofile< nolinks fromfile!"""
_DIFF = """u q r N a b B w i y s E Z t T c C: U: W: p d F: I: x: X< e n S: L:
unified? brief new-file text ignore-space-change ignore-blank-lines ignore-all-space ignore-case side-by-side report-identical-files
ignore-tab-expansion ignore-trailing-space expand-tabs initial-tab context? width: show-c-function minimal show-function-line:
ignore-matching-lines: exclude: exclude-from< normal ed rcs left-column suppress-common-lines label: tabsize: strip-trailing-cr color?
palette: speed-large-files horizon-lines: no-dereference from-file< to-file< recursive"""

READERS: Mapping[str, Spec] = {
    "cat": spec(
        """A b e E n s t T u v show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"""
    ),
    "tac": spec("b r s: before regex separator:"),
    "rev": spec("0 zero"),
    "head": spec("c: n: q v z bytes: lines: quiet silent verbose zero-terminated", numeric=True),
    "tail": spec(
        "c: n: q v z r bytes: lines: quiet silent verbose zero-terminated f~ F~ follow~ retry~ s: sleep-interval: pid~",
        numeric=True,
    ),
    "wc": spec("c m l L w bytes chars lines max-line-length words total: files0-from!"),
    "nl": spec(
        """b: d: f: h: i: l: n: p s: v: w: body-numbering: section-delimiter: footer-numbering: header-numbering: line-increment:
        join-blank-lines: number-format: no-renumber number-separator: starting-line-number: number-width:"""
    ),
    "sort": spec(
        """b d f g i M h n R r V c C k: m s t: u z o> S: T> ignore-leading-blanks dictionary-order ignore-case general-numeric-sort
        ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort sort: check? key: merge stable
        field-separator: unique zero-terminated parallel: debug buffer-size: batch-size: random-source< output> compress-program!
        files0-from! temporary-directory>"""
    ),
    "cut": spec(
        """b: c: d: f: n s z bytes: characters: delimiter: fields: complement only-delimited output-delimiter: zero-terminated"""
    ),
    "paste": spec("d: s z delimiters: serial zero-terminated"),
    "join": spec("a: e: i j: o: t: v: 1: 2: z ignore-case check-order nocheck-order header zero-terminated"),
    "comm": spec("1 2 3 i z check-order nocheck-order output-delimiter: total zero-terminated"),
    "cmp": spec("b i: l n: s print-bytes ignore-initial: verbose bytes: quiet silent"),
    "diff": spec(_DIFF, numeric=True),
    "colordiff": spec(_DIFF, numeric=True),
    "fold": spec("b c s w: bytes characters spaces width:", numeric=True),
    "fmt": spec(
        "c p: s t u w: g: crown-margin prefix: split-only tagged-paragraph uniform-spacing width: goal:", numeric=True
    ),
    "expand": spec("i t: initial tabs:", numeric=True),
    "unexpand": spec("a t: all first-only tabs:", numeric=True),
    "tsort": spec(""),
    "column": spec(
        """t s: c: o: x N: R: H: O: W: T: n: J L e d l: E: r: i: p: table separator: output-width: output-separator: fillrows
        table-columns: table-right: table-hide: table-order: table-wrap: table-truncate: table-name: json keep-empty-lines
        table-header-repeat table-noheadings table-columns-limit: table-noextreme: tree: tree-id: tree-parent:"""
    ),
    "od": spec(
        """A: j: N: t: v w? a b c d f i l o s x S: address-radix: skip-bytes: read-bytes: format: output-duplicates width? strings?
        endian: traditional"""
    ),
    "hexdump": spec(
        "b c C d n: o s: v x X one-byte-octal one-byte-char canonical two-bytes-decimal length: skip: no-squeezing"
    ),
    "hd": spec("n: s: v"),
    "strings": spec(
        "a d f n: t: e: o w s: all data print-file-name bytes: radix: encoding: include-all-whitespace", numeric=True
    ),
    "stat": spec("f c: t L~ file-system format: printf: terse cached: dereference~"),
    "file": spec(
        """b i k L~ h N 0 r s~ E e: F: m~ C! f! z! Z! p! brief mime mime-type mime-encoding keep-going no-dereference no-pad print0 raw
        extension exclude: separator: apple exclude-quiet: files-from! uncompress! compile! magic-file~"""
    ),
    "md5sum": spec(_SUM),
    "sha1sum": spec(_SUM),
    "sha224sum": spec(_SUM),
    "sha256sum": spec(_SUM),
    "sha384sum": spec(_SUM),
    "sha512sum": spec(_SUM),
    "b2sum": spec(_SUM),
    "cksum": spec("a: z l: algorithm: base64 raw untagged tag zero length: debug c! check!"),
    "sum": spec("r s sysv"),
    "md5": spec("q r s:"),
    "shasum": spec("a: b t algorithm: binary text c! check!"),
    "base64": spec("d i w: decode ignore-garbage wrap:"),
    "base32": spec("d i w: decode ignore-garbage wrap:"),
    "shuf": spec("e i: n: o> r z echo input-range: head-count: output> random-source< repeat zero-terminated"),
    "grep": spec(_GREP, "pattern", numeric=True),
    "egrep": spec(_GREP, "pattern", numeric=True),
    "fgrep": spec(_GREP, "pattern", numeric=True),
    "rg": spec(_RG, "pattern"),
    "fd": spec(_FD, "pattern"),
    "fdfind": spec(_FD, "pattern"),
    "ls": spec(_LS, "folders"),
    "dir": spec(_LS, "folders"),
    "vdir": spec(_LS, "folders"),
    "du": spec(_DU, "folders"),
    "tree": spec(_TREE, "folders", glued=False),
    "df": spec(
        """a B: h H i k l P t: T x: v all block-size: human-readable si inodes local no-sync output? portability total type: print-type
        exclude-type:"""
    ),
    "realpath": spec(
        """e m L P q s z E canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to<
        relative-base< canonicalize"""
    ),
    "readlink": spec(
        """f e m n q s v z canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero"""
    ),
    "basename": spec("a s: z multiple suffix: zero", "text"),
    "dirname": spec("z zero", "text"),
    "tr": spec("c C d s t complement delete squeeze-repeats truncate-set1", "text"),
    "seq": spec("f: s: w format: separator: equal-width", "text", numeric=True),
    "cal": spec("1 3 s m j y w:", "text"),
    "factor": spec("h exponents", "text"),
    "nproc": spec("all ignore:", "none"),
    "uname": spec(
        """a s n r v m p i o all kernel-name nodename kernel-release kernel-version machine processor hardware-platform
        operating-system""",
        "none",
    ),
    "arch": spec("", "none"),
    "hostname": spec(
        "a A d f i I s y alias all-fqdns domain fqdn long ip-address all-ip-addresses short yp nis", "none"
    ),
    "whoami": spec("", "none"),
    "logname": spec("", "none"),
    "tty": spec("s silent quiet", "none"),
    "id": spec("a g G n r u z Z context group groups name real user zero", "text"),
    "groups": spec("", "text"),
    "who": spec("a b d H l m q r s t T w u all boot dead heading count", "none"),
    "users": spec("", "none"),
    "uptime": spec("p s r pretty since raw", "none"),
    "free": spec("b k m g h w t l v bytes kilo mega giga tera human si wide total lohi committed", "none"),
    "lscpu": spec("a b c e? J p? x y all online offline extended? json parse? hex bytes caches? output-all", "none"),
    "lsblk": spec(
        "a b d e: f i I: J l m n o: O p P r s t x: all bytes nodeps fs json list noheadings output: paths raw", "none"
    ),
    "getconf": spec("", "text"),
    "locale": spec("a c k m", "text"),
    "which": spec("a s all", "text"),
    "whereis": spec("b m s u", "text"),
    "type": spec("a f p P t", "text"),
    "pgrep": spec(
        "a c d: f i l n o u: U: g: G: P: s: t: v w x list-full list-name full newest oldest exact count", "text"
    ),
    "pidof": spec("c s x", "text"),
    "zcat": spec("f"),
    "zgrep": spec("i v n c l h e: E F w x q", "pattern"),
    "bzcat": spec(""),
    "xzcat": spec(""),
    "zstdcat": spec(""),
    "nvidia-smi": spec(
        "L q i: d: id: query display: list-gpus format: query-gpu: query-compute-apps: query-accounted-apps: loop~ l~ f> filename>",
        "none",
    ),
}


def judge_reader(call: Call) -> Finding:
    of = READERS[call.name]
    return read_with(call, of, parse(of, call.args))


def read_with(call: Call, of: Spec, found: Parsed) -> Finding:
    """The finding of a reader whose words were read by ``of``."""
    name = call.name
    files, operands_known = _files(call, of, found)
    reads = [*files, *found.reads]
    if found.starts:
        why = f"{found.starts} lets {name} run a program, follow links or take names that are not known"
        return always(why, "opaque", grave=True, reads=reads, writes=found.writes)
    if found.unknown:
        paths = path_words(call.args)
        return asks(
            f"{found.unknown} is no option of {name} known to only read", reads=[*reads, *paths], writes=[*found.writes]
        )
    if found.writes:
        return asks(
            f"{name} writes {found.writes[0]!r} here", effects=("writes_file",), reads=reads, writes=found.writes
        )
    if not operands_known:
        return always(f"{name} may change something with the words given to it", "privilege", grave=True)
    if (_follows(call.name, found) and not stays(call, files)) or (
        call.name == "strings" and any(arg[:1] == "@" for arg in call.args)
    ):
        return always(f"{name} may come by a link or a list that leads out of the space", "opaque", reads=reads)
    if found.follows:
        return asks(f"{name} with {found.follows} is no plain reading", name, reads=reads)
    return only_reads(name, reads=reads)


def _follows(name: str, found: Parsed) -> bool:
    """Whether the links below the folders that are named are followed."""
    return name in ("diff", "colordiff") or (
        name in ("grep", "egrep", "fgrep") and found.has("-R", "--dereference-recursive")
    )


def _files(call: Call, of: Spec, found: Parsed) -> tuple[list[str], bool]:
    operands = found.operands
    if of.operands == "text":
        return [], True
    if of.operands == "none":
        return [], not operands
    if of.operands == "folders":
        return [as_folder(operand) for operand in operands] or ["."], True
    if of.operands == "files":
        return operands, True
    given = found.has("-e", "-f", "--regexp", "--file", "--files", "--type-list")
    files = operands if given and call.name not in ("fd", "fdfind") else operands[1:]
    searches = call.name in ("rg", "fd", "fdfind") or found.has("-r", "-R", "--recursive", "--dereference-recursive")
    return [as_folder(file) if searches else file for file in files] or (["."] if searches else []), True
