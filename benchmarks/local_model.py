"""How well does a local model act through schema-constrained actions? Small tasks, each carried out for real in a folder of its own.

    python benchmarks/local_model.py MODEL.gguf [--only REGEX] [--verbose]
    python benchmarks/local_model.py --url http://127.0.0.1:8080/v1 --model NAME

Needs the extra ``[local]`` for the first form. Every task runs at temperature 0, with the tools and the system text of the product.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio

from jupyter_pernix.agent.briefing import RULES
from jupyter_pernix.agent.model.actions import ActionModel
from jupyter_pernix.agent.model.client import Endpoint
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import ModelCall, Reply
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.errors import ModelError
from jupyter_pernix.ids import new_session_id

ROUNDS = 8
CSV = "name,price,qty\n" + "".join(f"item{i},{i * 1.5},{i % 4}\n" for i in range(1, 13))
PRICES = "item,unit,price\n" + "".join(f"thing{i},kg,{3 + i * 0.37:.2f}\n" for i in range(34))
PRICES_SUM = sum(round(3 + i * 0.37, 2) for i in range(34))
BUGGY = "def mean(values):\n    return sum(values) / (len(values) - 1)\n"


@dataclass(frozen=True)
class Task:
    request: str
    answer: str
    """What the answer must match; "" when the files decide."""
    files: dict[str, str]
    check: Callable[[Path], bool] = lambda folder: True


def _mean_is_right(folder: Path) -> bool:
    space: dict[str, object] = {}
    with contextlib.suppress(Exception):  # whatever the model left there
        exec((folder / "stats.py").read_text(), space)
        return space["mean"]([2, 4]) == 3  # type: ignore[operator]
    return False


def _says_hello(folder: Path) -> bool:
    found = folder / "hello.txt"
    return found.exists() and found.read_text().strip() == "hello world"


TASKS = [
    Task("Use Python to compute 17*23.", r"\b391\b", {}),
    Task("How many rows has the CSV data.csv?", r"\b12\b", {"data.csv": CSV}),
    Task("What is the sum of the column 'price' in data.csv?", r"\b117(\.0+)?\b", {"data.csv": CSV}),
    Task("List the files in the current directory.", r"data\.csv", {"data.csv": CSV, "notes.md": "# Notes\n"}),
    Task("Compute the 20th Fibonacci number with Python.", r"6,?765|4,?181", {}),
    Task("Reverse the string 'pernix' with Python.", r"xinrep", {}),
    Task("What is the mean of 3, 8, 15 and 22? Use Python.", r"\b12(\.0+)?\b", {}),
    Task("Which year is it now? Use Python.", time.strftime(r"\b%Y\b"), {}),
    Task("What are the column names of data.csv?", r"(?s)name.*price.*qty", {"data.csv": CSV}),
    Task("What is the capital of France?", r"Paris", {}),
    Task(
        "How many rows has data.csv, and what is the sum of its price column?",
        rf"(?s)\b34\b.*{re.escape(f'{PRICES_SUM:.2f}'.rstrip('0'))}",
        {"data.csv": PRICES},
    ),
    Task("Which item in data.csv has the highest price?", r"thing33", {"data.csv": PRICES}),
    Task("Write the text 'hello world' into a file hello.txt.", "", {}, _says_hello),
    Task("mean([2, 4]) in stats.py gives 6 instead of 3. Fix it.", "", {"stats.py": BUGGY}, _mean_is_right),
    Task(
        "Which file mentions the word 'zebra'?",
        r"animals\.txt",
        {"animals.txt": "lion\nzebra\n", "plants.txt": "oak\n"},
    ),
    Task("How many lines has animals.txt?", r"\b3\b|three", {"animals.txt": "lion\nzebra\nape\n"}),
]


class Child:
    """One Python process that keeps its variables, as a kernel does."""

    PROGRAM = """
import ast, contextlib, io, json, sys, traceback
space, number = {"__name__": "__main__"}, 0
for line in sys.stdin:
    number += 1
    out = io.StringIO()
    head = f"ok [{number}]"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            tree = ast.parse(json.loads(line))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), space)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
                if value is not None:
                    print(repr(value))
        except BaseException as exc:
            head = f"error [{number}]: {type(exc).__name__}: {exc}"
            print(traceback.format_exc(limit=-2))
    sys.__stdout__.write(json.dumps(head + "\\n" + (out.getvalue() or "(no output)")) + "\\n")
    sys.__stdout__.flush()
