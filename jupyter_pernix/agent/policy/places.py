"""Places with a meaning of their own: where credentials are, what is too wide to be given, what makes something else run. Pure tables."""

import re

from .judgement import Effect

RUNS_LATER_FOLDERS: dict[str, str] = {
    ".git": "git runs hooks and programs named in it",
    ".pernix": "it configures this agent",
    ".github": "CI runs it",
    ".gitlab": "CI runs it",
    ".circleci": "CI runs it",
    ".husky": "git runs the hooks in it",
    ".githooks": "git runs the hooks in it",
    ".vscode": "the editor runs tasks in it",
    ".idea": "the editor runs tasks in it",
    ".zed": "the editor runs tasks in it",
    ".cursor": "the editor reads commands in it",
    ".claude": "another agent reads commands in it",
    ".codex": "another agent reads commands in it",
    ".gemini": "another agent reads commands in it",
    ".devcontainer": "the editor runs commands in it",
    ".ipython": "IPython runs it at every start",
    ".jupyter": "Jupyter runs it at every start",
    "kernels": "Jupyter starts kernels as it says",
}
"""Folder → why what is in it runs later. ``kernels`` only below a ``jupyter`` folder."""

RUNS_LATER_FILES: dict[str, str] = {
    **dict.fromkeys(
        (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
            ".envrc",
            ".xprofile",
            ".xsession",
            ".xinitrc",
        ),
        "the shell runs it at every start",
    ),
    **dict.fromkeys((".gitconfig", ".gitmodules", ".gitattributes"), "git runs programs named in it"),
    **dict.fromkeys((".mcp.json", "mcp.json"), "connectors are started as it says"),
    **dict.fromkeys(
        (
            ".gitlab-ci.yml",
            ".travis.yml",
            "azure-pipelines.yml",
            "jenkinsfile",
            "bitbucket-pipelines.yml",
            ".drone.yml",
        ),
        "CI runs it",
    ),
    **dict.fromkeys(
        ("sitecustomize.py", "usercustomize.py", ".pythonstartup", ".pythonrc", ".pythonrc.py"),
        "every Python that finds it runs it at its start",
    ),
    **dict.fromkeys(("conftest.py",), "pytest runs it"),
    **dict.fromkeys((".pre-commit-config.yaml", ".lefthook.yml", "lefthook.yml"), "git runs the hooks in it"),
    **dict.fromkeys((".exrc", ".vimrc", ".nvimrc", ".emacs", ".dir-locals.el", ".editorconfig"), "the editor reads it"),
    **dict.fromkeys((".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"), "package managers do what it says"),
    **dict.fromkeys(("pip.conf", ".condarc", ".pypirc"), "package managers do what it says"),
    **dict.fromkeys(("crontab",), "it is run by the clock"),
    "kernel.json": "Jupyter starts a kernel as it says",
    "overrides.json": "JupyterLab is configured by it",
}
"""File name (without case) → why it runs later: asked every time."""

STEERS_FILES: dict[str, str] = {
    **dict.fromkeys(
        ("makefile", "gnumakefile", "justfile", "taskfile.yml", "rakefile"), "its commands run when it is used"
    ),
    **dict.fromkeys(
        (
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "tox.ini",
            "noxfile.py",
            "package.json",
            "build.rs",
            "cmakelists.txt",
        ),
        "building or installing runs what it says",
    ),
    **dict.fromkeys(
        ("dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"),
        "containers run what it says",
    ),
    **dict.fromkeys(
        ("agents.md", "claude.md", "gemini.md", "soul.md", "rules.md", "sessions.md"), "agents take it as instructions"
    ),
    **dict.fromkeys(("jupyter_config.json", "jupyter_server_config.json"), "Jupyter is configured by it"),
}
"""File name (without case) → why it is asked about, once a session for the one file."""

_JUPYTER_CONFIG = re.compile(r"^(?:jupyter|ipython)_?[a-z_]*config\.(?:py|json)$|^(?:ipython|jupyter)_config\.d$")

SECRET_FOLDERS = frozenset(
    {
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".password-store",
        ".netrc.d",
        ".pki",
        ".vault",
        ".gcloud",
        ".oci",
    }
)
"""Anywhere in a path: what is in it are credentials."""

SECRET_BELOW_HOME = (
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/doctl",
    ".config/jupyter",
    ".local/share/jupyter",
    ".local/share/keyrings",
    ".jupyter",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface",
    ".kaggle",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".thunderbird",
    ".terraform.d",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
    "Library/Jupyter",
)

