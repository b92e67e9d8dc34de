"""Programs of sed and awk are read for what they do by themselves."""

import pytest

from jupyter_pernix.agent.policy.shell.programs.sed import Script, read_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("p", Script()),
        ("1,5p;$!d", Script()),
        ("/a\\/b/,/c/{s/x/y/g;p}", Script()),
        ("s|/a|/b|gp", Script()),
        ("y/ab/cd/;=", Script()),
        ("a hello", Script()),
        ("w out", Script(writes=["out"])),
        ("1{2{w out\n}}", Script(writes=["out"])),
        ("s/a/b/w out", Script(writes=["out"])),
        ("s/a/b/gw /dev/stdout", Script()),
        ("s/a/b/;W out", Script(writes=["out"])),
        ("r in\nR in2", Script(reads=["in", "in2"])),
        ("e", Script(runs=True)),
        ("1e ls", Script(runs=True)),
        ("s/a/ls/e", Script(runs=True)),
        ("s/a/b/ge;p", Script(runs=True)),
        ("\\,a,w out", Script(writes=["out"])),
        ("a text\nw out", Script(writes=["out"])),
        ("a\\\ntext\nw out", Script(writes=["out"])),
        ("# w out\np", Script()),
        (":a;N;$!ba;s/\\n/ /g", Script()),
    ],
)
def test_sed_script_is_read(text: str, script: Script):
    assert read_script(text) == script


@pytest.mark.parametrize(
    "text",
    [
        "s/a/b",
        "s/[/]/x/",
        "s/a\nb/c/",
        "{p",
        "p}",
        "a x\\\\\nw out",
        "v 4",
        "s/a/b/q",
        "k",
        "1",
        "pw out",
        "w",
        "sxaxbx",
        "s\\a\\b\\",
    ],
)
def test_sed_script_that_cannot_be_read_for_certain_is_not_read(text: str):
    assert read_script(text) is None
