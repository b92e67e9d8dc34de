"""The tools of an agent, in the order in which the model is told of them."""

import difflib
from collections.abc import Mapping
from typing import Any

from ...errors import ToolRetry
from ...records import JSON
from ..guards import call_key
from . import cells, files, finish, notebook_edit, notebook_read, notebook_run, search, shell, variables
from .base import Tool

TOOLS: Mapping[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        cells.TOOL,
        variables.TOOL,
        files.READ,
        search.LIST,
        search.SEARCH,
        files.WRITE,
        files.EDIT,
        notebook_read.TOOL,
        notebook_edit.TOOL,
        notebook_run.TOOL,
        shell.TOOL,
        finish.TOOL,
    )
}


IN_NOTEBOOKS = frozenset({notebook_read.TOOL.name, notebook_edit.TOOL.name, notebook_run.TOOL.name})
"""Those for the cells of notebooks."""


def tool_named(name: str, tools: Mapping[str, Tool[Any]] = TOOLS) -> Tool[Any]:
    """:raises ToolRetry: if there is none, with the names that there are"""
    tool = tools.get(name)
    if tool is None:
        near = difflib.get_close_matches(name, tools, n=1)
        advice = f" Did you mean {near[0]!r}?" if near else ""
        raise ToolRetry(f"Not done: there is no tool {name!r}.{advice} The tools are: {', '.join(tools)}.")
    return tool


def key_of(name: str, arguments: JSON, tools: Mapping[str, Tool[Any]] = TOOLS) -> str:
    """The key of a call as it was asked for: equal to ``Bound.key`` where the arguments can be bound."""
    try:
        return tool_named(name, tools).bind(arguments).key
    except ToolRetry:
        return call_key(name, arguments)
