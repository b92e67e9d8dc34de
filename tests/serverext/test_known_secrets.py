"""What the server knows to be secret: its keys, its environment, and files that hold secrets by their name."""

import os
from pathlib import Path

import pytest

from jupyter_pernix.serverext.known_secrets import KnownSecrets, from_credentials, from_dotenv, from_environment


@pytest.mark.parametrize(
    ("environ", "secrets"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7"}, {"wJalrXUtnFEMI/K7"}),
        ({"GITHUB_TOKEN": "ghp_1234567890"}, {"ghp_1234567890"}),
        ({"DATABASE_URL": "postgres://me:hunt%2Fer22@db/x"}, {"hunt%2Fer22", "hunt/er22"}),
        ({"SSH_KEY": "/home/me/.ssh/id", "API_TOKEN": "12345678", "DB_PASSWORD": "password"}, set[str]()),
        ({"MAX_TOKENS": "abc12345", "HOME": "/home/abc12345", "API_KEY": "short1"}, set[str]()),
    ],
)
def test_values_count_by_their_name_unless_they_tell_nothing(environ: dict[str, str], secrets: set[str]):
    assert from_environment(environ) == secrets


def test_a_dotenv_file_is_read_as_such_files_are_written():
    text = "# x\nexport DB_PASSWORD='p&ss w0rd!'\r\nAPI_KEY=abc-123-def # theirs\nDEBUG=1\nTOKEN = \"t0k-en-1\"\nnonsense\n"
    assert from_dotenv(text) == {"p&ss w0rd!", "abc-123-def", "t0k-en-1"}


def test_credentials_of_netrc_and_git_are_known():
    assert from_credentials("machine h login me\n  password s3cret-pw1\nhttps://me:ghp_99887766@github.com\n") == {
        "s3cret-pw1",
        "ghp_99887766",
    }


def test_what_a_watched_file_holds_is_masked_also_after_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jupyter_pernix.serverext.known_secrets._LOOK_AGAIN", 0.0)
    known = KnownSecrets(home=tmp_path)
    known.watch(tmp_path)
    assert known.masker.text("it is p&ss-w0rd") == "it is p&ss-w0rd"
    (tmp_path / ".env").write_text("DB_PASSWORD=p&ss-w0rd\n")
    (tmp_path / ".netrc").write_text("machine h login me password n3t-rc-pw\n")
    assert known.masker.text("p&ss-w0rd n3t-rc-pw") == "••••(known) ••••(known)"
    (tmp_path / ".env").write_text("DB_PASSWORD=an0ther-one!\n")
    os.utime(tmp_path / ".env", ns=(1, 1))
    assert known.masker.text("p&ss-w0rd an0ther-one!") == "••••(known) ••••(known)"


def test_the_masker_is_made_anew_only_when_another_value_is_known():
    values = {"first-value-1"}
    known = KnownSecrets(lambda: values)
    masker = known.masker
    assert known.masker is masker
    values.add("second-value-2")
    assert known.masker.text("second-value-2") == "••••(known)"


def test_a_file_that_cannot_be_read_holds_nothing(tmp_path: Path):
    (tmp_path / ".env").mkdir()
    known = KnownSecrets()
    known.watch(tmp_path)
    assert known.now() == set()
