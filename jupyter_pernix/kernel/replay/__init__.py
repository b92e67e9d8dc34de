"""Running a notebook again in a fresh kernel, without any model, and comparing what comes of it with what stands there.

``comparing`` is pure: outputs → the same, or what differs. ``running`` carries a replay out. ``edits`` applies the changes of files that
a run notebook records. ``report`` says what came of it.
"""

from .comparing import compare_outputs
from .edits import FileEdit, recorded_edits
from .report import CellReport, EditReport, ReplayReport, cell_lines, edit_line, exit_code, summary_line
from .running import Replay

__all__ = [
    "CellReport",
    "EditReport",
    "FileEdit",
    "Replay",
    "ReplayReport",
    "cell_lines",
    "compare_outputs",
    "edit_line",
    "exit_code",
    "recorded_edits",
    "summary_line",
]