"""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, code: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline() or '"dead: the kernel died"')

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class World:
    """Carries out the calls of one task; plain stand-ins for the product's tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.child = Child(folder)

    def carry_out(self, call: ModelCall) -> str:
        if call.arguments is None:
            return f"Not done: {call.fault}"
        try:
            return str(getattr(self, call.name)(**call.arguments))[:4000]
        except (OSError, TypeError, ValueError, subprocess.TimeoutExpired, re.error) as exc:
            return f"Not done: {exc}"

    def run_code(self, code: str) -> str:
        return self.child.run(code)

    def read_file(self, path: str, start_line: int = 1, end_line: int = 0) -> str:
        lines = (self.folder / path).read_text().splitlines()[start_line - 1 : end_line or None]
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start_line))

    def list_files(self, path: str = ".", pattern: str = "") -> str:
        (self.folder / path).stat()
        found = sorted((self.folder / path).rglob(pattern or "*"))
        return "\n".join(f"{one.relative_to(self.folder)}  {one.stat().st_size} bytes" for one in found) or "(nothing)"

    def search_files(self, pattern: str, path: str = ".") -> str:
        (self.folder / path).stat()
        hits = [
            f"{one.relative_to(self.folder)}:{number}: {line}"
            for one in sorted((self.folder / path).rglob("*"))
            if one.is_file()
            for number, line in enumerate(one.read_text().splitlines(), 1)
            if re.search(pattern, line)
        ]
        return "\n".join(hits) or "(nothing found)"

    def write_file(self, path: str, content: str) -> str:
        (self.folder / path).write_text(content)
        return f"Written: {path}"

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        text = (self.folder / path).read_text()
        if text.count(old_text) != 1:
            raise ValueError(f"old_text occurs {text.count(old_text)} times in {path}; it must occur exactly once")
        (self.folder / path).write_text(text.replace(old_text, new_text))
        return f"Edited: {path}"

    def run_shell(self, command: str, timeout_seconds: float = 20) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=min(timeout_seconds, 20)
        )
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


@dataclass
class Result:
    solved: bool
    valid: bool
    trace: list[str]
    tokens: int


async def attempt(model: ActionModel, task: Task) -> Result:
    """One task from its request to the answer, or to the last round."""
    trace: list[str] = []
    tokens, valid, answer = 0, True, ""
    specs = [tool.spec for tool in TOOLS.values()]
    session = new_session_id()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in task.files.items():
            (folder / path).write_text(content)
        world = World(folder)
        conversation = Conversation(RULES)
        now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        conversation.append({"role": "user", "content": f"{task.request}\n\n(Mode: auto. Time: {now}.)"})
        try:
            for _ in range(ROUNDS):
                async with model.stream(conversation, specs, session_id=session) as parts:
                    reply = [part async for part in parts][-1]
                assert isinstance(reply, Reply)
                tokens += reply.usage.completion_tokens or 0
                usage, took = reply.usage, reply.timings
                trace.append(
                    f"[{usage.prompt_tokens} prompt, {usage.cached_tokens} cached, {took.first_token:.1f}/{took.total:.1f} s]"
                )
                if not reply.calls:
                    answer = reply.text
                    trace.append(f"answer: {answer}")
                    break
                (call,) = reply.calls
                result = world.carry_out(call)
                trace.append(f"{call.name} {call.raw} → {result}")
                function = {"name": call.name, "arguments": call.raw}
                conversation.append(
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{"id": call.wire_id, "type": "function", "function": function}],
                    }
                )
                conversation.append({"role": "tool", "tool_call_id": call.wire_id, "content": result})
        except ModelError as exc:
            valid = False
            trace.append(f"{type(exc).__name__}: {exc}")
        finally:
            world.child.close()
        solved = bool(re.search(task.answer, answer)) and task.check(folder)
    return Result(solved, valid, trace, tokens)


@contextlib.asynccontextmanager
async def served(path: Path) -> AsyncIterator[Endpoint]:
    from jupyter_pernix.gpu.local import LocalServer

    async with LocalServer(path) as server:
        await server.wait_ready()
        yield Endpoint(server.base_url, key=server.key)


async def bench(model: ActionModel, only: str, verbose: bool) -> None:
    chosen = [task for task in TASKS if re.search(only, task.request)]
    solved = valid = 0
    began = time.monotonic()
    for task in chosen:
        started = time.monotonic()
        result = await attempt(model, task)
        solved += result.solved
        valid += result.valid
        mark = "solved" if result.solved else "FAILED"
        print(f"{mark} {time.monotonic() - started:5.1f} s {result.tokens:4d} tokens | {task.request}", flush=True)
        if verbose or not result.solved:
            print("\n".join(f"      {line[:600]!r}" for line in result.trace), flush=True)
    print(
        f"RESULT {model.name}: {solved} of {len(chosen)} solved, {valid} with valid actions, {time.monotonic() - began:.0f} s"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", nargs="?", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--model", default="local")
    parser.add_argument("--only", default="", help="regular expression: which tasks")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.url:
        endpoint = Endpoint(options.url)
        await bench(ActionModel(endpoint, name=options.model, endpoint_name="bench"), options.only, options.verbose)
        await endpoint.aclose()
        return
    async with served(options.gguf) as endpoint:
        await bench(ActionModel(endpoint, name=options.gguf.stem, endpoint_name="bench"), options.only, options.verbose)
        await endpoint.aclose()


if __name__ == "__main__":
    anyio.run(main)
