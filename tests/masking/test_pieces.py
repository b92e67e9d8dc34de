"""A secret is masked however the text that holds it is cut, and what is none does not wait."""

import random

import pytest

from jupyter_pernix.fold import apply_output
from jupyter_pernix.masking import MARK, BytePieces, Masker, OutputPieces, Pieces
from jupyter_pernix.records import JSON, OutputOp

KNOWN = "tr0ub4dor&3-zz"
ISSUED = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "-----BEGIN PRIVATE KEY-----\n" + "\n".join("Ab3" * 20 for _ in range(12)) + "\n-----END PRIVATE KEY-----\n"
MASKER = Masker([KNOWN])
CHANCE = random.Random(5)
TEXTS = {
    "known": f"it is {KNOWN}!\nnext\n",
    "issued": f"token here: {ISSUED} and on\n",
    "named": f"x\nAWS_SECRET_ACCESS_KEY={ISSUED[4:]}\ny\n",
    "quoted": f'password = "{KNOWN}x"\nrest',
    "bearer": f"Authorization: Bearer {ISSUED[5:]}\nok\n",
    "address": "postgres://me:hunter22x@db.example.org/x\n",
    "key": f"here\n{KEY}there\n",
    "at the end": f"last {ISSUED}",
}


def cuts(text: str, kind: str) -> list[str]:
    if kind == "characters":
        return list(text)
    places = sorted(CHANCE.sample(range(len(text)), 4))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def folded(pieces: list[str]) -> tuple[str, list[str]]:
    """The text as a reader has it in the end, and all that was told on the way."""
    masked, text, told = Pieces(MASKER), "", list[str]()
    for piece in [*(masked.add(piece) for piece in pieces), masked.rest()]:
        text = text[: len(text) - piece.back] + piece.text
        told.append(piece.text)
    return text, told


@pytest.mark.parametrize("cut", ["characters", *range(8)])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_pieces_together_are_the_text_masked_at_once(text: str, cut: str | int):
    whole, told = folded(cuts(text, str(cut)))
    assert whole == MASKER.text(text)
    assert MARK in whole
    shown = "".join(told)
    assert all(secret not in shown for secret in (KNOWN, ISSUED, ISSUED[5:], "hunter22x", "Ab3" * 20))


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 1/10  45%|████      | 45/100 [00:01<00:01, loss=0.53, tokens=1024",
        "tokens/s: 123.4",
        "step 5 auth: 12",
        "Downloading model.safetensors:  12%",
        "Continue? [y/n] ",
        "http://localhost:8888",
        "key",
    ],
)
def test_what_is_no_secret_does_not_wait(text: str):
    assert Pieces(MASKER).add(text).text == text


def test_a_prompt_that_names_a_secret_does_not_wait():
    assert Pieces(MASKER).add("Password: ").text == "Password: "


def test_no_more_than_a_bounded_part_is_held_back():
    pieces = Pieces(MASKER)
    told = sum(len(pieces.add("sk-" + "x" * 997).text) for _ in range(100))
    assert told > 50_000


def test_a_file_in_pieces_holds_no_secret_and_keeps_its_bytes():
    raw = b"\xff\xfe not text \xf0\x9f\x98\x80\n" + f"k {ISSUED}\n".encode() + b"\r\nend \xe2\x82"
    masked = BytePieces(MASKER)
    written = b"".join([masked.add(raw[at : at + 1]) for at in range(len(raw))]) + masked.rest()
    assert written == raw.replace(ISSUED.encode(), f"{MARK}(github-token)".encode())


def test_outputs_keep_their_places_and_hold_no_secret():
    steps = [
        OutputOp(op="append", index=0, output={"output_type": "stream", "name": "stdout", "text": f"a {ISSUED[:20]}"}),
        OutputOp(op="extend", index=0, text=f"{ISSUED[20:]} b ghp_a1"),
        OutputOp(op="append", index=1, output={"output_type": "stream", "name": "stderr", "text": KNOWN[:5]}),
        OutputOp(op="extend", index=1, text=KNOWN[5:] + "\n"),
        OutputOp(
            op="append",
            index=2,
            output={"output_type": "error", "ename": "E", "evalue": KNOWN, "traceback": [f"E: {KNOWN}"]},
        ),
        OutputOp(
            op="replace", index=1, output={"output_type": "stream", "name": "stderr", "text": f"again {ISSUED}\n"}
        ),
    ]
    masked, outputs = OutputPieces(MASKER), list[JSON]()
    for step in steps:
        for told in masked.take(step, outputs):
            apply_output(outputs, told)
    for told in masked.rest(outputs):
        apply_output(outputs, told)
    assert outputs == [
        {"output_type": "stream", "name": "stdout", "text": f"a {MARK}(github-token) b ghp_a1"},
        {"output_type": "stream", "name": "stderr", "text": f"again {MARK}(github-token)\n"},
        {"output_type": "error", "ename": "E", "evalue": f"{MARK}(known)", "traceback": [f"E: {MARK}(known)"]},
    ]
