"""Tools that reach containers, clusters, clouds and services: what reads is asked and may be remembered, all else is asked each time."""

import re
from collections.abc import Mapping
from dataclasses import replace

from ..parts import EXACT, Call, Finding
from .findings import JudgeCall, always, asks, path_words
from .options import parse, spec, word_set
from .tools import Tool, judge_tool, tool

_DOCKER_LIST = spec("a q s f: n: l all quiet size filter: format: last: latest no-trunc digests", "text")
_KUBE = """n: namespace: context: cluster: user: kubeconfig< v: o: output: l: selector: A all-namespaces w watch
    request-timeout: f< filename<
R recursive show-labels no-headers sort-by: field-selector: c: container: tail: since: p previous"""
_AWS = "profile: region: output: query: endpoint-url! no-cli-pager no-paginate color: no-sign-request debug ca-bundle< cli-read-timeout:"

REMOTES: Mapping[str, Tool] = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        tool(
            "D debug l: log-level: c! context! H! host! tls! config!",
            group_options="f: file: p: project-name: profile: env-file! project-directory: a all",
            groups="compose container image system volume network buildx builder context manifest plugin swarm stack service node secret",
            reads={
                "ps": _DOCKER_LIST,
                "images": _DOCKER_LIST,
                "container ls": _DOCKER_LIST,
                "image ls": _DOCKER_LIST,
                "version": spec("f: format:", "none"),
            },
            asked="""ps images version info logs inspect top stats port history diff build events search container/ls container/logs
            container/inspect container/top container/stats image/ls image/inspect image/history volume/ls volume/inspect network/ls
            network/inspect system/df system/info compose/up compose/build compose/ps compose/logs compose/config compose/images
            compose/top compose/port compose/version compose/ls compose/start compose/stop compose/restart compose/pull buildx/build
            buildx/ls start stop restart pause unpause wait tag""",
            fetches="pull image/pull",
            publishes="push login logout image/push compose/push stack swarm service node secret plugin commit import load save export",
            deletes="""rm rmi prune kill system/prune container/rm container/prune container/kill image/rm image/prune volume/rm
            volume/prune network/rm network/prune compose/down compose/rm compose/kill builder/prune buildx/prune buildx/rm""",
            opens="compose/exec compose/run container/exec container/run attach cp container/cp",
            bare=False,
        ),
    ),
    **dict.fromkeys(
        ("kubectl", "oc", "k"),
        tool(
            _KUBE + " s! server! token! as! as-group!",
            groups="config rollout auth",
            asked="""get describe logs top explain version api-resources api-versions cluster-info diff rollout/status rollout/history
            config/get-contexts config/current-context auth/can-i events""",
            deletes="delete drain",
            opens="exec attach cp port-forward proxy run debug config/view",
            bare=False,
        ),
    ),
    "helm": tool(
        "n: namespace: kube-context: kubeconfig< debug",
        groups="repo plugin get show dependency registry",
        asked="""list ls status history lint template version env search repo/list get/values get/manifest get/notes get/all show/chart
        show/values show/readme show/all verify""",
        deletes="uninstall delete del un",
        risky="post-renderer",
    ),
    "gh": tool(
        "R: repo: hostname:",
        groups="*",
        asked="""pr/view pr/list pr/status pr/diff pr/checks issue/view issue/list issue/status run/view run/list run/watch
        repo/view repo/list release/view release/list workflow/view workflow/list search/issues search/prs search/repos search/code
        search/commits label/list gist/view gist/list cache/list ruleset/list ruleset/view auth/status browse""",
        opens="alias extension auth/token api codespace",
        publishes="""pr/create pr/merge pr/close pr/comment pr/review pr/edit pr/ready issue/create issue/close issue/comment issue/edit
        issue/delete repo/delete repo/create repo/edit release/create release/delete release/upload secret variable workflow/run
        run/cancel run/rerun run/delete gist/create gist/edit gist/delete auth/login auth/logout ssh-key gpg-key label/create""",
    ),
    "glab": tool("R: repo:", groups="*", reading_verbs=True),
    "aws": tool(_AWS, groups="*", reading_verbs=True, asked="s3/ls", bare=True),
    "gcloud": tool("project: account: region: zone: format: filter: quiet q", groups="*", reading_verbs=True),
    "az": tool("o: output: query: subscription:", groups="*", reading_verbs=True),
    "doctl": tool("o: output: c:", groups="*", reading_verbs=True),
    "ibmcloud": tool("", groups="*", reading_verbs=True),
    **dict.fromkeys(
        ("gsutil", "s3cmd", "mc", "rclone", "bq"), tool("q m o:", asked="ls du stat cat show lsl lsd size")
    ),
    "vercel": tool("", asked="ls inspect logs whoami", bare=False, risky="prod"),
    "netlify": tool("", asked="status"),
    "heroku": tool("a: app:", asked="apps logs ps releases status"),
    "fly": tool("a:", asked="status logs"),
    "flyctl": tool("a:", asked="status logs"),
    "firebase": tool("", asked="projects:list"),
    "wrangler": tool("", asked="whoami tail"),
    "railway": tool("", asked="status logs"),
    "serverless": tool("", asked="info print"),
    "terraform": tool(
        "chdir~", asked="plan validate fmt version graph providers output show init get", groups="state workspace"
    ),
    "tofu": tool(
        "chdir~", asked="plan validate fmt version graph providers output show init get", groups="state workspace"
    ),
    "pulumi": tool("", asked="preview"),
    "ansible-playbook": tool("", asked=""),
    **dict.fromkeys(
        ("huggingface-cli", "hf"),
        tool(
            "",
            groups="repo repos cache auth lfs datasets models spaces jobs endpoints",
            asked="scan-cache version env cache/ls cache/scan models/ls datasets/ls auth/whoami whoami",
            fetches="download",
            publishes="upload upload-large-folder login logout auth/login auth/logout repo repos jobs endpoints",
            deletes="delete-cache cache/rm cache/prune repo-files tag",
        ),
    ),
    "kaggle": tool("", groups="*", reading_verbs=True),
    "modal": tool("", asked=""),
    "ray": tool("", asked="status"),
    "sky": tool("", asked="status"),
    "databricks": tool("", groups="*", reading_verbs=True),
    "ollama": tool("", asked="list ps show", fetches="pull run", publishes="push", deletes="rm"),
    "mlflow": tool("", groups="*", reading_verbs=True),
    "minikube": tool("", asked="status logs"),
    "vault": tool("", asked="status"),
}
_WORD_THAT_DESTROYS = re.compile(
    r"rm|rmdir|unlink|shred|dd|mkfs\S*|kill|pkill|killall|truncate|chmod|chown|sh|bash|zsh|mv|shutdown|reboot"
)
_SECRET = re.compile(r"(?i)secret|password|credential|access-?token|get-login|get-session-token|ssm|kms|print-.*token")
_DOCKER_REACHES = re.compile(
    r"-v.*|--volume.*|--mount.*|--privileged.*|--pid.*|--net.*|--ipc.*|--device.*|--cap-add.*|--security-opt.*|--userns.*|--env-file.*|"
    r"--volumes-from.*|--gpus.*|-e|--env|-p.*|--publish.*|-P"
)


