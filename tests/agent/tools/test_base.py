from typing import Any

import pytest

from jupyter_pernix.agent.tools.base import Tool, schema_of
from jupyter_pernix.agent.tools.files import EditFile
from jupyter_pernix.agent.tools.registry import TOOLS, tool_named
from jupyter_pernix.errors import ToolRetry

TEXT_FIELDS = {
    "run_code": "code",
    "write_file": "content",
    "edit_file": "new_text",
    "edit_notebook": "source",
    "finish": "answer",
}


def test_the_tools_have_these_names_and_arguments() -> None:
    assert {name: list(tool.spec.parameters["properties"]) for name, tool in TOOLS.items()} == {
        "run_code": ["code"],
        "inspect_variables": ["names"],
        "read_file": ["path", "start_line", "end_line"],
        "list_files": ["path", "pattern"],
        "search_files": ["pattern", "path"],
        "write_file": ["path", "content"],
        "edit_file": ["path", "old_text", "new_text"],
        "read_notebook": ["path", "cells"],
        "edit_notebook": ["op", "path", "cell_id", "base", "behind", "cell_type", "source"],
        "run_cells": ["cell_ids", "path"],
        "run_shell": ["command", "timeout_seconds"],
        "finish": ["answer"],
    }


def test_a_schema_is_flat_and_complete() -> None:
    assert schema_of(EditFile) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path relative to the space's folder."},
            "old_text": {
                "type": "string",
                "description": "Text of the file to replace, exactly; it must occur once.",
            },
            "new_text": {"type": "string", "description": "What stands there afterwards."},
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_each_tool_describes_itself_and_names_its_long_text(tool: Tool[Any]) -> None:
    spec = tool.spec
    assert 20 < len(spec.description) < 150
    assert spec.text_field == TEXT_FIELDS.get(tool.name)
    assert all(
        schema["type"] in ("string", "integer", "number", "array") for schema in spec.parameters["properties"].values()
    )
    assert all("description" in schema for schema in spec.parameters["properties"].values())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "Object missing required field `path`"),
        ({"path": 3}, "Expected `str`, got `int` - at `$.path`"),
        ({"path": "a", "start_line": 0}, "Expected `int` >= 1 - at `$.start_line`"),
        ({"path": "a", "start_line": "two"}, "Expected `int`, got `str` - at `$.start_line`"),
        ({"path": "a", "lines": 3}, "Object contains unknown field `lines`"),
        ({"path": None}, "Expected `str`, got `null` - at `$.path`"),
    ],
)
def test_wrong_arguments_are_named_with_their_place(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(ToolRetry) as refused:
        TOOLS["read_file"].bind(arguments)
    assert str(refused.value) == (
        f"Not done: the arguments of read_file are wrong: {fault}. "
        "It takes: path (string), start_line (integer, optional), end_line (integer, optional)."
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a", "start_line": "2"},
        {"path": "a", "start_line": 2, "end_line": None},
        {"path": "a", "start_line": 2.0, "explanation": "to see it"},
    ],
)
def test_what_is_meant_without_doubt_is_taken(arguments: dict[str, Any]) -> None:
    assert TOOLS["read_file"].bind(arguments).key == TOOLS["read_file"].bind({"path": "a", "start_line": 2}).key


def test_a_title_is_one_short_line() -> None:
    title = TOOLS["run_code"].bind({"code": "x" * 1000}).intent.title
    assert title.startswith("Run code: xxx")
    assert len(title) == 120


@pytest.mark.parametrize(
    ("code", "begin"),
    [
        ("print(1)", "print(1)"),
        ("# the sum\nimport pandas as pd\n\ndf = pd.read_csv('a.csv')\ndf.sum()", "df = pd.read_csv('a.csv') …"),
        ("import pandas as pd\nimport numpy", "import pandas as pd …"),
        ("  \n", ""),
    ],
)
def test_code_is_named_by_the_first_line_that_says_something(code: str, begin: str) -> None:
    assert TOOLS["run_code"].bind({"code": code}).intent.title == f"Run code: {begin}".strip()


def test_an_unknown_tool_is_answered_with_the_names_that_there_are() -> None:
    with pytest.raises(ToolRetry) as refused:
        tool_named("python")
    assert str(refused.value) == (
        "Not done: there is no tool 'python'. The tools are: run_code, inspect_variables, read_file, list_files, search_files, "
        "write_file, edit_file, read_notebook, edit_notebook, run_cells, run_shell, finish."
    )
