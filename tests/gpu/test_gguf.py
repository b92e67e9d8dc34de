import struct
from pathlib import Path

import pytest

from jupyter_pernix.gpu.gguf import BrokenGguf, read_head


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(*, tensor_at: int = 0, data: int = 4096) -> bytes:
    pairs = [
        text("general.architecture") + struct.pack("<I", 8) + text("qwen2"),
        text("general.name") + struct.pack("<I", 8) + text("A Model"),
        text("qwen2.context_length") + struct.pack("<II", 4, 32768),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("tokenizer.ggml.types") + struct.pack("<IIQ", 9, 5, 2) + struct.pack("<ii", 1, 1),
        text("some.float") + struct.pack("<If", 6, 1.5),
    ]
    tensor = text("output.weight") + struct.pack("<IQQIQ", 2, 32, 32, 0, tensor_at)
    return b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs)) + b"".join(pairs) + tensor + bytes(data)


def test_head_of_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf())
    head = read_head(path)
    assert (head.architecture, head.name, head.context_length) == ("qwen2", "A Model", 32768)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello", "does not begin as a GGUF"),
        (b"<!doctype html><title>Not found</title>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (b"GGUF", "too short"),
        (gguf(tensor_at=10_000_000), "cut off: at least 10 MB are missing"),
        (gguf()[:120] + bytes(0), "too short"),
        (b"GGUF" + struct.pack("<IQQ", 3, 5, 5) + bytes([255]) * 4000, "makes no sense"),
        (b"GGUF" + struct.pack("<IQQ", 9, 1, 1) + bytes(4000), "version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 400, 400) + bytes(4000), "cut off"),
    ],
)
def test_broken_file_is_named_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(BrokenGguf, match=reason):
        read_head(path)
