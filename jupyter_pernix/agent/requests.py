"""What kind of request a message is: asks for a change, small talk, or a follow-up to what came before. Pure; English and German.

The answers are used to be honest with the user ("nothing was changed"), so where a message can be read in two ways, it is taken for
the harmless one: a question, and code that may as well be given in the answer, ask for no change.
"""

import re

_FLAGS = re.IGNORECASE
_LONGEST = 20_000
_LONGEST_SENTENCE = 300

_CHANGE_EN = (
    r"fix|repair|change|modify|edit|add|append|insert|remove|delete|drop|rename|move|replace|swap|update|upgrade|downgrade|bump|"
    r"implement|refactor|rewrite|rework|restructure|reorganize|reorganise|clean\s+up|tidy(?:\s+up)?|correct|extend|adapt|adjust|apply|"
    r"install|uninstall|set(?:\s+up)?|configure|format|reformat|migrate|port|split|merge|extract|inline|convert|turn|commit|revert|undo|"
    r"restore|enable|disable|increase|decrease|put|save|store|patch|integrate|wire|hook\s+up|introduce|simplify|deduplicate|comment\s+out|"
    r"uncomment|annotate|document|translate|wrap|unwrap|bring\s+back|get\s+rid\s+of|make\s+sure|solve|resolve|finish|complete|prepare"
)
_CHANGING_EN = (
    r"(?:fix|repair|chang|modify|edit|add|append|insert|remov|delet|renam|mov|replac|updat|implement|refactor|rewrit|correct|extend|"
    r"adapt|adjust|apply|install)ing"
)
_MAKE_EN = (
    r"write|create|make|generate|build|draft|produce|start|initialize|initialise|scaffold|define|design|develop|code"
)
_THING_EN = (
    r"files?|folders?|director(?:y|ies)|modules?|packages?|scripts?|notebooks?|tests?|class(?:es)?|docs?|documentation|docstrings?|readme|"
    r"changelog|configs?|configuration|cells?|endpoints?|branch|commit|venv|environment|projects?|apps?|applications?|cli|makefile|"
    r"dockerfile|workflow|pipeline|database|tables?|migrations?|fixtures?|work|faster|slower|compatible|optional|required|private|public|"
    r"configurable|type hints?|pass|green"
)
_PATH = re.compile(
    r"(?<![\w/])(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.(?:py|ipynb|md|txt|toml|cfg|ini|json|ya?ml|csv|tsx?|jsx?|css|html|sh|rs|go|c|h|cpp|java|sql|"
    r"rst|parquet|xml|lock|env)\b|\b(?:Makefile|Dockerfile|README)\b"
)
_CHANGE_DE = (
    r"korrigier(?:e|en)?|reparier(?:e|en)?|behebe?n?|fixe?n?|änder(?:e|n)|veränder(?:e|n)|füge?n?|hinzufügen|hinzuzufügen|ergänz(?:e|en)|"
    r"entfern(?:e|en)|lösche?n?|umbenennen|benenn(?:e|en)|verschieb(?:e|en)|ersetz(?:e|en)|tausch(?:e|en)|aktualisier(?:e|en)|"
    r"implementier(?:e|en)|refaktorier(?:e|en)|überarbeite?n?|umschreiben|pass(?:e|en)|anpassen|baue?n?|einbauen|räume?n?|aufräumen|"
    r"formatier(?:e|en)|speicher(?:e|n)|installier(?:e|en)|richte?n?|einrichten|übersetz(?:e|en)|kommentier(?:e|en)|erweiter(?:e|n)|"
    r"vereinfach(?:e|en)|mach(?:e|en)?|setz(?:e|en)|stell(?:e|en)|verbesser(?:e|n)|leg(?:e|en)|anlegen|commit(?:te|ten|e)?|trag(?:e|en)|"
    r"eintragen|streich(?:e|en)|erhöhe?n?|verkleiner(?:e|n)|mach"
)
_MAKE_DE = r"schreib(?:e|en)?|erstell(?:e|en)?|erzeug(?:e|en)?|generier(?:e|en)?|entwickl(?:e|en)|entwickeln"
_THING_DE = (
    r"dateie?n?|ordner|verzeichnis|module?|pakete?|skripte?|notebooks?|tests?|klassen?|doku|dokumentation|docstrings?|readme|schneller|kürzer|fertig|"
    r"konfiguration|zellen?|projekte?|anwendung|app|umgebung|tabellen?|datenbank"
)
_PLEASE = (
    r"(?:(?:please|pls|plz|kindly|now|then|next|first|also|and|so|ok(?:ay)?|yes|yeah|great|good|thanks|thank you|hey|hi|hello|just|"
    r"finally|bitte|jetzt|nun|dann|danach|zuerst|auch|und|ja|gut|danke|hallo|mal|also)[,!.:]?\s+)*"
)
_ASKED_EN = (
    r"(?:(?:can|could|would|will)\s+(?:you|we)\s+(?:please\s+|kindly\s+|also\s+|just\s+|now\s+|quickly\s+|maybe\s+)*|"
    r"would\s+you\s+mind\s+|i(?:'d|\s+would)\s+like\s+(?:you\s+)?(?:to\s+)?|i\s+(?:want|need)\s+(?:you\s+)?(?:to\s+)?|"
    r"(?:we|you)\s+(?:should|must|need\s+to|have\s+to)\s+|let(?:'|’)?s\s+|let\s+us\s+|try\s+to\s+|go\s+ahead\s+and\s+|"
    r"your\s+task\s+is\s+to\s+|help\s+me\s+(?:to\s+)?|proceed\s+to\s+|feel\s+free\s+to\s+|you\s+(?:can|may)\s+|"
    r"it\s+would\s+be\s+(?:nice|great|good)\s+(?:if\s+you\s+(?:could\s+|would\s+)?|to\s+))"
)
_ASKED_DE = (
    r"(?:(?:kannst|könntest|würdest|magst|willst)\s+du|(?:können|könnten|würden)\s+(?:sie|wir)|ich\s+(?:möchte|will|hätte\s+gern\w*)|"
    r"du\s+(?:sollst|solltest|musst|kannst|darfst)|wir\s+(?:müssen|sollten)|lass\s+uns)"
)
_START = r"(?:^|[.!?;:\n]\s*|,\s*(?:and|then|und|dann)?\s*|\b(?:and|then|und|dann)\s+|^\s*[-*\d.]+\s+)"

