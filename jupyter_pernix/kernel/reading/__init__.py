"""Reading notebooks that are odd or broken, in front of nbformat, and writing them back with a small diff.

``read_notebook`` gives a ``Reading``: opened, repaired (its notes say what was odd and how it is read) or refused (and why). Reading
never writes. ``save_bytes`` makes the file's bytes of an edited notebook, ``saving_changes`` says what that changes beside the edits.
"""

from .pairs import pair_left_behind, pair_note, paired_files, read_file
from .reader import read_notebook
from .rescue import rescue
from .result import Note, Outcome, Reading, Refusal
from .saving import save_bytes, saving_changes
from .using import (
    InstalledKernel,
    KernelChoice,
    Parameter,
    choose_kernel,
    parameters,
    source_to_run,
    with_parameters,
)

__all__ = [
    "InstalledKernel",
    "KernelChoice",
    "Note",
    "Outcome",
    "Parameter",
    "Reading",
    "Refusal",
    "choose_kernel",
    "pair_left_behind",
    "pair_note",
    "paired_files",
    "parameters",
    "read_file",
    "read_notebook",
    "rescue",
    "save_bytes",
    "saving_changes",
    "source_to_run",
    "with_parameters",
]
