import json

import pytest

from jupyter_pernix.agent.tools.notebookview import notebook_text
from jupyter_pernix.errors import ToolFailed


def test_outputs_are_one_line_each_and_sources_are_whole() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "id": "m", "source": "# Title\n\nText"},
            {
                "cell_type": "code",
                "source": ["a = 1\n", "a"],
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": "x" * 5_000_000},
                    {"output_type": "execute_result", "data": {"text/plain": ["1"], "text/html": "<b>1</b>"}},
                    {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": []},
                ],
            },
            "no cell",
        ]
    }
    text = notebook_text(json.dumps(notebook).encode(), name="n.ipynb")

    assert text == (
        "--- cell 0: markdown id=m\n# Title\n\nText\n"
        "--- cell 1: code\na = 1\na\n"
        f"[output: stdout: {'x' * 200}… (5,000,000 characters)]\n"
        "[output: text/plain, text/html: 1]\n"
        "[output: KeyError: 'x']\n"
        "--- cell 2: damaged\n"
    )


def test_of_many_outputs_the_first_and_the_last_are_shown() -> None:
    outputs = [{"output_type": "stream", "name": "stdout", "text": f"line {number}\n"} for number in range(5000)]
    notebook = {"cells": [{"cell_type": "code", "source": "loop()", "outputs": outputs}]}
    assert notebook_text(json.dumps(notebook).encode(), name="n.ipynb").split("\n")[2:-1] == [
        *(f"[output: stdout: line {number}]" for number in range(4)),
        "[… 4,992 more outputs]",
        *(f"[output: stdout: line {number}]" for number in range(4996, 5000)),
    ]


@pytest.mark.parametrize("outputs", ["text", 3, {"a": 1}])
def test_outputs_that_are_no_list_are_said(outputs: object) -> None:
    notebook = {"cells": [{"cell_type": "code", "source": "x", "outputs": outputs}]}
    assert notebook_text(json.dumps(notebook).encode(), name="n.ipynb").endswith("[outputs: damaged]\n")


def test_a_byte_order_mark_does_no_harm() -> None:
    assert notebook_text(b'\xef\xbb\xbf{"cells": []}', name="n") == ""


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"worksheets": []}', b'{"cells": 3}', b"\xff\xfe"])
def test_what_is_no_notebook_is_refused(content: bytes) -> None:
    with pytest.raises(ToolFailed, match="It was not changed"):
        notebook_text(content, name="n.ipynb")