_IMPERATIVE_EN = re.compile(
    rf"{_START}{_PLEASE}{_ASKED_EN}?{_PLEASE}(?P<verb>{_CHANGE_EN}|{_CHANGING_EN}|{_MAKE_EN})\b(?P<rest>(?:[^.!?\n]|\.(?=\w))*)",
    _FLAGS | re.MULTILINE,
)
_IMPERATIVE_DE = re.compile(
    rf"{_START}{_PLEASE}(?P<verb>{_CHANGE_DE}|{_MAKE_DE})\b(?P<rest>(?:[^.!?\n]|\.(?=\w))*)", _FLAGS | re.MULTILINE
)
_POLITE_DE = re.compile(rf"{_START}{_PLEASE}{_ASKED_DE}\b(?P<rest>(?:[^.!?\n]|\.(?=\w))*)", _FLAGS | re.MULTILINE)
_INFINITIVE_DE = re.compile(
    r"(?:^|[.!\n]\s*)(?P<rest>[^.!?\n]*\b(?P<verb>hinzufügen|beheben|ändern|entfernen|löschen|umbenennen|verschieben|ersetzen|aktualisieren|"
    r"implementieren|anpassen|einbauen|aufräumen|korrigieren|reparieren|ergänzen|anlegen|erstellen|umschreiben|einrichten|"
    r"überarbeiten|refaktorieren|fixen|installieren|verbessern|erweitern))\s*(?:$|[.!\n])",
    _FLAGS,
)
_ANY_CHANGE = re.compile(rf"\b(?:{_CHANGE_EN}|{_CHANGE_DE}|{_MAKE_EN}|{_MAKE_DE})\b", _FLAGS)
_STRONG_CHANGE = re.compile(
    rf"\b(?:{_CHANGE_EN}|hinzufügen|beheben|ändern|entfernen|löschen|umbenennen|ersetzen|anpassen|korrigieren)\b",
    _FLAGS,
)
_QUESTION = re.compile(
    r"\A\s*(?:(?:and|but|so|ok|okay|hm+|well|und|aber|also|na)[,]?\s+)?"
    r"(?:how|what|why|which|when|where|who|whose|is|are|was|were|does|do|did|has|have|had|should|shall|may|might|am|"
    r"can\s+(?!you|we)\w+|could\s+(?!you|we)\w+|would\s+(?!you)\w+|will\s+(?!you)\w+|"
    r"wie|was|warum|weshalb|wieso|welche[rsnm]?|wann|wo|wer|wem|wen|wessen|ist|sind|war|waren|hat|hast|haben|gibt|soll|sollte|sollen|"
    r"sollten|muss|darf|kann\s+(?:man|ich|es|das|sie|er)|könnte\s+(?:man|ich|es|das)|wäre|würde)\b",
    _FLAGS,
)
_LOOKING = re.compile(
    r"\A\s*(?:please\s+|bitte\s+|can\s+you\s+|could\s+you\s+|kannst\s+du\s+)*(?:explain|describe|show|tell|list|find|search|look|check|"
    r"review|analy[sz]e|compare|summari[sz]e|read|count|compute|calculate|plot|print|run|test|verify|think|suggest|propose|plan|outline|"
    r"discuss|estimate|inspect|investigate|debug|give|name|recommend|add\s+up|sum|average|total|chart|graph|visuali[sz]e|"
    r"erkläre?|erklär|beschreibe?|zeig(?:e)?|sag(?:e)?|nenne?|suche?|finde?|schau(?:e)?|prüf(?:e)?|analysiere?|vergleiche?|lies|zähle?|"
    r"berechne?|führe|teste?|überlege?|schlage?|plane?)\b",
    _FLAGS,
)
_ADDING_UP = re.compile(
    r"\s+(?:(?:(?!an?\s)[@\w]+\s+){0,4}(?:up|together)\b|[@\d][\w.]*(?:\s*,\s*[@\d][\w.]*)*\s*(?:\+|plus|and|to)\s*[@\d])",
    _FLAGS,
)
_DRAWING = re.compile(
    r"\s+(?:me\s+|mir\s+)?(?:an?\s+|the\s+|ein(?:e|en)?\s+)?(?:[\w-]+\s+){0,2}(?:plots?|charts?|graphs?|histograms?|diagrams?|heatmaps?|figures?|tables?|"
    r"diagramme?|histogramme?|tabellen?)\s+(?:of|for|from|showing|with|that\s+shows?|von|aus|für|mit|über)\b",
    _FLAGS,
)
_SOLVING = re.compile(r"\s.*(?:\b(?:equations?|integrals?|puzzles?|riddles?|system)\b|\bfor\s+\w\b|=)", _FLAGS)
_CONVERTING = re.compile(r"\s+[\d.,]+", _FLAGS)
_KEEPS = re.compile(
    r"\b(?:save|store|write|put|export|append|insert|update|commit|speicher\w*|schreib\w*)\b|"
    rf"\b(?:to|into|as|called|named|als|nach)\s+(?:(?:the|a|file|der|die|datei)\s+){{0,2}}(?:{_PATH.pattern})",
    _FLAGS,
)
_NO_CHANGE = re.compile(
    r"\b(?:do\s*n(?:'|’)?o?t|don(?:'|’)t|never|without|no\s+need\s+to|instead\s+of|rather\s+than)\s+(?:\w+\s+){0,2}(?:chang|edit|modif|touch|"
    r"writ|fix|delet|remov|mak|creat|add|implement|commit)\w*|\bonly\s+(?:look|explain|tell|read|answer|a\s+plan)\b|"
    r"\b(?:change|edit|modify|touch)\s+nothing\b|\bread[- ]only\b|"
    r"\b(?:ändere?|bearbeite?|lösche?|schreibe?|mach(?:e)?)\s+(?:\w+\s+){0,2}(?:nichts|nicht|keine?n?)\b|\bohne\s+(?:\w+\s+){0,3}zu\s+ändern\b|"
    r"\bnichts\s+(?:ändern|anfassen|löschen)\b|\bnur\s+(?:erklären|ansehen|lesen|schauen)\b",
    _FLAGS,
)
_IN_WORDS = re.compile(
    r"\b(?:poem|haiku|joke|story|essay|limerick|song|summary|overview|explanation|plan|list|proposal|suggestions?|answer|sentence|paragraph|"
    r"analysis|estimate|outline|comparison|recommendation|sense|an?\s+example|sure\s+i|gedicht|witz|geschichte|zusammenfassung|"
    r"erklärung|plan|liste|überblick|vorschlag|vorschläge|antwort|satz|analyse|beispiel)\b",
    _FLAGS,
)