_SECRET_NAME = re.compile(
    r"^(?:\.env(?:\..+)?|\.envrc|\.netrc|_netrc|\.pgpass|\.my\.cnf|\.mylogin\.cnf|\.pypirc|\.npmrc|\.git-credentials|\.htpasswd|"
    r"\.(?:bash|zsh|python|psql|mysql|sqlite|node_repl|irb|lesshst|r)_?history|\.histfile|\.lesshst|\.viminfo|"
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_.*)?|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|ovpn)|"
    r"credentials?(?:\.(?:json|ya?ml|toml|ini|txt|csv))?|client_secrets?.*\.json|service[-_]?account.*\.json|"
    r"secrets?(?:\.(?:json|ya?ml|toml|ini|txt|env))|(?:api[-_]?)?tokens?\.(?:json|txt)|kubeconfig|shadow|gshadow|sudoers|master\.key)$",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"^\.env\.(?:example|sample|template|dist|defaults?)$", re.IGNORECASE)

SECRET_TREES = ("/etc", "/proc", "/sys", "/root", "/boot", "/run", "/var/run", "/dev", "/private/etc")
"""Outside of a space: never given. ``/dev/null`` and its like are judged before."""

TOO_WIDE = frozenset(
    {
        "/", "/home", "/Users", "/tmp", "/var", "/var/tmp", "/usr", "/opt", "/srv", "/mnt", "/media", "/bin", "/sbin", "/lib", "/lib64",
        "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/etc", "/dev/shm", "/private", "/private/tmp", "/Volumes", "/data",
    }
)  # fmt: skip
"""Folders that are never given whole."""

SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")
"""Everybody's folders: one file of them can be given, never a folder."""

SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/Library", "/System", "/Applications")
"""Outside of a space: the machine's own programs; never to be written."""

HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/full"})


SECRET_PATTERNS = (
    rf"/(?:{'|'.join(re.escape(name) for name in sorted(SECRET_FOLDERS))})/",
    rf"/(?!{_TEMPLATE.pattern[1:-1]}$)(?:{_SECRET_NAME.pattern[1:-1]})$",
)
"""Regular expressions, without case, for whole paths: as ``is_secret_name`` sees them."""


def runs_later(parts: tuple[str, ...]) -> str:
    """Why the file at ``parts`` (below the space, or of an absolute path) makes something run later; "" if it does not."""
    low = tuple(part.casefold() for part in parts)
    if not low:
        return ""
    for at, part in enumerate(low):
        if part in RUNS_LATER_FOLDERS and (part != "kernels" or "jupyter" in low[:at]):
            return RUNS_LATER_FOLDERS[part]
    for at in range(len(low) - 1):
        pair = low[at : at + 2]
        if pair in (
            (".config", "systemd"),
            (".config", "autostart"),
            ("library", "launchagents"),
            ("library", "launchdaemons"),
        ):
            return "the desktop or the system starts it"
        if pair in (("etc", "cron.d"), ("etc", "profile.d"), ("etc", "init.d"), ("etc", "systemd")):
            return "the system runs it"
    name = low[-1]
    if name in RUNS_LATER_FILES:
        return RUNS_LATER_FILES[name]
    if _JUPYTER_CONFIG.match(name):
        return "Jupyter or IPython runs it at every start"
    if name.endswith(".pth"):
        return "every Python that finds it runs it at its start"
    if name.endswith((".desktop", ".service", ".timer", ".plist")):
        return "the desktop or the system starts it"
    if name.endswith(".code-workspace"):
        return "the editor runs tasks in it"
    return ""


def steers(parts: tuple[str, ...]) -> str:
    """Why the file steers what others do when they use it; "" if it does not."""
    return STEERS_FILES.get(parts[-1].casefold(), "") if parts else ""


def is_secret_name(parts: tuple[str, ...]) -> bool:
    """Whether a path looks like one that holds credentials, by its names alone."""
    if any(part.casefold() in SECRET_FOLDERS for part in parts):
        return True
    return bool(parts) and bool(_SECRET_NAME.match(parts[-1])) and not _TEMPLATE.match(parts[-1])


def effects_of_write(later: str, *, outside: bool) -> tuple[Effect, ...]:
    found: list[Effect] = ["writes_outside" if outside else "writes_file"]
    if later:
        found.append("runs_later")
    return tuple(found)
