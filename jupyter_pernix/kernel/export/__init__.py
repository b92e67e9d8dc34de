"""Notebooks as pages and as text: one file each, in which nothing runs and which fetches nothing. They get a notebook whose texts are in
one piece (``run_notebook``, or ``reading.read_notebook``) and say what a reader sees who has neither Jupyter nor a kernel."""

from .as_html import html_page
from .as_markdown import markdown_text

__all__ = ["html_page", "markdown_text"]