_FOLLOW_WORDS = re.compile(
    r"\A(?:(?:yes|yeah|yep|yup|ya|sure|ok|okay|k|alright|all\s+right|right|fine|good|great|perfect|agreed|exactly|correct|please|pls|do|it|"
    r"that|this|so|go|ahead|on|for|continue|proceed|carry|start|begin|resume|next|again|try|retry|keep|going|approved?|confirmed?|lgtm|"
    r"sounds|looks|make|made|then|just|now|all|both|them|of|these|those|everything|the|first|second|third|one|ones|option|"
    r"[1-9ab]|with|your|plan|suggestion|proposal|as|you|suggested|proposed|said|described|i|agree|finish|apply|implement|changes?|"
    r"ja|jo|jep|jawohl|klar|gern|gerne|gut|genau|einverstanden|passt|bitte|mach|mache|machen|tu|tue|das|es|dies|so|weiter|weitermachen|los|"
    r"gehts|geht's|fang|an|alles|beide|beides|und|aber|dann|jetzt|nun|nochmal|noch|mal|einmal|leg|lege|fortfahren|fahre|fort|führe|aus|"
    r"setze|um|wie|vorgeschlagen|die|der|den|erste|zweite|dritte|variante|stimmt|richtig|du|sollst|darfst|kannst|"
    r"👍|✅|🚀)[\s,.!…:)]*)+\Z",
    _FLAGS,
)
_FOLLOW_START = re.compile(
    r"\A\s*(?:yes|yeah|yep|sure|ok|okay|go\s+ahead|do\s+(?:it|that|so)|please\s+do|proceed|continue|go\s+on|sounds\s+good|lgtm|"
    r"ja|klar|gern|gerne|mach\s+(?:das|es|weiter|mal)|tu\s+das|weiter|leg\s+los|einverstanden)\b",
    _FLAGS,
)
_NO = re.compile(
    r"\A\s*(?:no|nope|nah|nein|ne|stop|stopp|halt|wait|warte|not\s+(?:now|yet)|cancel|abbrechen|nicht|lieber\s+nicht)\b",
    _FLAGS,
)

