"""How well does a small local model act through schema-constrained actions? Ten small tasks, or ``--all`` sixteen, each a session
of a real Jupyter server with our extension: its own folder, its own kernel, mode auto, the model served by the product.

    python benchmarks/local_model.py MODEL.gguf [--all] [--only REGEX] [--verbose] [--json]
    python benchmarks/local_model.py --url http://127.0.0.1:8080/v1 --model NAME

The first form needs the extra ``[local]``. An action is valid if it could be carried out as it was written. The exit code is 1 if
fewer than eight of ten are solved, or any action was not valid.
"""

import argparse
import dataclasses
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_tasks import MORE, TEN, Task

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.lab import Lab  # noqa: E402

from jupyter_pernix.client import Client, TurnEnd  # noqa: E402

SHARE = 0.8
BUDGET = "[budget]\nrounds = 10\nseconds = 600.0\n"
LOAD_WITHIN = 600.0
_WHOLE = ("stop", "tool_calls")
_INVALID = ("Not done: the arguments of", "Not done: there is no tool")


@dataclass(frozen=True)
class Result:
    """How one task went. ``steps``: requests for an action, the answer included; ``valid`` of these could be carried out as written."""

    task: str
    solved: bool
    steps: int
    valid: int
    seconds: float
    code: str
    answer: str
    tokens: int
    trace: list[str]


def attempt(client: Client, task: Task, folder: Path, *, space: str, endpoint: str) -> Result:
    """One task from its request to the end of its turn."""
    task.prepare(folder)
    began = time.monotonic()
    session = client.create_session(space_root=space, mode="auto", endpoint=endpoint, title=task.request)
    turn = client.submit(session["session_id"], task.request, origin="api", can_ask=False)
    events = turn_events(client, str(session["session_id"]), str(turn["turn_id"]))
    seconds = time.monotonic() - began
    return judged(task, folder, events, seconds)


def turn_events(client: Client, session_id: str, turn_id: str) -> list[dict[str, Any]]:
    """All events of the turn, once it is over."""
    end, events = TurnEnd(turn_id), list[dict[str, Any]]()
    for message in client.events(0, session_id):
        if message.kind == "pernix":
            events.append(message.data)
            if end.reached(message.data):
                return events
    raise AssertionError("the stream goes on until the turn is over")


def judged(task: Task, folder: Path, events: Sequence[dict[str, Any]], seconds: float) -> Result:
    of = {
        kind: [event for event in events if event["type"] == kind]
        for kind in ("step.started", "step.finished", "tool_call.finished", "message.completed", "turn.finished")
    }
    code = str(of["turn.finished"][-1]["code"])
    answer = str(of["message.completed"][-1]["text"]) if code == "answered" and of["message.completed"] else ""
    refused = sum(str(event["result"]).startswith(_INVALID) for event in of["tool_call.finished"])
    return Result(
        task=task.request,
        solved=bool(answer) and task.is_solved(answer, folder),
        steps=len(of["step.started"]),
        valid=sum(event["finish_reason"] in _WHOLE for event in of["step.finished"]) - refused,
        seconds=seconds,
        code=code,
        answer=answer,
        tokens=sum(event["usage"].get("completion_tokens") or 0 for event in of["step.finished"]),
        trace=[line for event in events if (line := told(event))],
    )


def told(event: dict[str, Any]) -> str:
    """A line about an event, for ``--verbose``."""
    match event["type"]:
        case "tool_call.requested":
            return f"{event['tool']} {json.dumps(event['arguments'], ensure_ascii=False)}"
        case "tool_call.finished":
            return f"  → {event['result']}"
        case "message.completed":
            return f"said: {event['text']}"
        case "problem.noticed":
            return f"problem: {event['text']} {event['hint']}"
        case "turn.finished" if event["code"] != "answered":
            return f"ended: {event['code']}: {event['detail']}"
        case "step.finished":
            usage, took = event["usage"], event["timings"]
            prompt = f"{usage.get('prompt_tokens')} tokens of prompt, {usage.get('cached_tokens')} of them known"
            seconds = f"{took['first_token'] or 0:.1f} of {took['total'] or 0:.1f} s"
            return f"[{prompt}; {seconds}; {event['finish_reason']}]"
        case _:
            return ""


