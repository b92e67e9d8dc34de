"""Programs that reach over the network: a plain fetch from this machine reads, a plain fetch from elsewhere may be remembered."""

import re
from urllib.parse import urlsplit

from ..parts import EXACT, Call, Finding
from .findings import always, asks, only_reads, path_words
from .options import Parsed, parse, spec, word_set

_CURL = spec(
    """s S f i I v g 4 6 0 # N L l a~ w: o> O~ m: H: A: e: X: d: F: T! K! u! b! c> x! r: y: Y: z: C: D> E! U! Q! t: P! k~ n! R: G
    silent show-error fail fail-with-body fail-early include head verbose globoff ipv4 ipv6 http1.0 http1.1 http2 no-buffer location
    no-progress-meter progress-bar write-out: output> remote-name~ remote-name-all~ max-time: connect-timeout: header: user-agent:
    referer: request: data: data-ascii: data-binary: data-raw: data-urlencode: json: form: form-string: get compressed tcp-nodelay
    retry: retry-delay: retry-max-time: retry-connrefused retry-all-errors range: max-filesize: url: create-dirs~ output-dir> stderr>
    dump-header> insecure~ no-keepalive keepalive-time: limit-rate: max-redirs: time-cond: path-as-is compressed-ssh tr-encoding
    upload-file! config! user! cookie! cookie-jar! proxy! preproxy! connect-to! resolve! unix-socket! abstract-unix-socket! cert! key!
    netrc! netrc-file! netrc-optional! oauth2-bearer! interface! dns-servers! doh-url! socks5! socks4! socks4a! socks5-hostname! engine!
    trace! trace-ascii! libcurl! quote! ftp-port! proxy-user! proxy-header! aws-sigv4! next! location-trusted! parallel! variable!
    expand-output! expand-data! expand-url! etag-save! hsts! alt-svc! capath! cacert!""",
    "text",
)
_SENDS = ("-d", "-F", "-X", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--form", "--form-string",
          "--request")  # fmt: skip
_LOCAL_HOST = re.compile(r"localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|::1")
_JUPYTER_PORTS = range(8888, 8900)
_HIDING_HEADER = re.compile(r"(?i)\s*(?:authorization|cookie|x-xsrftoken|host|proxy-\S+)\s*:|@")
_TOKEN = re.compile(r"(?i)token=|key=|password=|secret=")
_TRANSFERS = word_set("scp sftp rsync rclone ftp lftp tftp ncftp aria2c axel")
_OPENS = word_set(
    "nc ncat netcat socat telnet ssh mosh autossh sshuttle ngrok cloudflared localtunnel lt nmap masscan tcpdump openssl"
)
_ASKED = word_set(
    "ping ping6 dig nslookup host traceroute tracepath mtr whois http https xh httpie wget wget2 yt-dlp youtube-dl gdown"
)

NETWORK = _TRANSFERS | _OPENS | _ASKED | {"curl", "sendmail", "mail", "mailx", "mutt", "msmtp"}


def judge_network(call: Call) -> Finding:
    name, paths = call.name, path_words(call.args)
    if name == "curl":
        return _curl(call)
    if name in ("wget", "wget2"):
        return _wget(call)
    if name in ("ping", "ping6", "dig", "nslookup", "host", "traceroute", "tracepath", "whois"):
        plain = not any(re.match(r"-[fFkIb]|--|@", arg) and arg != "--" for arg in call.args)
        why = f"{name} sends a name or a packet out over the network"
        return asks(why, name if plain else EXACT, effects=("network",), grave=True, reads=paths)
    if name in _ASKED:
        return asks(f"{name} fetches over the network", EXACT, effects=("network",), grave=True, reads=paths)
    if name in _OPENS and name != "openssl":
        return always(f"{name} opens a connection through which anything can go", "network", grave=True, reads=paths)
    if name == "openssl":
        return asks("openssl runs", EXACT, reads=paths, grave="s_client" in call.args or "s_server" in call.args)
    if name in _TRANSFERS:
        local = name == "rsync" and not any(":" in arg for arg in call.args)
        effects = ("writes_file", "deletes") if local else ("network", "publishes")
        why = "rsync copies, and may delete or run a program" if local else f"{name} copies to or from another machine"
        return always(
            why, *effects, grave=True, reads=paths, writes=[arg for arg in call.args[-1:] if not arg.startswith("-")]
        )
    return always(f"{name} sends something away", "network", "publishes", grave=True, reads=paths)


