"""Small tasks for small models, and how each is judged: by the answer that the user reads and the files that are there, nothing else."""

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CSV = "name,price,qty\n" + "".join(f"item{i},{i * 1.5},{i % 4}\n" for i in range(1, 13))
PRICES = "item,unit,price\n" + "".join(f"thing{i},kg,{3 + i * 0.37:.2f}\n" for i in range(34))
PRICES_SUM = sum(round(3 + i * 0.37, 2) for i in range(34))
BUGGY = "def mean(values):\n    return sum(values) / (len(values) - 1)\n"


@dataclass(frozen=True)
class Task:
    """``answer``: what the answer must match; "" when the files decide."""

    request: str
    answer: str = ""
    files: dict[str, str] = field(default_factory=lambda: {"data.csv": CSV})
    check: Callable[[Path], bool] = lambda folder: True

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        for path, content in self.files.items():
            (folder / path).write_text(content)

    def is_solved(self, answer: str, folder: Path) -> bool:
        return re.search(self.answer, answer, re.DOTALL) is not None and self.check(folder)


def _mean_is_right(folder: Path) -> bool:
    space: dict[str, object] = {}
    with contextlib.suppress(Exception):  # whatever the model left there
        exec((folder / "stats.py").read_text(), space)
        return space["mean"]([2, 4]) == 3  # type: ignore[operator]
    return False


def _says_hello(folder: Path) -> bool:
    found = folder / "hello.txt"
    return found.exists() and found.read_text().strip() == "hello world"


TEN = [
    Task("Use Python to compute 17*23.", r"\b391\b"),
    Task("How many rows has the CSV data.csv?", r"\b12\b"),
    Task("What is the sum of the column 'price' in data.csv?", r"\b117(\.0+)?\b"),
    Task("List the files in the current directory.", r"data\.csv"),
    Task("Compute the 20th Fibonacci number with Python.", r"\b(6,?765|4,?181)\b"),
    Task("Reverse the string 'pernix' with Python.", r"xinrep"),
    Task("What is the mean of 3, 8, 15 and 22? Use Python.", r"\b12(\.0+)?\b"),
    Task("Which year is it now? Use Python.", time.strftime(r"\b%Y\b", time.gmtime())),
    Task("What are the column names of data.csv?", r"name.*price.*qty"),
    Task("What is the capital of France?", r"Paris"),
]

MORE = [
    Task(
        "How many rows has data.csv, and what is the sum of its price column?",
        rf"\b34\b.*{re.escape(f'{PRICES_SUM:.2f}'.rstrip('0'))}",
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
    Task("How many lines has animals.txt?", r"\b3\b|[Tt]hree", {"animals.txt": "lion\nzebra\nape\n"}),
]