def serve(client: Client, path: Path, context_length: int) -> str:
    """Let the server serve the file; returns the name of its endpoint once it can be used."""
    client.start_local(str(path.resolve()), context_length)
    deadline = time.monotonic() + LOAD_WITHIN
    while time.monotonic() < deadline:
        model = client.local()["models"][0]
        known = next((one for one in client.endpoints()["endpoints"] if one["name"] == "local"), None)
        if model["state"] == "failed":
            raise SystemExit(f"{path.name} cannot be served: {model['detail']}")
        if known is not None and known["status"] != "unknown":
            if known["protocol"] != "actions":
                print(f"{path.name} is driven by {known['protocol']}, not by actions", file=sys.stderr)
            return "local"
        time.sleep(0.2)
    raise SystemExit(f"{path.name} was not loaded within {LOAD_WITHIN:.0f} s")


def add(client: Client, url: str, model: str) -> str:
    endpoint = client.add_endpoint(name="bench", base_url=url, model=model, protocol="actions")
    if endpoint["status"] == "failed":
        raise SystemExit(f"{url} cannot be used: {endpoint['hint']}")
    return "bench"


def row(result: Result) -> str:
    mark = "yes" if result.solved else "NO"
    answer = result.answer if result.code == "answered" else f"({result.code})"
    answer = re.sub(r"\s+", " ", answer)[:70]
    return f"{result.task[:52]:52}  {mark:>6}  {result.steps:5}  {result.valid:5}  {result.seconds:6.1f}  {answer}"


HEAD = f"{'task':52}  solved  steps  valid  seconds  answer"


def totals(name: str, results: Sequence[Result], unusable: int) -> dict[str, Any]:
    return {
        "model": name,
        "tasks": len(results),
        "solved": sum(result.solved for result in results),
        "valid_tasks": sum(result.valid == result.steps for result in results),
        "steps": sum(result.steps for result in results),
        "valid_steps": sum(result.valid for result in results),
        "asked_again": unusable,
        "seconds": round(sum(result.seconds for result in results), 1),
        "tokens": sum(result.tokens for result in results),
    }


def passed(total: dict[str, Any]) -> bool:
    return (
        total["solved"] >= SHARE * total["tasks"]
        and total["valid_tasks"] == total["tasks"]
        and total["asked_again"] == 0
    )


def bench(options: argparse.Namespace, tasks: Sequence[Task]) -> int:
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        lab = Lab(home=Path(name) / "home", root=root)
        settings = Path(lab.environ["JUPYTER_CONFIG_DIR"]) / "pernix/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(BUDGET)
        with lab:
            client = lab.client()
            named = options.model if options.url else options.gguf.stem
            endpoint = add(client, options.url, options.model) if options.url else serve(client, options.gguf, 8192)
            if not options.json:
                print(HEAD, flush=True)
            for number, task in enumerate(tasks):
                space = f"task{number}"
                results.append(attempt(client, task, root / space, space=space, endpoint=endpoint))
                if not options.json:
                    print(row(results[-1]), flush=True)
                    if options.verbose:
                        print("\n".join(f"      {line[:1500]!r}" for line in results[-1].trace), flush=True)
        total = totals(named, results, lab.log_text().count("wrote no usable action"))
    if options.json:
        print(json.dumps({**total, "results": [dataclasses.asdict(result) for result in results]}, indent=1))
    else:
        print(
            f"{named}: {total['solved']} of {len(tasks)} solved, {total['valid_tasks']} of {len(tasks)} with valid actions only "
            f"({total['valid_steps']} of {total['steps']} steps), {total['seconds']:.0f} s, {total['tokens']} tokens written"
        )
    return 0 if passed(total) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", nargs="?", type=Path, help="model file to serve")
    parser.add_argument("--url", help="an OpenAI-compatible endpoint instead")
    parser.add_argument("--model", default="", help="model at that endpoint")
    parser.add_argument("--all", action="store_true", help="six harder tasks as well")
    parser.add_argument("--only", default="", help="regular expression: which tasks")
    parser.add_argument("--verbose", action="store_true", help="what was done in each task")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if (options.gguf is None) == (options.url is None):
        parser.error("give either a model file or --url")
    tasks = [task for task in (TEN + MORE if options.all else TEN) if re.search(options.only, task.request)]
    if not tasks:
        parser.error("no task matches")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server must not be left behind
    return bench(options, tasks)


if __name__ == "__main__":
    sys.exit(main())
