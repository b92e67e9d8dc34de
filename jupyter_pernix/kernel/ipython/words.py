"""The words behind ``%pernix``, for people."""

MODES = ("ask", "plan", "edit", "auto")

WORDS: dict[str, tuple[str, str]] = {
    "status": ("", "which server, models and session this kernel talks to"),
    "sessions": ("", "all sessions, newest first"),
    "open": ("ID|new", "go on with that session in the next %%pernix cell"),
    "attach": ("[ID]", "let a session work in this notebook's cells; ask it in the panel"),
    "detach": ("ID", "end that"),
    "stop": ("[ID]", "stop what this kernel's session is doing"),
    "model": ("[NAME]", "the models there are; answer with this one from now on"),
    "mode": ("[MODE]", "what the agent may do unasked: " + ", ".join(MODES)),
    "budget": ("[LIMITS]", "what the session may use, e.g. rounds=20 tokens=50000 seconds=600, or none"),
    "undo": ("", "take back the changes that the last question made to notebooks"),
    "fix": ("[WORDS]", "let the agent mend the last error"),
    "sql": ("QUERY", "a reading query over your own events, as a table"),
    "help": ("", "this text"),
}
"""For each word what it takes, and what it does."""

_FORMS = [(f"%pernix {name} {takes}".rstrip(), says) for name, (takes, says) in WORDS.items()]
HELP = "\n".join(
    [
        "%%pernix [--mode MODE] [--session ID | --new] [--model NAME] [--budget rounds=10,seconds=60]",
        "request                    ask the agent; it works in this kernel, with your variables",
        "",
        "In a request, {name}, {df.shape} or {rows[0]} is the value; @name adds what a variable holds;",
        "In[3], Out[3] and Err[3] add source, value and error of that cell. {{name}} stays {name}.",
        "",
        "%%pernix sql               the cell is a query over your own events",
        *(f"{form:<26} {says}" for form, says in _FORMS),
        "",
        "The answer is left in _ and _pernix: text, code, calls, usage, session_id, turn_id.",
    ]
)