_OF_THIS_MACHINE = word_set("docker podman nerdctl terraform tofu minikube ray mlflow ollama")


def judge_remote(call: Call, judge: JudgeCall) -> Finding:
    of = REMOTES[call.name]
    if call.name in ("docker", "podman", "nerdctl"):
        found = parse(of.options, call.args, to_first_operand=True)
        if found.operands[:1] in (["exec"], ["run"]) and not (found.unknown or found.starts):
            return _container(call, found.operands)
    if call.name == "gh" and call.args[:1] == ("api",):
        return _gh_api(call)
    if any(_SECRET.search(arg) for arg in call.args):
        return always(
            f"{call.name} may show or change a secret",
            "reads_secret",
            "network",
            grave=True,
            reads=path_words(call.args),
        )
    finding = judge_tool(call, of, judge)
    return replace(finding, grave=True) if finding.ruling == "ask" and call.name not in _OF_THIS_MACHINE else finding


def _container(call: Call, words: list[str]) -> Finding:
    reads = path_words(word for word in words if not word.startswith("/"))
    if any(_WORD_THAT_DESTROYS.fullmatch(word.rpartition("/")[2]) for word in words[1:]):
        return always(
            "This deletes or runs text in a container", "deletes", "runs_code_from_text", grave=True, reads=reads
        )
    if words[0] == "run" and any(_DOCKER_REACHES.fullmatch(word) for word in words[1:]):
        return always(
            "This container is given files, ports or rights of this machine", "privilege", grave=True, reads=reads
        )
    return asks(f"docker {words[0]} runs a program in a container", EXACT, grave=words[0] == "run", reads=reads)


def _gh_api(call: Call) -> Finding:
    plain = all(
        not arg.startswith("-")
        or arg in ("--paginate", "--jq", "-q", "-i", "--include", "--silent", "--cache", "-t", "--template")
        for arg in call.args[1:]
    )
    if not plain or "graphql" in call.args:
        return always(
            "This may change something at GitHub", "publishes", "network", grave=True, reads=path_words(call.args[2:])
        )
    return asks("This asks GitHub", EXACT, effects=("network",), grave=True)
