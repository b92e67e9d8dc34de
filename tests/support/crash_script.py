"""What the scripted model of the crash harness does. Stateless: what comes next is told by the request alone, so a session that goes on
after a crash is asked for exactly what its own history lacks, and for what it calls unknown once more.

The model server loads this file (``--program …/crash_script.py:decide``), so it needs nothing but the standard library.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

JSON = dict[str, Any]

STEPS = ("write", "edit", "shell", "slow", "pair", "code", "look", "delegate", "flaky")
_JOB = re.compile(r"Do job (\S+) with the steps ([a-z ]+); the ledger is (\S+)\. ")
_GO_ON = "Go on with the previous request"
_NOT_DONE = re.compile(
    r"Not done|cut off while it ran|was not started|Was not carried out|Stopped:|did not finish|The server ended while|not started"
)
_TRIES = 3
_TOKEN = re.compile(r"\b(?:j\d+w?)\.\d+\.[a-z]\b")

PLAN = '{"approach": "Step by step", "steps": ["do the first", "do the rest"], "tools": ["run_shell"]}'


def request(job: str, steps: Sequence[str], ledger: str) -> str:
    """The user's message for a job. ``job``: a letter and a number that no other job has."""
    return f"Do job {job} with the steps {' '.join(steps)}; the ledger is {ledger}. Tell me in the end how it went."


def tokens_in(text: str) -> list[str]:
    """The names of effects, each unique to one step of one job."""
    return list(dict.fromkeys(_TOKEN.findall(text)))


def _shell(token: str, ledger: str, before: str = "") -> JSON:
    return {"name": "run_shell", "arguments": {"command": f"{before}echo {token} >> {ledger} && sync {ledger}"}}


def calls_of(job: str, place: int, step: str, ledger: str) -> list[tuple[str, JSON]]:
    """The calls of a step by their tokens; the token of a call that has no effect stands in its arguments all the same."""
    name = f"notes-{job}-{place}.txt"
    token = f"{job}.{place}."
    match step:
        case "shell" | "flaky":
            return [(token + "a", _shell(token + "a", ledger))]
        case "slow":
            return [(token + "a", _shell(token + "a", ledger, "sleep 0.2; "))]
        case "pair":
            return [(token + letter, _shell(token + letter, ledger)) for letter in "ab"]
        case "write":
            content = f"{token}a\n# end\n"
            return [
                (token + "a", {"name": "write_file", "arguments": {"path": f"new-{token}a.txt", "content": content}})
            ]
        case "edit":
            fields = {"path": name, "old_text": "# end\n", "new_text": f"{token}b\n# end\n"}
            first = {"name": "write_file", "arguments": {"path": name, "content": f"{token}a\n# end\n"}}
            return [(token + "a", first), (token + "b", {"name": "edit_file", "arguments": fields})]
        case "code":
            code = (
                f"import os\nhandle = os.open({ledger!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
                f"os.write(handle, b'{token}a\\n')\nos.fsync(handle)\nos.close(handle)\nprint('{token}a')"
            )
            return [(token + "a", {"name": "run_code", "arguments": {"code": code}})]
        case "delegate":
            task = request(f"{job}w", ["shell"], ledger)
            return [(token + "a", {"name": "delegate", "arguments": {"title": f"Part {token}a", "task": task}})]
        case _:
            return [(token + "a", {"name": "search_files", "arguments": {"pattern": token + "a"}})]


def reply(messages: Sequence[JSON], *, primary: bool = True) -> JSON:
    """One reply, in the model server's form. ``{"fault": …}``: the primary endpoint fails for good in this place."""
    system = text_of(messages[0]) if messages else ""
    if system.startswith(("You plan the work", "You write the summary", "You write")):
        return {"text": PLAN}
    found = _current(messages)
    if found is None:
        return {"text": "Hello from the scripted model."}
    (job, steps, ledger), at = found
    results = _results(messages)
    for place, step in enumerate(steps.split()):
        calls = [
            call
            for token, call in calls_of(job, place, step, ledger)
            if len(results.get(token, [])) < _TRIES and not any(map(_is_done, results.get(token, [])))
        ]
        if calls and step == "flaky" and primary:
            return {"fault": {"kind": "status", "status": 401, "times": 1000}}
        if calls:
            text = "I go on." if at % 2 else ""
            return {"text": text, "tool_calls": calls[:1] if step == "edit" else calls}
    return {"text": f"Job {job} is over."}


def decide(request: Any) -> JSON:
    """For the model server."""
    said = reply(request.messages, primary=False)
    said.setdefault("tps", 0)
    return said


def text_of(message: JSON) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _current(messages: Sequence[JSON]) -> tuple[tuple[str, str, str], int] | None:
    """The job that the last message is about; ``None``: it is about something else."""
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for index in reversed(users):
        text = text_of(messages[index])
        found = _JOB.search(text)
        if found is not None:
            return (found[1], found[2], found[3]), len(messages)
        if _GO_ON not in text and "Say hello" in text:
            return None
    return None


def _results(messages: Sequence[JSON]) -> dict[str, list[str]]:
    asked: dict[str, list[str]] = {}
    results: dict[str, list[str]] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            arguments = str(call["function"]["arguments"])
            asked[str(call["id"])] = _named(arguments)
        if message.get("role") == "tool":
            for token in asked.get(str(message.get("tool_call_id")), []):
                results.setdefault(token, []).append(text_of(message))
    return results


def _named(arguments: str) -> list[str]:
    """The token that a call is there for: the first; that of a delegated task is in its title."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return []
    return tokens_in(str(given.get("title") or arguments.replace("\\n", " ")))[:1]


def _is_done(result: str) -> bool:
    return _NOT_DONE.search(result) is None
