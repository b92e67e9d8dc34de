"""What a command line would do, told before it runs: read as bash reads it, judged program by program, failing closed."""

from .line import judge_line

__all__ = ["judge_line"]
