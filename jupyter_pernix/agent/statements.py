"""What a reply states as done: read from its text, English and German. Pure.

Only what is said of this work, in the past, by whoever wrote it, is a statement. Quotes, code, questions, conditions, wishes, plans,
what somebody else did and what some code does are none. In doubt it is none: a wrong accusation costs more than a missed one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["tests_pass", "tests_run", "file", "change", "ran", "installed", "committed", "pushed", "downloaded"]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """``files``: as they are named, for ``file``. ``earlier``: it says itself that this was before. ``well``: "without errors" and the like."""

    kind: Kind
    files: tuple[str, ...] = ()
    earlier: bool = False
    well: bool = False


_I = re.IGNORECASE
_LONGEST = 20_000
_LONGEST_SENTENCE = 600

# ---- clauses ------------------------------------------------------------------------------------------------------------

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<details>.*?(?:</details>|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"(?m)^\s*>.*$")
_QUOTES = re.compile(r"\"[^\"\n]{0,120}\"|“[^”\n]{0,120}”|„[^“”\n]{0,120}[“”]|«[^»\n]{0,120}»|‘[^’\n]{2,120}’")
_FILE_IN_QUOTES = re.compile(r"\A[\"“„«‘]([\w./-]+\.\w{1,6})[\"”“»’]\Z")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_SPLIT = re.compile(
    r"\s*(?:;|\s[—–-]+\s|,\s*(?:and|but|so|then|while|whereas|although|though|und|aber|sodass|während|obwohl)?\s|"
    r"\s(?:and|but|und|aber)\s+(?=(?:i|we|it|they|the|all|ich|wir|es|sie|die|der|das|alle|now|then|also|still|is|are|was|were|has|have|"
    r"ran|run|re-?ran|fixed|added|removed|updated|created|deleted|changed|wrote|installed|committed|pushed|verified|everything|tests?|"
    r"no|nothing|dann|jetzt)\b)|:\s+)",
    _I,
)
_LIST_MARK = re.compile(r"\A\s*(?:[-*+•]|\d+[.)]|#{1,6}|\[[ xX]\]|✅|✔️?|☑️?|👉|➡️?|\|)*\s*(?:\[[ xX]\])?\s*")
_UNCHECKED_BOX = re.compile(r"\A\s*(?:[-*+]|\d+[.)])\s*\[ \]")

_CONDITION = re.compile(
    r"\A\W*(?:and\s+|but\s+|so\s+)?(?:if|once|when(?:ever)?|unless|until|assuming|provided|suppose|supposing|should|in\s+case|as\s+soon\s+as|"
    r"after\s+(?:you|that\s+you)|before|even\s+if|only\s+if|make\s+sure|ensure|check|verify|wenn|falls|sobald|sofern|angenommen|"
    r"bevor|bis|solange|stell(?:e|en)?\s+sicher|next\s+steps?|todo|to\s+do|plan|step\s+\d+|schritt\s+\d+|nächste\s+schritte|"
    r"expected|goal|ziel|example|for\s+example|e\.g\.|beispiel|zum\s+beispiel|z\.\s?b\.|note\s+that\s+if|originally|upstream|"
    r"in\s+(?:version|release|commit|v\d|python|pandas|numpy|general)|since\s+(?:version|v?\d)|previously\s+the)\b",
    _I,
)
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|should|would|could|might|may|must|can|cannot|will|shall|going\s+to|gonna|(?:i|we|you|it|they|that)(?:'|’)(?:ll|d)|"
    r"need(?:s|ed)?\s+to|ha(?:s|ve)\s+to|want(?:s|ed)?\s+to|try(?:ing)?\s+to|tried\s+to|attempted|let\s+me|let(?:'|’)s|please|you\s+can|"
    r"recommend\w*|suggest\w*|propose\w*|plan(?:ning|ned)?\s+to|intend\w*|hope\w*|expect\w*|assum\w*|likely|probably|perhaps|maybe|"
    r"not|no|never|none|neither|nothing|without\s+(?:running|changing)|n(?:'|’)t|unable|fail(?:s|ed|ing)?\s+to|instead\s+of|rather\s+than|"
    r"asks?|asked|wonder\w*|supposed|until|before\s+(?:i|we|you)|to\s+be|"
    r"wenn|falls|ob|sollte\w*|würde\w*|könnte\w*|möchte\w*|müsste\w*|kann|können|muss|müssen|wird|werde|werden|wollte|soll|sollen|"
    r"nicht|kein\w*|nie|niemals|nichts|bitte|vielleicht|wahrscheinlich|vermutlich|statt|versuch\w*|damit|um\s+.{1,60}\s+zu)\b",
    _I,
)
_NOT_BUT_WELL = re.compile(
    r"\b(?:with\s+)?(?:no|without(?:\s+any)?|ohne)\s+(?:\w+\s+)?(?:errors?|failures?|problems?|issues?|fehler|probleme)\b",
    _I,
)
_OTHERS = re.compile(
    r"\b(?:you(?:'|’)?(?:ve)?\s+(?:have\s+|already\s+)?(?:\w+ed|ran|wrote|made)|they|he|she|the\s+(?:author|team|user|maintainers?|developers?|previous)|"
    r"somebody|someone|upstream|(?:pandas|numpy|python|pytest)\s+(?:has\s+|have\s+)?(?:changed|removed|added|deprecated|dropped)|git\s+(?:log|history|blame)|commit\s+[0-9a-f]{6,}|in\s+(?:19|20)\d\d|"
    r"(?:this|that|the|each|which|a|an)\s+(?:function|method|class|script|command|code|line|module|fixture|decorator|option|flag|tool|loop|"
    r"call|statement|handler|hook|workflow|step|program|library|server|test|commit|ci|pipeline)\s+"
    r"(?:then\s+|also\s+|only\s+|first\s+|automatically\s+)?(?:\w+s\b(?<!tests)(?<!passes)|that|which|is|was\s+(?:\w+ed\s+)?by)|"
    r"wurden?\s+(?:(?:19|20)\d\d|vo[nm]|durch)\b|(?:du|sie)\s+(?:hast|haben|hatten|hattest)|diese[rs]?\s+(?:funktion|methode|klasse|zeile|befehl|code)|"
    r"die\s+funktion|der\s+befehl|der\s+code\s+(?!lief|läuft|wurde))\b",
    _I,
)
_EARLIER = re.compile(
    r"\b(?:earlier|previous(?:ly)?|already|before|last\s+time|in\s+(?:the|my|our)\s+(?:last|previous|first|earlier)|at\s+first|"
    r"yesterday|bereits|schon|vorhin|zuvor|vorher|letzte[ns]?|gestern|anfangs)\b",
    _I,
)
_WELL = re.compile(
    r"\b(?:successful(?:ly)?|without\s+(?:any\s+)?(?:errors?|problems?|issues?|failures?)|with\s+no\s+errors?|cleanly|fine|works?|ok|end\s+to\s+end|"
    r"top\s+to\s+bottom|erfolgreich|fehlerfrei|ohne\s+(?:fehler|probleme)|problemlos)\b",
    _I,
)


@dataclass(frozen=True, kw_only=True)
class _Clause:
    text: str
    lead: str = ""
    """What stands before it in its line, up to a colon or a dash: often a file."""


def _clauses(text: str) -> Iterator[_Clause]:
    plain = _QUOTED_LINE.sub("", _CODE.sub("\n", text))
    plain = _QUOTES.sub(lambda found: _unquoted(found[0]), plain).replace("**", "").replace("__", "")
    for sentence in _SENTENCE.split(plain):
        if _UNCHECKED_BOX.match(sentence):
            continue
        body = _LIST_MARK.sub("", sentence[:_LONGEST_SENTENCE]).strip()
        if not body or body.endswith(("?", "?)")) or _CONDITION.match(body):
            continue
        lead = ""
        for piece in _SPLIT.split(body):
            piece = piece.strip()
            if not piece:
                continue
            if _CONDITION.match(piece):
                break
            yield _Clause(text=piece, lead=lead)
            lead = lead or piece


def _unquoted(quoted: str) -> str:
    found = _FILE_IN_QUOTES.match(quoted)
    return f"`{found[1]}`" if found else " … "


# ---- what is claimed ----------------------------------------------------------------------------------------------------

_TESTS = (
    r"(?:(?:unit|integration|regression|smoke|end-to-end|e2e|doc|new|existing|remaining|other|relevant|whole|full|entire|\d+)[\s-]+)*"
    r"(?:tests?(?:\s*[- ]?suite)?|testsuite|test\s+cases?|test\s+runs?|specs?|pytest|unittests?|doctests?|checks)"
)
_AFTER_PASS = r"(?=\s*(?:$|[.,;:!)(…✅]|(?:now|again|too|as\s+well|successfully|with|in|on|after|locally|cleanly|afterwards|and|without|since|at)\b))"
_TESTS_PASS = (
    re.compile(
        rf"\b{_TESTS}(?:\s+(?:in|for|of)\s+\S+){{0,2}}\s*(?:\(\d+\)|:)?\s+"
        r"(?:(?:now|all|still|also|both|again|currently|thus|do|did|have|has|are|is|were|was|run|ran|are\s+all)\s+)*"
        rf"(?:pass(?:es|ed|ing)?{_AFTER_PASS}|succeed(?:s|ed|ing)?\b|green\b|successful(?:ly)?\b|ok\b{_AFTER_PASS}|(?:run|ran)\s+(?:fine|through)\b|"
        r"(?:work|works|worked)\b)",
        _I,
    ),
    re.compile(rf"\bpass(?:es|ed|ing)?\s+(?:all\s+(?:of\s+)?)?(?:the\s+|its\s+|our\s+|your\s+|\d+\s+)?{_TESTS}\b", _I),
    re.compile(r"\b\d+\s*(?:/|of|out\s+of)\s*\d+\s+(?:tests?\s+)?pass(?:ed|ing)?\b|\b\d+\s+(?:tests?\s+)?passed\b", _I),
    re.compile(
        r"\b(?:everything|all)\s+(?:is\s+)?(?:passes|passed|passing|green)\b|\bfully\s+tested\b|\ball\s+green\b", _I
    ),
    re.compile(
        rf"\b{_TESTS}\s+(?:\w+\s+){{0,3}}(?:bestehen|bestanden|grün|erfolgreich|durchgelaufen|laufen\s+(?:\w+\s+){{0,2}}(?:durch|fehlerfrei|grün)|"
        r"sind\s+(?:\w+\s+)?ok|laufen\s+wieder|funktionieren|fehlerfrei)\b",
        _I,
    ),
)
_TESTS_RUN = re.compile(
    rf"\b(?:i|we)(?:'ve|’ve|\s+have)?\s+(?:also\s+|then\s+|just\s+|now\s+|re-?)*(?:ran|run|re-?ran|executed)\s+(?:all\s+)?(?:of\s+)?(?:the\s+|your\s+|our\s+)?{_TESTS}\b|"
    rf"\A(?:re-?)?(?:ran|executed)\s+(?:all\s+)?(?:the\s+)?{_TESTS}\b|\b(?:verified|confirmed|tested|checked|validated)\s+(?:it\s+|this\s+|everything\s+|the\s+\w+\s+)?"
    rf"(?:with|by(?:\s+running)?|using)\s+(?:the\s+)?{_TESTS}\b|\bhabe\s+(?:alle\s+|die\s+)*{_TESTS}\s+(?:\w+\s+){{0,2}}(?:ausgeführt|laufen\s+lassen|gestartet)\b",
    _I,
)

_DID = (
    r"fixed|changed|modified|edited|updated|created|wrote|written|added|removed|deleted|renamed|replaced|moved|refactored|rewrote|rewritten|"
    r"implemented|corrected|adjusted|saved|patched|inserted|applied|generated|extended|simplified|converted|extracted|cleaned\s+up|"
    r"reformatted|formatted|split|merged|restructured|resolved|repaired|reverted|restored|appended"
)
_DID_DE = (
    r"geändert|verändert|korrigiert|behoben|erstellt|angelegt|gelöscht|hinzugefügt|ergänzt|entfernt|umbenannt|aktualisiert|angepasst|"
    r"gefixt|repariert|verschoben|ersetzt|implementiert|überarbeitet|umgeschrieben|geschrieben|gespeichert|eingebaut|refaktoriert|"
    r"erweitert|vereinfacht|eingefügt|aufgeräumt|umgesetzt|formatiert"
)
_ADVERBS = (
    r"(?:(?:also|now|just|then|successfully|already|further|additionally|properly|accordingly|correctly|finally)\s+)*"
)
_FIRST_PERSON = re.compile(
    rf"\b(?:i|we)(?:'ve|’ve|\s+have)?\s+{_ADVERBS}(?P<verb>{_DID}|made\s+(?:the|these|this|those|all|some|a|your|both|several|\w+\s+following|following)"
    rf"\b[^.]{{0,40}}?\b(?:changes?|edits?|fix(?:es)?|updates?|modifications?|adjustments?))\b(?P<rest>.*)|"
    rf"\b(?:habe(?:n)?|hab)\s+(?:ich\s+|wir\s+)?(?P<rest_de>.*?)\b(?P<verb_de>{_DID_DE})\b",
    _I | re.DOTALL,
)
_BARE = re.compile(rf"\A{_ADVERBS}(?P<verb>{_DID}|{_DID_DE})\b(?P<rest>.*)", _I | re.DOTALL)
_PASSIVE = re.compile(
    rf"(?P<before>.*?)\b(?:(?:has|have)\s+been|(?:is|are)\s+now|wurden?|(?:ist|sind)\s+(?:jetzt|nun))\s+(?P<mid>.{{0,60}}?){_ADVERBS}"
    rf"(?P<verb>{_DID}|{_DID_DE})\b(?P<rest>.*)",
    _I | re.DOTALL,
)
_SOLVED = re.compile(
    r"\b(?:the\s+)?(?:bug|issue|problem|error|typo|fault|fehler|problem|tippfehler)\s+(?:\w+\s+){0,4}?(?:is|has\s+been|ist|wurde)\s+(?:now\s+|jetzt\s+|nun\s+)?"
    r"(?:fixed|resolved|solved|corrected|gone|behoben|korrigiert|gelöst|gefixt)\b|\b(?:changes?|fix(?:es)?|edits?)\s+(?:are|is|have\s+been|has\s+been)\s+"
    r"(?:now\s+)?(?:in\s+place|applied|done|made|saved|implemented)\b|\b(?:die\s+)?änderung(?:en)?\s+(?:ist|sind|wurden?)\s+(?:\w+\s+)?(?:gemacht|umgesetzt|gespeichert|eingebaut)\b",
    _I,
)
_RELEASED = re.compile(
    r"\b(?:in|since|as\s+of|from)\s+(?:version|release|v|python|pandas|numpy)\s*\d|\bby\s+(?!me\b|us\b)[A-Z]\w+", 0
)

_FILE = re.compile(
    r"(?<![\w:/@.-])(?:\./)?(?:[\w.-]+/)*[\w.-]*\w\.(?:py|pyi|ipynb|md|rst|txt|toml|cfg|ini|conf|json|jsonl|ya?ml|csv|tsv|tsx?|jsx?|mjs|css|scss|html?|svg|"
    r"png|sh|bash|rs|go|c|h|cc|cpp|hpp|java|kt|rb|php|sql|parquet|xlsx|xml|lock|env|r|jl|log|pdf|pkl|npy|npz|feather)\b(?![\w/(]|\.\w)|"
    r"(?<![\w/])(?:[\w.-]+/)*(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)\b(?!\.)",
)
_NOT_FILES = frozenset(
    ("node.js", "vue.js", "next.js", "react.js", "three.js", "d3.js", "express.js", "nuxt.js", "chart.js", "plotly.js")
)
_BESIDE = re.compile(
    r"(?:\bfor|\bfrom|\bof|\blike|\bthan|\bby|\bwith|\busing|\bvia|\babout|\bagainst|\bmatch(?:es|ing)?|\bcall(?:s|ing|ed)|\bimport(?:s|ing|ed)?|"
    r"\bread(?:s|ing)?|\bload(?:s|ing|ed)?|\brun(?:s|ning)?|\buse[sd]?|\bbefore|\bafter|\bas\s+in|\bsee|\bto\s+reference|\breferenc\w+|\bpoint\w*\s+to|"
    r"\bunlike|\bwhere|\bbecause|\bthat|\bwhich|\bwhen|\bfür|\baus|\bvon|\bwie|\bmit|\bnach|\bvor|\bgemäß|\blaut|\bden\s+import|\bmentions?)\s+"
    r"(?:(?:the|a|an|our|your|its|file|module|die|der|das|den|dem|datei)\s+)*[`'\"(]?\Z",
    _I,
)
_STOP = re.compile(
    r"\b(?:so\s+that|so\s+(?:it|they|the)|because|since|which|that|where|when(?:ever)?|while|as\s+well\s+as\s+how|"
    r"to\s+(?:avoid|prevent|not|never|make|handle|support|use|return|raise|reflect|include|fix|ensure|allow|check|account|accept|ignore|skip|keep)|"
    r"sodass|so\s+dass|damit|weil|welche[rs]?|um)\b",
    _I,
)
_CONFIRMED = re.compile(
    r"\b(?:i|we)(?:'ve|’ve|\s+have|\s+can)?\s+(?:also\s+|then\s+|now\s+|just\s+)*(?:verified|verify|confirmed|confirm|checked|ensured|made\s+sure|saw)\s+that\s+|"
    r"\bich\s+habe\s+(?:geprüft|überprüft|bestätigt),?\s+dass\s+",
    _I,
)

_WHAT_RUNS = (
    r"(?:notebooks?|cells?|code|scripts?|program|pipeline|simulation|training|query|queries|analysis|experiment|benchmark|"
    r"zellen?|skripte?|programm|auswertung|`[^`]+\.(?:py|ipynb|sh|R|jl)`|\S+\.(?:py|ipynb|sh))"
)
_RAN = (
    re.compile(
        rf"\b(?:i|we)(?:'ve|’ve|\s+have)?\s+{_ADVERBS}(?:ran|run|re-?ran|executed|re-?executed)\s+(?:(?:the|your|this|that|all|every|each|whole|entire|full|new|"
        rf"updated|complete|of|first|last|following|\d+|python)\s+)*{_WHAT_RUNS}",
        _I,
    ),
    re.compile(
        rf"(?:\A|\b(?:i|we)(?:'ve|’ve|\s+have)?\s+){_ADVERBS}(?:ran|re-?ran|executed|re-?executed)\s+(?:it|them)\b"
        r"(?!\s+(?:through|by|past|against|in\s+my))",
        _I,
    ),
    re.compile(
        rf"\A{_ADVERBS}(?:re-?)?(?:ran|executed)\s+(?:(?:the|your|all|every|whole|entire|full|new|updated|of)\s+)*{_WHAT_RUNS}",
        _I,
    ),
    re.compile(
        rf"\b(?:the|your|this|all|every|each|cell\s+\d+|entire|whole)\s+(?:(?:whole|entire|new|updated|code|the|of|full)\s+)*{_WHAT_RUNS}(?:\s+\d+)?\s+"
        r"(?:(?:has|have|was|were|now)\s+)*(?:been\s+)?(?:successfully\s+)?(?:ran|run|executed|completed|finished)\b(?!\s+(?:by|on\s+every|each|when|if))",
        _I,
    ),
    re.compile(
        rf"\bhabe\s+(?:ich\s+)?(?:das\s+|den\s+|die\s+|alle\s+|dein\w*\s+|ganze\s+|gesamte\s+|neuen?\s+)*{_WHAT_RUNS}\s+(?:\w+\s+){{0,2}}(?:ausgeführt|laufen\s+lassen|gestartet)\b|"
        rf"\b{_WHAT_RUNS}\s+(?:wurden?\s+(?:\w+\s+)?ausgeführt|lief(?:en)?\s+(?:\w+\s+){{0,2}}(?:durch|fehlerfrei|erfolgreich)|ist\s+(?:\w+\s+)?durchgelaufen)\b",
        _I,
    ),
)

_VERBS: tuple[tuple[Kind, str, str], ...] = (
    ("installed", r"installed|pip[- ]installed", r"installiert"),
    ("committed", r"committed|made\s+a\s+commit|created\s+a\s+commit", r"committet|commitet|commited|eingecheckt"),
    ("pushed", r"pushed(?!\s+(?:down|up|back|onto|into|forward|the\s+limit))", r"gepusht|hochgeladen"),
    ("downloaded", r"downloaded|fetched\s+the\s+(?:data|file|dataset)|cloned", r"heruntergeladen|geklont"),
)
_ACTS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (
        kind,
        re.compile(
            rf"\b(?:i|we)(?:'ve|’ve|\s+have)?\s+{_ADVERBS}(?:{verb})\b(?!\s+to\s+(?:help|mak|do|provid|keep|ensur))|\A{_ADVERBS}(?:{verb})\b(?=\s+\S)(?!\s+to\s+)|"
            rf"\b(?:has|have)\s+been\s+{_ADVERBS}(?:{verb})\b|\b(?:is|are|was|were)\s+(?:now\s+|successfully\s+)(?:{verb})\b|"
            rf"\b(?:habe(?:n)?|wurden?)\s+(?:\S+\s+){{0,8}}(?:{german})\b",
            _I,
        ),
    )
    for kind, verb, german in _VERBS
)


def statements(text: str) -> list[Statement]:
    """What the first 20,000 characters of ``text`` say was done, in their order; nothing twice."""
    found: dict[Statement, None] = {}
    for clause in _clauses(text[:_LONGEST]):
        for statement in _of_clause(clause):
            found[statement] = None
    return list(found)


def names_file(text: str) -> bool:
    return any(found[0].lower() not in _NOT_FILES for found in _FILE.finditer(text))


def _of_clause(clause: _Clause) -> Iterator[Statement]:
    said = _main(_CONFIRMED.sub("", _NOT_BUT_WELL.sub("successfully", clause.text)))
    if _UNREAL.search(said) or _OTHERS.search(said) or _OTHERS.search(clause.lead):
        return
    earlier, well = _EARLIER.search(said) is not None, _WELL.search(said) is not None
    if any(pattern.search(said) for pattern in _TESTS_PASS):
        yield Statement(kind="tests_pass", earlier=earlier)
    elif _TESTS_RUN.search(said):
        yield Statement(kind="tests_run", earlier=earlier)
    elif any(pattern.search(said) for pattern in _RAN):
        yield Statement(kind="ran", earlier=earlier, well=well)
    for kind, pattern in _ACTS:
        if pattern.search(said):
            yield Statement(kind=kind, earlier=earlier)
    yield from _changes(said, clause.lead, earlier=earlier)


def _main(said: str) -> str:
    """Up to where it says why, what for, or more about something: there "not" and "if" are of the matter, not of the statement."""
    stop = _STOP.search(said)
    return said if stop is None else said[: stop.start()]


def _changes(said: str, lead: str, *, earlier: bool) -> Iterator[Statement]:
    first = _FIRST_PERSON.search(said)
    if first is not None:
        files = _files(first["rest"] or "") + _files(first["rest_de"] or "")
        yield (
            Statement(kind="file", files=files, earlier=earlier) if files else Statement(kind="change", earlier=earlier)
        )
        return
    bare = _BARE.match(said)
    if bare is not None:
        files = _files(bare["rest"]) or _files(lead)
        if files:
            yield Statement(kind="file", files=files, earlier=earlier)
        return
    passive = _PASSIVE.match(said)
    if passive is not None and not _RELEASED.search(passive["rest"]):
        files = _files(passive["before"]) + _files(passive["mid"])
        if files:
            yield Statement(kind="file", files=files, earlier=earlier)
            return
    if _SOLVED.search(said):
        yield Statement(kind="change", earlier=earlier)


def _files(text: str) -> tuple[str, ...]:
    """The files that are named as what was changed, not those beside it."""
    names = [
        found[0].removeprefix("./")
        for found in _FILE.finditer(text)
        if found[0].lower() not in _NOT_FILES and not _BESIDE.search(text[: found.start()])
    ]
    return tuple(dict.fromkeys(names))