def _curl(call: Call) -> Finding:
    found = parse(_CURL, call.args)
    urls = [*found.operands, *(value or "" for option, value in found.given if option == "--url")]
    local = bool(urls) and all(_is_local(url) for url in urls)
    paths = [word for word in path_words(call.args) if word not in urls]
    if found.starts or (found.unknown and not found.starts):
        why = f"{found.starts or found.unknown} of curl sends something, takes a way of its own or is not known"
        return always(why, "network", grave=True, reads=paths, writes=found.writes)
    jupyter = any(_is_jupyter(url) for url in urls)
    writes = [name for name in found.writes if name not in ("/dev/null", "-")]
    sent = [value.partition("@")[2] for option, value in found.given if option in _SENDS and value and "@" in value]
    hidden = [
        value for option, value in found.given if option in ("-H", "--header") and value and _HIDING_HEADER.match(value)
    ]
    if jupyter:
        return always(
            "The Jupyter server itself may listen here: it runs code and serves files",
            "network",
            "runs_code_from_text",
            grave=True,
            reads=sent,
        )
    if hidden or any(not _is_web(url) for url in urls) or not urls:
        return always(
            "curl is given a secret, a file or no plain web address", "network", grave=True, reads=[*paths, *sent]
        )
    told = [value for option, value in found.given if option in ("-w", "--write-out") and value]
    if any(value.startswith("@") or "%output" in value for value in told) or any(_TOKEN.search(url) for url in urls):
        return always(
            "curl reads or writes a file by its format, or is given a token", "network", "reads_secret", grave=True
        )
    if found.has(*_SENDS) or found.follows or writes:
        why = "curl sends data or writes a file here"
        return asks(why, EXACT, effects=("network", "writes_file"), grave=True, reads=sent, writes=writes)
    if local and not found.has("-L", "--location") and not any("?" in url for url in urls):
        # what stands behind a `?` is sent, and what listens here may pass it on
        return only_reads("curl from this machine")
    return asks("curl fetches over the network", "curl", effects=("network",), grave=True)


def _is_web(url: str) -> bool:
    return not re.match(r"(?i)(?!https?:)[a-z][a-z0-9+.-]*://", url) and not re.search(
        r"[{}\[\]](?!.*::1\])", url.replace("[::1]", "")
    )


def _parts(url: str) -> tuple[str, int | None, bool]:
    """Host, port, and whether a user stands in front; an empty host if it cannot be read."""
    if not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        return "", None, False
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        return (parts.hostname or "").lower(), parts.port, "@" in parts.netloc
    except ValueError:
        return "", None, False


def _is_local(url: str) -> bool:
    host, _, user = _parts(url)
    return _is_web(url) and not user and _LOCAL_HOST.fullmatch(host) is not None


def _is_jupyter(url: str) -> bool:
    host, port, _ = _parts(url)
    return port in _JUPYTER_PORTS and (_LOCAL_HOST.fullmatch(host) is not None or host in ("0.0.0.0", "::", ""))


_WGET = spec(
    """q v nv S c N 4 6 t: T: w: quiet verbose no-verbose server-response continue timestamping tries: timeout: wait:
    spider no-check-certificate~
    O> P> o> a> output-document> directory-prefix> output-file>""",
    "text",
)


def _wget(call: Call) -> Finding:
    found: Parsed = parse(_WGET, call.args)
    jupyter = any(_is_jupyter(url) for url in found.operands)
    if found.unknown or found.starts or jupyter:
        why = f"{found.unknown or 'the port'} lets wget do more than fetch"
        return always(why, "network", grave=True, reads=path_words(call.args), writes=found.writes)
    written = [path for path in found.writes if path not in ("-", "/dev/null", "/dev/stdout")]
    rule = EXACT if written else call.name
    why = f"{call.name} fetches over the network and writes a file"
    return asks(why, rule, effects=("network", "writes_file"), grave=True, writes=written)
