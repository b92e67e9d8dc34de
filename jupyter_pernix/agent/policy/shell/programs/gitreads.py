"""What of git only reads, with every option of it that is known to do no more."""

from collections.abc import Mapping

from .options import Spec, spec

_DIFF = """p u s U: R a b w M? C? B? D S: G: z W l: X? O! patch no-patch unified: raw minimal patience histogram
    diff-algorithm: stat? stat-width:
numstat shortstat dirstat? cumulative summary patch-with-stat name-only name-status submodule? color? no-color color-moved?
no-color-moved color-words? word-diff? word-diff-regex: no-renames rename-empty check ws-error-highlight: full-index binary abbrev?
find-renames? find-copies? find-copies-harder diff-filter: pickaxe-all pickaxe-regex text ignore-space-at-eol ignore-space-change
ignore-all-space ignore-blank-lines inter-hunk-context: function-context exit-code quiet no-ext-diff no-textconv ignore-submodules?
src-prefix: dst-prefix: no-prefix relative? irreversible-delete break-rewrites? cc combined-all-paths merge-base cached staged r t c m
base ours theirs 0 1 2 3 output! ext-diff! textconv! no-index~"""
_LOG = """n: L: g i E F P h oneline graph decorate? no-decorate decorate-refs: follow format: pretty? since: after: until: before: author:
committer: grep: all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges first-parent
min-parents: max-parents: all branches? tags? remotes? glob: exclude: max-count: skip: reverse date-order topo-order author-date-order
date: relative-date show-signature! no-walk? walk-reflogs left-right cherry-pick cherry-mark cherry boundary simplify-by-decoration
full-history ancestry-path? abbrev-commit no-abbrev-commit source use-mailmap no-mailmap mailmap parents children notes? no-notes
encoding: full-diff log-size count expand-tabs? no-expand-tabs show-pulls dense sparse simplify-merges remove-empty stdin! cherry"""
_REVS = spec(_DIFF + " " + _LOG, numeric=True)
_REV_LIST = spec(
    _LOG
    + """ objects objects-edge missing: filter: header timestamp disk-usage? use-bitmap-index bisect quiet no-commit-header commit-header
    unpacked in-commit-order no-object-names object-names abbrev?""",
    numeric=True,
)
_NAMES = spec(
    """a r v l q all remotes verbose list contains? no-contains? merged? no-merged? sort: points-at: format: color?
    no-color column? no-column
    show-current abbrev? no-abbrev ignore-case omit-empty i n?""",
    "text",
)

GIT_READS: Mapping[str, Spec] = {
    "status": spec(
        """s b u? z v long short branch show-stash porcelain? verbose untracked-files? ignore-submodules? ignored?
    column? no-column ahead-behind
        no-ahead-behind renames no-renames find-renames?"""
    ),
    "log": _REVS,
    "show": _REVS,
    "diff": _REVS,
    "whatchanged": _REVS,
    "shortlog": spec(_LOG + " s n e c w? summary numbered email committer group:", numeric=True),
    "diff-tree": spec(_DIFF + " root no-commit-id always s v pretty? stdin!"),
    "diff-index": spec(_DIFF),
    "diff-files": spec(_DIFF + " q"),
    "range-diff": spec(_DIFF + " creation-factor: no-dual-color left-only right-only", "text"),
    "blame": spec(
        """b c l t f n e p s w L: M? C? S! root show-stats incremental porcelain line-porcelain show-name show-number
    show-email date: abbrev?
        since: reverse first-parent ignore-rev: ignore-revs-file< contents< color-lines color-by-age minimal progress no-progress
        encoding:"""
    ),
    "annotate": spec("l t f L: M? C? w"),
    "ls-files": spec(
        """c d m o i s u k t v f z x: X< e: cached deleted modified others ignored stage unmerged killed directory
    no-empty-directory exclude:
        exclude-from< exclude-per-directory: exclude-standard error-unmatch with-tree: full-name recurse-submodules abbrev? debug eol
        deduplicate sparse format: resolve-undo"""
    ),
    "ls-tree": spec("d r t l z long name-only name-status object-only full-name full-tree abbrev? format:", "text"),
    "cat-file": spec("t s e p allow-unknown-type", "text"),
    "rev-list": _REV_LIST,
    "rev-parse": spec(
        """q h verify quiet short? abbrev-ref? symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir absolute-git-dir
        git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-superproject-working-tree
        shared-index-path all branches? tags? remotes? glob: exclude: since: until: revs-only no-revs flags no-flags default: not sq
        git-path: show-object-format path-format: disambiguate:""",
        "text",
    ),
    "merge-base": spec("a all octopus independent is-ancestor fork-point", "text"),
    "name-rev": spec("tags refs: exclude: all name-only no-undefined always", "text"),
    "describe": spec(
        """all tags contains abbrev: candidates: exact-match debug long match: exclude: always first-parent dirty? broken?""",
        "text",
    ),
    "show-ref": spec("d s q head heads tags branches dereference hash? verify abbrev? quiet exists", "text"),
    "for-each-ref": spec(
        """count: sort: format: points-at: merged? no-merged? contains? no-contains? ignore-case omit-empty color? include-root-refs exclude:""",
        "text",
    ),
    "show-branch": spec(
        "a r all remotes topo-order date-order sparse more? list merge-base independent no-name sha1-name topics",
        "text",
    ),
    "count-objects": spec("v H verbose human-readable", "none"),
    "check-ignore": spec("q v n z quiet verbose non-matching no-index"),
    "check-attr": spec("a z all cached source:", "text"),
    "check-mailmap": spec("", "text"),
    "grep": spec(
        """a I i w v h H E G F P n l L z c o p W e: f< A: B: C: m: r q O! and or not text ignore-case word-regexp invert-match full-name
        extended-regexp basic-regexp fixed-strings perl-regexp line-number column files-with-matches name-only files-without-match null
        count only-matching color? no-color break heading show-function function-context after-context: before-context: context:
        max-depth: recursive no-recursive recurse-submodules all-match quiet cached untracked exclude-standard max-count: threads:
        open-files-in-pager! textconv! no-index~ ext-grep!""",
        "pattern",
        numeric=True,
    ),
    "cherry": spec("v abbrev?", "text"),
    "version": spec("build-options", "none"),
    "fsck": spec(
        "full no-full strict connectivity-only unreachable dangling no-dangling progress no-progress verbose no-reflogs",
        "text",
    ),
    "get-tar-commit-id": spec("", "none"),
    "verify-pack": spec("v s verbose stat-only"),
}
"""Verb → what its words may be. The operands of those with files are judged as read: out of the work tree git compares any two files."""

BRANCH_LIKE = _NAMES
"""``branch`` and ``tag`` without a name that would be made."""

SECOND_READS: Mapping[str, Mapping[str, Spec]] = {
    "stash": {"list": _REVS, "show": _REVS},
    "remote": {"get-url": spec("push all", "text")},
    "worktree": {"list": spec("v z porcelain verbose", "none")},
    "submodule": {"status": spec("cached recursive"), "summary": spec("cached files n: summary-limit:", "text")},
    "reflog": {"show": _REVS, "exists": spec("", "text"), "list": spec("", "none")},
    "notes": {"list": spec("", "text"), "show": spec("", "text")},
    "bisect": {"log": spec("", "none")},
    "bundle": {"list-heads": spec("")},
    "lfs": {
        "ls-files": spec("l s a d n long size all name-only", "text"),
        "env": spec("", "none"),
        "status": spec("s p j", "none"),
    },
    "sparse-checkout": {"list": spec("", "none")},
}
