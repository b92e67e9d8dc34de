"""What a notebook says about its kernel and language, and how code in that language looks. Pure."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..records import JSON

_SLASH_COMMENTS = {
    "javascript",
    "typescript",
    "c++",
    "c",
    "java",
    "scala",
    "kotlin",
    "go",
    "rust",
    "c#",
    "f#",
    "groovy",
}
TO_FOLDER = {
    "python": 'import os\nif os.path.basename(os.getcwd()) == {folder}:\n    os.chdir({up})\ndel os',
    "bash": 'case "$PWD" in */{plain}) cd {up} ;; esac',
    "r": "if (basename(getwd()) == {folder}) setwd({up})",
    "julia": "basename(pwd()) == {folder} && cd({up})",
}  # fmt: skip
"""Code that goes from the folder named ``folder`` to ``up``; both are texts in double quotes, ``plain`` is the name for a pattern."""

_INFOS: Mapping[str, JSON] = {
    "python": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    },
    "bash": {"codemirror_mode": "shell", "file_extension": ".sh", "mimetype": "text/x-sh", "name": "bash"},
    "r": {
        "codemirror_mode": "r",
        "file_extension": ".r",
        "mimetype": "text/x-r-source",
        "name": "R",
        "pygments_lexer": "r",
    },
    "julia": {"file_extension": ".jl", "mimetype": "application/julia", "name": "julia"},
}
"""What kernels of these languages say about themselves, as far as it is alike for all."""


@dataclass(frozen=True, kw_only=True)
class KernelIdentity:
    """What a notebook's ``kernelspec`` says; ``language`` in lower case. ``info``: the ``language_info`` that the kernel itself gave,
    empty when it was not asked. JupyterLab leaves a notebook as it is only if that is what its kernel says."""

    name: str
    display_name: str
    language: str
    info: JSON = field(default_factory=dict[str, Any])

    @property
    def kernelspec(self) -> JSON:
        return {"name": self.name, "display_name": self.display_name, "language": self.language}

    @property
    def language_info(self) -> JSON:
        """With a name in any case, which nbformat asks for."""
        likely = dict(_INFOS.get(self.language, {"name": self.language}))
        return self.info if isinstance(self.info.get("name"), str) else likely

    @property
    def comment(self) -> str:
        """What begins a comment line."""
        return "//" if self.language in _SLASH_COMMENTS else "#"


def identity_of(kernel_name: str) -> KernelIdentity:
    """A likely identity for a kernel of which only the name is known."""
    name = kernel_name or "python3"
    languages = {"ir": "r", "bash": "bash"}
    language = languages.get(name) or ("julia" if name.startswith("julia") else "python")
    display = "Python 3 (ipykernel)" if name == "python3" else name
    return KernelIdentity(name=name, display_name=display, language=language)
