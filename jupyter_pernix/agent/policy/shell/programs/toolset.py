"""Tools that build, test, install and run in the space."""

from collections.abc import Mapping

from .options import Spec, spec, word_set
from .tools import Tool, tool

_JS_LIST = spec("a l g depth: all json long parseable global omit: prod dev", "text")
_RUN = spec("q v quiet verbose")
_UV_RUN = spec(
    """p: q v n with: python: extra: group: all-extras no-dev dev all-groups only-group: no-group: isolated frozen locked no-sync active
    exact offline quiet verbose project< directory< package: no-project with-editable< with-requirements< index-url: no-cache refresh
    resolution: env-file! m! module! script! s! gui-script! no-config"""
)
_NPX = spec(
    "y p: q package: yes no quiet prefer-offline offline ignore-existing c! call! w: workspace: node-arg! n! shell!"
)
_UVX = spec(
    "p: q v from: with: python: quiet verbose offline isolated no-cache refresh index-url: env-file! with-editable< with-requirements<"
)
_CONDA_RUN = spec("n: p< name: prefix< no-capture-output live-stream v cwd<")

RUNNERS: Mapping[str, Spec] = {
    "npx": _NPX,
    "bunx": spec("bun silent verbose"),
    "pnpx": spec("package: silent c!"),
    "uvx": _UVX,
}
"""Programs that do nothing but run another one that they find or fetch."""

_PIP = tool(
    "q v quiet verbose disable-pip-version-check no-color no-input no-python-version-warning isolated require-virtualenv python! log>",
    groups="config cache",
    reads={
        "list": spec(
            "l e format: exclude: local editable not-required user include-editable exclude-editable v verbose",
            "text",
        ),
        "show": spec("f files v verbose", "text"),
        "freeze": spec("l all local user exclude: exclude-editable", "none"),
        "check": spec("", "none"),
    },
    fetches="install download wheel index search lock",
    asked="uninstall list show freeze check inspect hash debug config/list config/get config/debug cache/dir cache/info cache/list",
)

