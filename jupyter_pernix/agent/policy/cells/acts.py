"""What calls by their full names do: ``os.remove``, ``requests.post``, ``get_ipython().system``. Data only.

A name with ``()`` is what a call gives: ``sqlite3.connect().execute``. ``*`` stands for one or more last parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..judgement import Effect
from .words import word_set

Form = Literal["", "line", "process", "exec", "execl", "spawn", "spawnl", "words", "code", "cell", "sql", "open", "env"]
"""How the arguments are to be read: ``line``: text for a shell; ``process``: as ``subprocess.run``; ``exec``: a file and its list of
words; ``execl``: a file and words; ``spawn``, ``spawnl``: the same after a mode; ``words``: every argument is one; ``code``: Python text;
``cell``: a cell; ``sql``; ``open``: a path and a mode; ``env``: the name of a variable."""


@dataclass(frozen=True, slots=True)
class Act:
    """``reads``, ``writes``, ``deletes``: positions, or keywords in place of them, that name paths."""

    effects: tuple[Effect, ...] = ()
    form: Form = ""
    reads: tuple[int | str, ...] = ()
    writes: tuple[int | str, ...] = ()
    deletes: tuple[int | str, ...] = ()
    hidden: tuple[Effect, ...] = ()


ACTS: dict[str, Act] = {}


def _put(names: str, act: Act, prefix: str = "") -> None:
    ACTS.update((prefix + name, act) for name in names.split())


_RUNS = ("runs_process",)
_put("system popen", Act(_RUNS, "line"), "os.")
_put("getoutput getstatusoutput", Act(_RUNS, "line"), "subprocess.")
_put("run call check_call check_output Popen", Act(_RUNS, "process"), "subprocess.")
_put("execv execve execvp execvpe", Act(("runs_process", "kills_kernel"), "exec"), "os.")
_put("execl execle execlp execlpe", Act(("runs_process", "kills_kernel"), "execl"), "os.")
_put("posix_spawn posix_spawnp", Act(_RUNS, "exec"), "os.")
_put("spawnv spawnve spawnvp spawnvpe", Act(_RUNS, "spawn"), "os.")
_put("spawnl spawnle spawnlp spawnlpe", Act(_RUNS, "spawnl"), "os.")
_put("asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell", Act(_RUNS, "line"))
_put("asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec", Act(_RUNS, "words"))
_put("pty.spawn", Act(_RUNS, "process"))
_put("pexpect.run pexpect.runu pexpect.spawn pexpect.spawnu", Act(_RUNS, "line"))
_put("os.startfile", Act(_RUNS, "words"))
_put("fabric.Connection().run invoke.run invoke.Context().run", Act(_RUNS, "line"))
_put(
    "ctypes.CDLL().system ctypes.cdll.LoadLibrary().system ctypes.PyDLL().system",
    Act(("runs_process", "opaque"), "line"),
)
_put("CDLL PyDLL WinDLL OleDLL", Act(("opaque",)), "ctypes.")
_put("ctypes.cdll.LoadLibrary cffi.FFI().dlopen ctypes.pythonapi.*", Act(("opaque",)))

_put("system getoutput system_raw system_piped getoutput_pager", Act(_RUNS, "line"), "get_ipython().")
_put("run_cell run_cell_async ex ev", Act((), "cell"), "get_ipython().")
_put("safe_execfile safe_execfile_ipy safe_run_module", Act(("runs_code_from_file",), reads=(0,)), "get_ipython().")
_put("events.register", Act(("overrides_builtins", "delayed")), "get_ipython().")
_put(
    "register_magic_function register_magics set_custom_exc set_hook input_transformers_post.append input_transformers_cleanup.append "
    "ast_transformers.append define_macro display_formatter.* user_ns.clear",
    Act(("overrides_builtins",)),
    "get_ipython().",
)
_put("set_next_input", Act(("frontend_js",)), "get_ipython().")
_put("extension_manager.load_extension", Act(("runs_code_from_file",)), "get_ipython().")
_put("kernel.do_shutdown ask_exit exiter", Act(("kills_kernel",)), "get_ipython().")

_put("eval exec", Act(("runs_code_from_text",), "code"))
_put("compile", Act(("runs_code_from_text",), "code"))
_put("timeit.timeit timeit.repeat timeit.Timer cProfile.run profile.run", Act((), "code"))
_put("code.interact code.InteractiveConsole().push", Act(("runs_code_from_text", "opaque")))
_put("types.FunctionType types.CodeType marshal.loads marshal.load", Act(("runs_code_from_text", "opaque")))
_put("runpy.run_path imp.load_source", Act(("runs_code_from_file",), reads=(0, "path_name")))
_put(
    "runpy.run_module importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader importlib.reload",
    Act(("runs_code_from_file",)),
)

_LOADS = Act(("unpickles",), reads=(0,))
_put("pickle.load pickle.loads pickle.Unpickler joblib.load pandas.read_pickle shelve.open", _LOADS)
_put("dill.load dill.loads cloudpickle.load cloudpickle.loads torch.load yaml.unsafe_load jsonpickle.decode", _LOADS)
_put("numpy.load yaml.load", Act(("unpickles",), reads=(0,)))

_put("remove unlink rmdir removedirs", Act(("deletes",), deletes=(0, "path")), "os.")
_put("shutil.rmtree send2trash.send2trash", Act(("deletes",), deletes=(0, "path")))
_put("os.truncate", Act(("deletes", "writes_file"), deletes=(0, "path")))
_put("rename renames replace", Act(("moves",), deletes=(), writes=(0, 1, "src", "dst")), "os.")
_put("shutil.move", Act(("moves",), writes=(0, 1, "src", "dst")))
_put("copy copy2 copyfile copytree", Act(("writes_file",), reads=(0, "src"), writes=(1, "dst")), "shutil.")
_put("shutil.unpack_archive shutil.make_archive", Act(("writes_file",), writes=(1, "extract_dir")))
_put("link symlink", Act(("writes_file",), reads=(0, "src"), writes=(1, "dst")), "os.")
_put("mkdir makedirs mkfifo mknod", Act((), writes=(0, "name", "path")), "os.")
_put("chmod chown lchown", Act(("writes_file",), writes=(0, "path")), "os.")
_put("os.setuid os.seteuid os.setgid os.setegid os.chroot", Act(("privilege",)))
_put("os.listdir os.scandir os.walk os.readlink", Act((), reads=(0, "path", "top", "pathname")))

_put(
    "open io.open builtins.open codecs.open gzip.open bz2.open lzma.open h5py.File zipfile.ZipFile tarfile.open",
    Act((), "open"),
)
_put("os.open fsspec.open smart_open.open", Act((), "open"))
_READS = Act((), reads=(0, "filepath_or_buffer", "io", "path", "source"))
_put(
    "read_csv read_table read_fwf read_excel read_parquet read_feather read_json read_hdf read_orc read_sas read_spss read_stata "
    "read_xml read_html read_ipc read_ndjson scan_csv scan_parquet scan_ipc scan_ndjson",
    _READS,
    "pandas.",
)
ACTS.update({name.replace("pandas.", "polars."): act for name, act in ACTS.items() if name.startswith("pandas.read_")})
_put("scan_csv scan_parquet scan_ipc scan_ndjson", _READS, "polars.")
_put("loadtxt genfromtxt fromfile memmap", _READS, "numpy.")
_put(
    "PIL.Image.open imageio.imread imageio.v3.imread cv2.imread skimage.io.imread geopandas.read_file xarray.open_dataset",
    _READS,
)
_put("matplotlib.pyplot.imread matplotlib.image.imread torchaudio.load soundfile.read librosa.load", _READS)
_WRITES = Act(("writes_file",), writes=(0, "file", "fname"))
_put("save savetxt savez savez_compressed", _WRITES, "numpy.")
_put("matplotlib.pyplot.savefig cv2.imwrite imageio.imwrite soundfile.write", _WRITES)
_put("torch.save joblib.dump skimage.io.imsave torchaudio.save", Act(("writes_file",), writes=(0, 1, "f", "filename")))
_put("safetensors.torch.save_file onnx.save", Act(("writes_file",), writes=(1,)))
_put("nbformat.write", Act(("writes_file", "writes_notebook"), writes=(1, "fp")))

_NET = Act(("network",))
_SENDS = Act(("network",), hidden=("publishes",))
_DELETES_THERE = Act(("network", "deletes"))
_put("get head options request stream", _NET, "requests.")
_put("post put patch", _SENDS, "requests.")
_put("delete", _DELETES_THERE, "requests.")
for _client in (
    "requests.Session().",
    "requests.session().",
    "httpx.",
    "httpx.Client().",
    "httpx.AsyncClient().",
    "aiohttp.ClientSession().",
):
    _put("get head options request stream send ws_connect", _NET, _client)
    _put("post put patch", _SENDS, _client)
    _put("delete", _DELETES_THERE, _client)
_put("urllib.request.urlopen urllib.request.Request urllib.request.build_opener().open urllib.urlopen urllib3.*", _NET)
_put("urllib.request.urlretrieve", Act(("network", "writes_file"), writes=(1, "filename")))
_put("http.client.HTTPConnection http.client.HTTPSConnection xmlrpc.client.ServerProxy telnetlib.Telnet", _NET)
_put("socket.create_connection socket.socket().* socket.create_server socketserver.* http.server.*", _NET)
_put("asyncio.open_connection asyncio.start_server websockets.connect websocket.create_connection", _NET)
_put("ftplib.FTP ftplib.FTP_TLS paramiko.* pysftp.Connection boto3.client boto3.resource boto3.Session", _NET)
_put("smtplib.SMTP smtplib.SMTP_SSL", _SENDS)
_put("datasets.load_dataset torch.hub.download_url_to_file torch.hub.load_state_dict_from_url nltk.download", _NET)
_put("torch.hub.load", Act(("network", "runs_code_from_file")))
_put(
    "huggingface_hub.snapshot_download huggingface_hub.hf_hub_download huggingface_hub.login gdown.download wget.download",
    _NET,
)
_put(
    "huggingface_hub.upload_file huggingface_hub.upload_folder huggingface_hub.create_repo huggingface_hub.HfApi().*",
    _SENDS,
)
_put(
    "kagglehub.* kaggle.* wandb.init wandb.log wandb.login openai.OpenAI anthropic.Anthropic git.Repo.clone_from yfinance.*",
    _NET,
)
_put("webbrowser.open webbrowser.open_new webbrowser.open_new_tab", Act(("network", "frontend_js")))

_put(
    "pip.main pip._internal.main pip._internal.cli.main.main ensurepip.bootstrap micropip.install piplite.install",
    Act(("installs",)),
)
_put("os.chdir os.fchdir contextlib.chdir", Act(("changes_cwd",)))
_put("os.getenv", Act((), "env"))
_put("os.putenv os.unsetenv dotenv.load_dotenv", Act(("changes_env",)))
_put("dotenv.dotenv_values", Act(("reads_env",)))
_put("threading.Timer sched.scheduler().enter sched.scheduler().enterabs weakref.finalize", Act(("delayed",)))
_put("atexit.register signal.signal signal.setitimer signal.alarm", Act(("delayed",)))
_put("input getpass.getpass breakpoint pdb.set_trace IPython.embed click.prompt builtins.input", Act(("waits_input",)))
_put("sys.stdin.read sys.stdin.readline sys.stdin.readlines", Act(("waits_input",)))
_put("os._exit os.abort exit quit", Act(("kills_kernel",)))
_put(
    "os.kill os.killpg signal.raise_signal signal.pthread_kill psutil.Process().kill psutil.Process().terminate",
    Act(("kills_kernel",)),
)
_put(
    "sys.settrace sys.setprofile sys.addaudithook sys.meta_path.insert sys.meta_path.append sys.path_hooks.append",
    Act(("overrides_builtins",)),
)
_put("sys.path.insert sys.path.append sys.path.extend site.addsitedir", Act(("changes_env",)))
_put("os.fork os.forkpty", Act(("runs_process",)))
_put("resource.setrlimit", Act(("changes_env",)))
_put("pandas.read_sql pandas.read_sql_query duckdb.sql duckdb.query duckdb.execute", Act((), "sql"))

_put("IPython.display.Javascript IPython.display.IFrame", Act(("frontend_js",)))
ACTS["IPython.display.display_javascript"] = ACTS["IPython.display.Javascript"]

SHOWS = frozenset(("HTML", "SVG", "Markdown", "display_html"))
REMOTE = frozenset(("Image", "IFrame", "HTML", "Javascript", "Audio", "Video", "SVG", "YouTubeVideo", "VimeoVideo"))
"""Of ``IPython.display``: what may be given an address to load."""

METHODS: dict[str, Act] = {}
"""What methods of things of unknown kind do, where the name alone says it."""
for _name in word_set(
    "to_csv to_parquet to_excel to_pickle to_feather to_hdf to_stata to_html to_latex to_markdown savefig "
    "write_csv write_parquet write_ipc write_html write_image write_text write_bytes to_file to_netcdf to_zarr "
    "tofile save_pretrained save_weights save_model sink_csv sink_parquet"
):
    METHODS[_name] = Act(("writes_file",), writes=(0, "path_or_buf", "path", "fname", "filename", "file"))
METHODS["to_json"] = Act((), writes=(0, "path_or_buf"))
METHODS["save"] = Act((), writes=(0, "fp", "path", "filename"))
METHODS["extractall"] = Act(("writes_file",), writes=(0, "path"))
METHODS["unlink"] = METHODS["rmtree"] = Act(("deletes",))
METHODS["push_to_hub"] = METHODS["sendmail"] = METHODS["send_message"] = _SENDS
METHODS["do_shutdown"] = Act(("kills_kernel",))
for _name in ["execute", "executescript", "executemany", "sql", "query"]:
    METHODS[_name] = Act((), "sql")
METHODS["drop_all"] = METHODS["drop_collection"] = METHODS["drop_database"] = Act(("db_write", "deletes"))
for _name in word_set(
    "delete_many delete_one insert_many insert_one update_one update_many create_all to_sql bulk_write"
):
    METHODS[_name] = Act(("db_write",))

PATH_METHODS: dict[str, Act] = {
    "unlink": Act(("deletes",), deletes=("self",)),
    "rmdir": Act(("deletes",), deletes=("self",)),
    "write_text": Act(("writes_file",), writes=("self",)),
    "write_bytes": Act(("writes_file",), writes=("self",)),
    "touch": Act(("writes_file",), writes=("self",)),
    "mkdir": Act((), writes=("self",)),
    "chmod": Act(("writes_file",), writes=("self",)),
    "rename": Act(("moves",), writes=("self", 0)),
    "replace": Act(("moves",), writes=("self", 0)),
    "symlink_to": Act(("writes_file",), writes=("self",), reads=(0,)),
    "hardlink_to": Act(("writes_file",), writes=("self",), reads=(0,)),
    "read_text": Act((), reads=("self",)),
    "read_bytes": Act((), reads=("self",)),
    "iterdir": Act((), reads=("self",)),
}
"""Of a ``pathlib`` path; ``self``: the path itself."""

USUAL_NAMES = {
    "np": "numpy",
    "pd": "pandas",
    "pl": "polars",
    "plt": "matplotlib.pyplot",
    "sp": "subprocess",
    "Path": "pathlib.Path",
    "display": "IPython.display.display",
    "HTML": "IPython.display.HTML",
    "Javascript": "IPython.display.Javascript",
    "load_dataset": "datasets.load_dataset",
}
"""What names mean that an earlier cell is likely to have imported."""

_SAME = (
    ("posix.", "os."),
    ("nt.", "os."),
    ("builtins.", ""),
    ("__builtins__.", ""),
    ("IPython.get_ipython()", "get_ipython()"),
    ("IPython.core.getipython.get_ipython()", "get_ipython()"),
    ("IPython.core.display.", "IPython.display."),
    ("IPython.core.interactiveshell.InteractiveShell.instance()", "get_ipython()"),
    ("_pickle.", "pickle."),
    ("cPickle.", "pickle."),
    ("_io.", "io."),
    ("_posixsubprocess.", "subprocess."),
    ("urllib2.", "urllib.request."),
    ("pathlib.PosixPath", "pathlib.Path"),
    ("pathlib.WindowsPath", "pathlib.Path"),
    ("pathlib.PurePath", "pathlib.Path"),
    ("asyncio.subprocess.", "asyncio."),
    ("ctypes.cdll.msvcrt.", "ctypes.CDLL()."),
)


def usual(dotted: str) -> str:
    """The name by which ``ACTS`` knows it."""
    for other, ours in _SAME:
        if dotted.startswith(other):
            return ours + dotted[len(other) :]
    return dotted


def act_of(dotted: str) -> Act | None:
    found = ACTS.get(dotted)
    if found is None:
        head, _, last = dotted.rpartition(".")
        found = (
            ACTS.get(head + ".*")
            if (head and not last[:1].isupper()) or head.startswith(("paramiko", "urllib3"))
            else None
        )
    return found


def names_in(module: str) -> Iterator[str]:
    """What ``from module import *`` would bring of what is known here."""
    for name in ACTS:
        if name.startswith(module + ".") and "." not in name[len(module) + 1 :]:
            yield name[len(module) + 1 :]
