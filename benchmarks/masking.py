"""What it costs to mask secrets in text that holds none: CPU milliseconds for each 10,000 characters, and for 10 MB in pieces.

    python benchmarks/masking.py [--rounds 30] [--known 20]

The texts are what tools bring back most: prose in long lines, a training log, source code, base64, numbers. The last line is a side
file of 10 MB as a kernel's output fills it, in pieces of 64 KB.
"""

import argparse
import random
import secrets
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from jupyter_pernix.masking import BytePieces, Masker

LENGTH = 10_000
CHANCE = random.Random(1)


def texts() -> dict[str, str]:
    log = (
        f"2026-01-0{step % 9} INFO step={step} loss={step / 7:.4f} lr=1e-4 key={step} tokens/s: {step * 3} url=http://a.b/c?x={step}"
        for step in range(200)
    )
    return {
        "long lines": ("x" * 1023 + "\n") * 10,
        "log": "\n".join(log),
        "code": Path(__file__).with_name("kernel_overhead.py").read_text() * 2,
        "base64": "".join(CHANCE.choices("ABCDEFGHIJKLabcdefghijkl0123456789+/", k=LENGTH)),
        "numbers": " ".join(f"{CHANCE.random():.4f}" for _ in range(2000)),
    }


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Median CPU time of one call."""
    taken: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


def in_pieces(masker: Masker, raw: bytes) -> int:
    pieces = BytePieces(masker)
    size = sum(len(pieces.add(raw[at : at + 65_536])) for at in range(0, len(raw), 65_536))
    return size + len(pieces.rest())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--known", type=int, default=20, help="values that are known to be secret")
    given = parser.parse_args()
    masker = Masker(secrets.token_urlsafe(30) for _ in range(given.known))
    for name, text in texts().items():
        cut = text[:LENGTH]
        taken = milliseconds(lambda cut=cut: masker.text(cut), given.rounds)
        print(f"{name:12} {taken * LENGTH / len(cut):6.2f} ms for each 10,000 characters")
    raw = (("x" * 1023 + "\n") * 10_240).encode()
    assert in_pieces(masker, raw) == len(raw)
    print(f"{'10 MB':12} {milliseconds(lambda: in_pieces(masker, raw), 3):6.0f} ms in pieces of 64 KB")


if __name__ == "__main__":
    main()