TOOLS: Mapping[str, Tool] = {
    "cargo": tool(
        "q v color: manifest-path< locked offline frozen config~ Z~",
        publishes="publish yank owner login logout",
        deletes="uninstall",
        cleans="clean",
        fetches="install add update fetch search",
        risky="config",
    ),
    "npm": tool(
        "s silent q quiet prefix< C< workspace: w: loglevel: workspaces no-color",
        reads={"ls": _JS_LIST, "list": _JS_LIST, "ll": _JS_LIST, "la": _JS_LIST},
        asked="""run run-script rum urn test t tst start stop restart build pack version rebuild prune dedupe init link unlink uninstall
        remove rm r un ls list outdated explain why view info show doctor fund root prefix bin query audit pkg""",
        fetches="install i ci add update up upgrade install-test it",
        publishes="publish unpublish deprecate dist-tag owner access token login adduser logout team hook star unstar profile org trust",
        runners={"exec": _NPX, "x": _NPX},
        risky="script-shell node-options",
    ),
    "yarn": tool(
        "s silent cwd< verbose",
        groups="npm workspace global",
        fetches="install add upgrade up dlx",
        publishes="publish login logout npm/publish npm/tag npm/login owner tag team unpublish",
        opens="config node",
        runners={"exec": _RUN, "dlx": spec("p: package: q quiet")},
        risky="script-shell",
    ),
    "pnpm": tool(
        "s r silent recursive C< dir< filter: F: w workspace-root",
        reads={"ls": _JS_LIST, "list": _JS_LIST},
        fetches="install i add update up fetch",
        publishes="publish login logout unpublish deprecate owner dist-tag",
        opens="config node env",
        runners={"exec": spec("r recursive c!"), "dlx": spec("package: silent c!")},
        risky="script-shell",
    ),
    "bun": tool(
        "silent",
        fetches="install i add update",
        publishes="publish",
        opens="repl",
        runners={"x": spec("bun silent")},
        risky="eval print preload require e p r",
    ),
    "deno": tool(
        "q quiet",
        fetches="install add cache",
        publishes="publish deploy",
        opens="eval repl jupyter",
        risky="eval require import",
    ),
    "pip": _PIP,
    "pip3": _PIP,
    "uv": tool(
        "q v quiet verbose offline no-cache project< directory< color: no-progress no-config",
        groups="pip tool python cache self venv",
        fetches="sync add lock pip/install pip/sync pip/compile tool/install tool/upgrade python/install build self/update",
        publishes="publish auth",
        deletes="cache/clean cache/prune tool/uninstall python/uninstall",
        runners={"run": _UV_RUN, "tool run": _UVX},
    ),
    "poetry": tool(
        "q v n quiet verbose no-interaction no-ansi C< directory< P< project<",
        groups="env cache config self source",
        fetches="install add update lock",
        publishes="publish",
        deletes="env/remove cache/clear",
        opens="config shell",
        runners={"run": spec("")},
    ),
    "pipenv": tool("", fetches="install update sync lock", deletes="--rm", runners={"run": spec("")}),
    "pdm": tool("q v", fetches="install add update sync lock", publishes="publish", runners={"run": spec("v s: p<")}),
    "hatch": tool(
        "q v e: env:", groups="env", publishes="publish", deletes="env/remove env/prune", runners={"run": spec("")}
    ),
    "rye": tool("", fetches="sync add lock", publishes="publish", runners={"run": _RUN}),
    "pixi": tool(
        "q v",
        fetches="install add update",
        publishes="upload auth",
        runners={"run": spec("e: q v environment: manifest-path<")},
    ),
    "pipx": tool(
        "",
        fetches="install upgrade inject",
        deletes="uninstall uninstall-all",
        runners={"run": spec("q v spec: python: no-cache")},
    ),
    "bundle": tool("", fetches="install update add", opens="config console", runners={"exec": spec("")}),
    "gem": tool(
        "", fetches="install update fetch", publishes="push yank owner signin signout", deletes="uninstall cleanup"
    ),
    "composer": tool("", fetches="install update require", runners={"exec": spec("")}),
    **dict.fromkeys(
        ("conda", "mamba", "micromamba"),
        tool(
            "q v",
            groups="env config",
            fetches="install create update search env/create env/update",
            deletes="remove uninstall clean env/remove",
            publishes="upload",
            opens="config",
            runners={"run": _CONDA_RUN},
        ),
    ),
    "go": tool(
        "C<",
        groups="mod work tool",
        fetches="get install mod/download mod/tidy",
        cleans="clean",
        opens="env telemetry",
        risky="vettool exec toolexec overlay modfile ldflags gcflags asmflags gccgoflags",
    ),
    "sbt": tool("", publishes="publish", opens="console", bare=False),
    "dotnet": tool("", groups="nuget tool", fetches="restore add", publishes="nuget/push nuget/delete", cleans="clean"),
    "rustup": tool(
        "q v", groups="toolchain component target", fetches="update install toolchain/install", deletes="self"
    ),
    "flutter": tool("", groups="pub", fetches="pub/get", publishes="pub/publish"),
    "mix": tool("", publishes="hex.publish", opens="run"),
    "jupyter": tool(
        "",
        groups="kernelspec labextension server nbextension serverextension",
        opens="""console qtconsole run trust server kernelspec/install kernelspec/remove kernelspec/uninstall kernelspec/install-self
        labextension/install labextension/develop labextension/link labextension/enable labextension/disable labextension/uninstall
        nbextension serverextension migrate""",
        risky="generate-config",
    ),
    "ruff": tool("q v config~", groups="", asked=None),
    "pre-commit": tool("", fetches="autoupdate install-hooks", opens="install uninstall init-templatedir"),
    "docker-compose": tool(
        "f< p: file< project-name: profile: env-file<",
        asked="up build ps logs config images top port version start stop restart pull",
        deletes="down rm kill",
        opens="exec run cp",
    ),
    **dict.fromkeys(
        ("apt", "apt-get", "aptitude"), tool("q y", asked="list show search policy", fetches="", publishes="")
    ),
    **dict.fromkeys(
        ("brew", "dnf", "yum", "pacman", "apk", "zypper", "snap", "flatpak", "port", "nix"),
        tool("q y", asked="list info search"),
    ),
    "dvc": tool(
        "q v",
        asked="status diff dag metrics params plots list repro stage add",
        fetches="pull fetch",
        publishes="push gc remote destroy",
    ),
    "wandb": tool("", asked="status offline online", publishes="sync login logout launch agent sweep artifact server"),
    "hg": tool(
        "R< cwd<", publishes="push email", deletes="purge strip rollback update revert", risky="config debugger ssh"
    ),
    "svn": tool(
        "",
        publishes="commit ci copy cp mkdir import lock unlock propset ps",
        deletes="delete rm remove revert",
        risky="diff-cmd config",
    ),
    "jj": tool("", groups="git", publishes="git/push", deletes="abandon restore undo", risky="config"),
    "twine": tool("", asked="check", publishes="upload register"),
    "tox": tool("q v e: p:", asked=None),
    "nox": tool("", asked=None),
    "cmake": tool("", asked=None, risky="E P"),
    "man": tool("", asked=None, risky="P H pager html"),
    "meson": tool("", asked=None),
    "bazel": tool("", asked="build test query info version", cleans="clean", risky="run_under", opens="run"),
}

PLAIN_TOOLS = word_set("""pytest py.test tsc eslint prettier mypy pyright black isort flake8 pylint bandit jest
    vitest mocha vite webpack rollup esbuild
    shellcheck shfmt clang-format clang-tidy gcc g++ cc c++ clang clang++ rustc javac gofmt golangci-lint rustfmt sphinx-build mkdocs
    coverage pandoc pdflatex latexmk convert magick ffmpeg ffprobe gunzip bunzip2 unxz less more most info top htop vmstat iostat
    lsof ss netstat watchman ldd nm objdump readelf size otool pyflakes autopep8 yapf codespell markdownlint stylelint biome oxlint
    ctest nbstripout papermill jupytext nbqa vulture radon tokei cloc scc hadolint yamllint jsonlint xmllint dot graphviz d2 mmdc
    pydocstyle pip-compile pip-audit safety interrogate sqlfluff djlint tflint actionlint protoc buf thrift playwright cypress""")
"""They work on files of the space, or run its code, and may be remembered under their name."""
