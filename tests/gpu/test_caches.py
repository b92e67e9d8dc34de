from pathlib import Path

import pytest

from jupyter_pernix.gpu.caches import find_gguf, usual_folders

GOOD = b"GGUF" + bytes(2000)


def put(path: Path, content: bytes = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_file_of_the_hugging_face_cache_is_found_once_under_its_name(tmp_path: Path) -> None:
    blob = put(tmp_path / "hub/models--a--b/blobs/abc")
    link = tmp_path / "hub/models--a--b/snapshots/123/m-q4.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    again = tmp_path / "hub/models--a--b/snapshots/456/m-q4.gguf"
    again.parent.mkdir(parents=True)
    again.symlink_to(blob)
    (found,) = find_gguf([tmp_path])
    assert (found.path.name, found.size, found.fault) == ("m-q4.gguf", len(GOOD), "")


def test_parts_are_one_model_and_a_missing_one_is_named(tmp_path: Path) -> None:
    put(tmp_path / "big-00001-of-00002.gguf")
    (found,) = find_gguf([tmp_path])
    assert found.fault == "its part big-00002-of-00002.gguf is missing"
    put(tmp_path / "big-00002-of-00002.gguf")
    (found,) = find_gguf([tmp_path])
    assert (found.fault, found.size) == ("", 2 * len(GOOD))


def test_projectors_and_other_files_are_no_models(tmp_path: Path) -> None:
    put(tmp_path / "mmproj-model.gguf")
    put(tmp_path / "readme.md")
    assert find_gguf([tmp_path, tmp_path / "nowhere"]) == []


def test_broken_file_is_listed_with_the_reason(tmp_path: Path) -> None:
    path = put(tmp_path / "m.gguf", b"<html>404</html>")
    (found,) = find_gguf([path])
    assert "web page" in found.fault


def test_the_walk_ends_in_a_very_deep_folder(tmp_path: Path) -> None:
    put(tmp_path.joinpath(*"abcdefghijklm") / "m.gguf")
    assert find_gguf([tmp_path]) == []


def test_usual_folders_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home/.cache/huggingface/hub", "home/.cache/llama.cpp", "home/.lmstudio/models", "elsewhere/hub"):
        (tmp_path / name).mkdir(parents=True)
    home = {"HOME": str(tmp_path / "home")}
    assert [path.name for path in usual_folders(home)] == ["hub", "llama.cpp", "models"]
    moved = usual_folders({**home, "HF_HOME": str(tmp_path / "elsewhere")})
    assert tmp_path / "elsewhere/hub" in moved