_SMALL = re.compile(
    r"\A(?:(?:hi|hello|hey|hiya|howdy|yo|good\s+(?:morning|afternoon|evening|day|night)|morning|how\s+are\s+you(?:\s+(?:doing|today))*|"
    r"how(?:'|’)?s\s+it\s+going|what(?:'|’)?s\s+up|sup|who\s+are\s+you|what\s+are\s+you|what\s+is\s+your\s+name|what\s+can\s+you\s+do|"
    r"are\s+you\s+there|nice\s+to\s+meet\s+you|thanks?|thank\s+you|thx|ty|cheers|many|a\s+lot|so\s+much|very\s+much|great(?:\s+(?:job|work))?|"
    r"well\s+done|nice(?:\s+(?:job|work|one))?|cool|awesome|perfect|excellent|good\s+(?:job|work|bot)|lol|haha+|bye|goodbye|see\s+you|"
    r"later|have\s+a\s+(?:nice|good|great)\s+\w+|there|everyone|team|pernix|agent|bot|sorry|no\s+problem|never\s*mind|you(?:'|’)re\s+welcome|"
    r"that(?:'|’)?s\s+(?:all|it|great|nice|cool|perfect)|for\s+(?:your|the)\s+help|test|ping|"
    r"hallo|servus|moin|grüß\s+gott|grüezi|guten\s+(?:morgen|tag|abend)|gute\s+nacht|na|wie\s+geht(?:'|’)?s?(?:\s+(?:es\s+)?(?:dir|ihnen))?|"
    r"wer\s+bist\s+du|was\s+kannst\s+du|danke(?:\s*(?:schön|sehr|dir|ihnen))*|vielen\s+dank|herzlichen\s+dank|super|toll|prima|klasse|"
    r"sehr\s+gut|gut\s+gemacht|tschüss?|ciao|bis\s+(?:bald|später|morgen|dann)|auf\s+wiedersehen|schönen\s+\w+(?:\s+noch)?|alles\s+klar|"
    r"das\s+war(?:'|’)?s|ok|okay|and|und)[\s,.!?…:;)(-]*)+\Z",
    _FLAGS,
)
_EMOJI = re.compile(r"\A[\W_]*\Z")


def is_small_talk(text: str) -> bool:
    """A greeting, thanks, or nothing: there is no work in it."""
    plain = text.strip()
    if _EMOJI.match(plain):
        return not is_follow_up(plain)
    return len(plain) < 120 and _SMALL.match(plain) is not None and not is_follow_up(plain)


def is_follow_up(text: str) -> bool:
    """Says yes or go on to what came before, and nothing of its own ("yes", "go ahead", "mach das", "ok weiter")."""
    plain = text.strip()
    if len(plain) > 100 or _NO.match(plain) or re.fullmatch(r"\W*", plain):
        return plain in ("👍", "✅", "🚀")
    if re.fullmatch(
        r"(?:great|perfect|good|super|great job|right|correct|genau|richtig|stimmt|gut)[.!]*", plain, _FLAGS
    ):
        return False
    return _FOLLOW_WORDS.match(plain) is not None


def is_change(text: str, previous: str = "") -> bool:
    """Whether the user asks for something to be changed, made or removed. ``previous``: the message before this one; a follow-up
    is read with it, and "do it" after "how would you fix this?" asks for the fix."""
    plain = _without_quotes(text)[:_LONGEST]
    if _NO.match(plain) and not _IMPERATIVE_EN.search(plain[:_LONGEST_SENTENCE]):
        return False
    if is_follow_up(text):
        return _may_be_meant(previous)
    if _NO_CHANGE.search(plain):
        return False
    if _asks_for_change(plain):
        return True
    return (
        _FOLLOW_START.match(plain) is not None
        and len(plain) < 200
        and not plain.rstrip().endswith("?")
        and _may_be_meant(previous)
    )


def _may_be_meant(previous: str) -> bool:
    previous = previous[:_LONGEST]
    if not previous.strip() or _NO_CHANGE.search(previous):
        return False
    return _asks_for_change(_without_quotes(previous)) or _STRONG_CHANGE.search(_without_quotes(previous)) is not None


def _asks_for_change(text: str) -> bool:
    return any(
        _sentence_asks(sentence.strip()[:_LONGEST_SENTENCE])
        for sentence in re.findall(r"[^.!?\n]*(?:\.(?=\w)[^.!?\n]*)*[.!?\n]?", text)
        if sentence.strip()
    )


def _sentence_asks(sentence: str) -> bool:
    if _QUESTION.match(sentence):
        return False
    looking = _LOOKING.match(sentence)
    rest = sentence if looking is None else _behind_and(sentence)
    for found in _IMPERATIVE_EN.finditer(rest):
        if _is_meant(found["verb"], found["rest"], make=_MAKE_EN, thing=_THING_EN):
            return True
    for found in _IMPERATIVE_DE.finditer(rest):
        if _is_meant(
            found["verb"], found["rest"], make=rf"{_MAKE_DE}|mach\w*|baue?n?|leg\w*|setz\w*|stell\w*", thing=_THING_DE
        ):
            return True
    for found in _POLITE_DE.finditer(rest):
        verb = re.search(rf"\b(?:{_CHANGE_DE}|{_MAKE_DE})\b", found["rest"], _FLAGS)
        if verb and _is_meant(verb[0], found["rest"], make=_MAKE_DE, thing=_THING_DE):
            return True
    return looking is None and "?" not in sentence and _INFINITIVE_DE.search(sentence) is not None


def _behind_and(sentence: str) -> str:
    """What comes after "and": "check the tests and fix them" asks for a change though it begins by looking."""
    found = re.search(r"(?:\b(?:and|then|und|dann)\b|[,;])", sentence, _FLAGS)
    return "" if found is None else sentence[found.end() :].lstrip()


def _is_meant(verb: str, rest: str, *, make: str, thing: str) -> bool:
    """A verb of making counts only with something that lies in a project: a poem, a plan and a function fit into an answer."""
    if _computes(verb.casefold(), rest):
        return False
    if not rest.strip() and not re.fullmatch(r"fix|commit|undo|revert|format|refactor|install|aufräumen", verb, _FLAGS):
        return False
    if not re.fullmatch(make, verb, _FLAGS):
        return not re.match(r"\s+(?:your\s+mind|the\s+subject|das\s+thema|up\s+with)\b", rest, _FLAGS)
    if _PATH.search(rest):
        return True
    return re.search(rf"\b(?:{thing})\b", rest, _FLAGS) is not None and not _IN_WORDS.search(rest)


def _computes(verb: str, rest: str) -> bool:
    """A sum, a picture or a solution is wanted, which is looked at and lies nowhere: "add up the prices", "make a chart of @sales"."""
    if _KEEPS.search(rest):
        return False
    match verb:
        case "add":
            return _ADDING_UP.match(rest) is not None
        case "solve":
            return _SOLVING.match(rest) is not None
        case "convert":
            return _CONVERTING.match(rest) is not None
        case "stell" | "stelle" | "stellen":
            return re.search(r"\bdar\b", rest, _FLAGS) is not None
        case _:
            return _DRAWING.match(rest) is not None


def _without_quotes(text: str) -> str:
    """Without code blocks and quoted lines: what is pasted is not what is asked."""
    plain = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
    return re.sub(r"(?m)^\s*>.*$", " ", plain)
