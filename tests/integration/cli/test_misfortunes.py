"""What users, other processes and machines do to `steer` ends in one line and a code, never in a traceback.

Every command is run with every misfortune that can meet it.
"""

from __future__ import annotations

import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.steer import DEADLINE_S, STEER, running

pytestmark = pytest.mark.slow

MODULE = """
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Context, Operator

class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Model

op = Operator(WebApp)

@op.reconcile
async def reconcile(ctx: Context[WebApp]) -> None:
    pass
"""


def steer(folder: Path, *arguments: str, shell: str = "", **environment: str) -> tuple[int, str]:
    """Its code and what it says, both streams together. `shell` is what follows the command in one."""
    state = {"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder), "PAGER": "cat"}
    surroundings = {**os.environ, **state, **environment}
    surroundings.pop("KUBECONFIG", None)
    script = f'set -o pipefail; exec 3>&1; "$@" {shell}' if shell else 'exec "$@"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(STEER), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
        env=surroundings,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stdout


def one_line(code: int, said: str) -> str:
    """What is said by a command that failed as it should."""
    assert code in (1, 2), said
    assert said.startswith("steer: "), said
    assert said.count("\n") == 1, said
    assert "bug in steer" not in said
    return said.removeprefix("steer: ").rstrip()


# --- modules

WITH_MODULE = {
    "run": ("run", "{module}", "--metrics-bind", "off"),
    "crd": ("crd", "{module}"),
    "rbac": ("rbac", "{module}"),
    "manifests": ("manifests", "{module}", "--image", "a:1"),
    "helm": ("helm", "{module}", "--image", "a:1", "--dir", "chart"),
    "diff": ("diff", "{module}"),
    "uninstall": ("uninstall", "{module}", "--yes"),
}
MODULES = {
    "is not there": (None, "there is no such file"),
    "syntax error": (b"def (", "line 1: SyntaxError"),
    "raises": (b"\nraise RuntimeError('no\\nway')\n", "RuntimeError: no way (bad.py, line 2)"),
    "cannot even say what": (
        b"class E(Exception):\n  def __str__(self): raise ValueError\nraise E\n",
        "bad.py: E: E (bad.py, line 3)",
    ),
    "ends the program": (b"import sys\nsys.exit(0)\n", "SystemExit: 0 (bad.py, line 2)"),
    "ends it strangely": (b"class B(BaseException): pass\nraise B\n", "bad.py: B (bad.py, line 2)"),
    "never ends": (b"def f(): f()\nf()\n", "RecursionError"),
    "is not text": (b"x = '\xe9'\n", "SyntaxError"),
    "misses a module": (b"import nosuchmodule\n", "No module named 'nosuchmodule'"),
    "has no operator": (b"", "there is no "),
}


@pytest.mark.parametrize("command", WITH_MODULE)
@pytest.mark.parametrize("what", MODULES)
def test_a_module_that_cannot_be_used(command: str, what: str, tmp_path: Path) -> None:
    content, said = MODULES[what]
    if content is not None:
        (tmp_path / "bad.py").write_bytes(content)
    arguments = [each.format(module="bad.py") for each in WITH_MODULE[command]]
    assert said in one_line(*steer(tmp_path, *arguments))


# --- kubeconfigs

ASKING = {
    "run": ("run", "good.py", "--metrics-bind", "off"),
    "diff": ("diff", "good.py"),
    "uninstall": ("uninstall", "good.py", "--yes"),
    "why": ("why", "webapp/a"),
    "top": ("top", "webapp-operator", "--once"),
    "component": ("component", "nodes"),
}
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
clusters: [{{name: a, cluster: {{server: "{server}"{cluster}}}}}]
users: [{{name: a, user: {{{user}}}}}]
"""


def kubeconfig(server: str = "https://127.0.0.1:1", cluster: str = "", user: str = "token: t") -> str:
    return KUBECONFIG.format(server=server, cluster=cluster, user=user)


KUBECONFIGS = {
    "empty": ("", "current-context is not set"),
    "not YAML": ("{[", "is not valid YAML (line 1)"),
    "not text": ("\0", "is not valid YAML"),
    "a list": ("[]", "must be a mapping"),
    "wrong types": ("current-context: []", "current-context: must be a string"),
    "no server": (kubeconfig(""), "clusters[0].cluster.server: must be an http(s) URL"),
    "port out of range": (kubeconfig("https://a:99999"), "server: must be an http(s) URL"),
    "half an address": (kubeconfig("https://[::1"), "server: must be an http(s) URL"),
    "no authority file": (
        kubeconfig(cluster=", certificate-authority: /nowhere/ca.crt"),
        "there is no file /nowhere/ca.crt",
    ),
    "no certificate": (
        kubeconfig(user="client-certificate: /nowhere/a, client-key: /nowhere/b"),
        "there is no file /nowhere/a",
    ),
    "authority is no certificate": (
        kubeconfig(cluster=", certificate-authority-data: aGVsbG8="),
        "certificate-authority",
    ),
    "no token file": (kubeconfig(user="tokenFile: /nowhere/t"), "/nowhere/t: there is no token in it"),
    "no plugin": (
        kubeconfig(
            user="exec: {command: /nowhere/x, interactiveMode: Never, "
            "apiVersion: client.authentication.k8s.io/v1}"
        ),
        "/nowhere/x",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(MODULE)
    return tmp_path


@pytest.mark.parametrize("command", ASKING)
@pytest.mark.parametrize("what", KUBECONFIGS)
def test_a_kubeconfig_that_cannot_be_used(command: str, what: str, folder: Path) -> None:
    content, said = KUBECONFIGS[what]
    (folder / "config").write_text(content)
    assert said in one_line(*steer(folder, *ASKING[command], "--kubeconfig", "config"))


@pytest.mark.parametrize("command", ASKING)
def test_a_kubeconfig_that_is_a_folder_or_not_there(command: str, folder: Path) -> None:
    assert "Is a directory" in one_line(*steer(folder, *ASKING[command], "--kubeconfig", "."))
    said = one_line(*steer(folder, *ASKING[command], "--kubeconfig", "nowhere"))
    assert said.startswith("nowhere: there is no such kubeconfig; `steer up` starts a cluster")


# --- API servers

ANSWERS = {
    "closes": b"",
    "is none": b"\x00\xffhello\r\n\r\n",
    "speaks HTML": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
    "lists nothing": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    "has numbers for objects": b'HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{"items":[1,2],"resources":[1, 2]}',
    "redirects": b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    "fails": b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
}
#: Who is started before the API server waits for it.
WAITING = ("component",)


@contextmanager
def server(answer: bytes) -> Iterator[int]:
    """Answers everything with the same; its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield listening.server_address[1]
        finally:
            listening.shutdown()
            thread.join()


@pytest.mark.parametrize("command", [each for each in ASKING if each not in WAITING])
@pytest.mark.parametrize("what", ANSWERS)
def test_something_that_is_no_api_server(command: str, what: str, folder: Path) -> None:
    with server(ANSWERS[what]) as port:
        (folder / "config").write_text(kubeconfig(f"http://127.0.0.1:{port}"))
        one_line(*steer(folder, *ASKING[command], "--kubeconfig", "config"))


@pytest.mark.parametrize("command", [each for each in ASKING if each not in WAITING])
def test_nobody_listens(command: str, folder: Path) -> None:
    (folder / "config").write_text(kubeconfig("http://127.0.0.1:1"))
    said = one_line(*steer(folder, *ASKING[command], "--kubeconfig", "config"))
    assert said.startswith("no connection to 127.0.0.1:1: Connection refused; is the cluster up?")


@pytest.mark.parametrize("command", [each for each in ASKING if each not in WAITING])
def test_an_api_server_of_another_authority(command: str, folder: Path) -> None:
    with running() as one, running() as other:
        config = one.kubeconfig.read_text().replace(one.announced["server"], other.announced["server"])
        (folder / "config").write_text(config)
        said = one_line(*steer(folder, *ASKING[command], "--kubeconfig", "config"))
    assert "certificate verify failed" in said


# --- folders and files

FOLDERS = {
    "up": ("up", "--port", "0", "--data", "{place}"),
    "up kubeconfig": ("up", "--data", ":memory:", "--nodes", "0", "--port", "0", "--kubeconfig", "{place}/x"),
    "new": ("new", "tea", "--dir", "{place}"),
    "helm": ("helm", "good.py", "--image", "a:1", "--dir", "{place}"),
    "highlander helm": ("highlander", "helm", "--dir", "{place}"),
    "image add": ("image", "add", "a:1", "{place}"),
}
FILES = {
    "encryption key": ("up", "--data", ":memory:", "--port", "0", "--encryption-key", "{place}"),
    "authentication": ("up", "--data", ":memory:", "--port", "0", "--authentication-config", "{place}"),
    "audit policy": ("up", "--data", ":memory:", "--port", "0", "--audit-policy", "{place}"),
    "run config": ("run", "good.py", "--config", "{place}"),
    "validate": ("highlander", "validate", "--config", "{place}"),
    "highlander run": ("highlander", "run", "--config", "{place}"),
    "highlander manifests": ("highlander", "manifests", "--config", "{place}"),
    "highlander token": ("highlander", "drain", "--token-file", "{place}"),
    "raft": ("raft", "status", "--tls", "{place}"),
}
#: Where nothing can be made, not even by root.
PLACES = {
    "a file": "good.py",
    "below a file": "good.py/x",
    "not a place": "/proc/nothing",
    "a long name": "x" * 300,
}
UNREADABLE = {"a folder": ".", "not there": "nowhere", "below a file": "good.py/x", "not text": "binary"}


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("place", PLACES)
def test_a_folder_that_cannot_be_one(command: str, place: str, folder: Path) -> None:
    arguments = [each.format(place=PLACES[place]) for each in FOLDERS[command]]
    said = one_line(*steer(folder, *arguments))
    assert PLACES[place][:20] in said


@pytest.mark.parametrize("command", FILES)
@pytest.mark.parametrize("place", UNREADABLE)
def test_a_file_that_cannot_be_read(command: str, place: str, folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00line\r\n\x80")
    arguments = [each.format(place=UNREADABLE[place]) for each in FILES[command]]
    said = one_line(*steer(folder, *arguments))
    assert UNREADABLE[place] in said or "--token-file" in arguments


@pytest.mark.parametrize("home", ["/proc", "/etc/passwd"], ids=["read-only", "a file"])
def test_a_home_in_which_nothing_can_be_kept(home: str, folder: Path) -> None:
    surroundings = {"HOME": home, "XDG_STATE_HOME": ""}
    assert home in one_line(*steer(folder, "up", "--port", "0", **surroundings))
    assert home in one_line(*steer(folder, "image", "add", "a:1", ".", **surroundings))


# --- streams

TALKING: Mapping[str, tuple[str, ...]] = {
    "help": ("--help",),
    "crd": ("crd", "good.py"),
    "rbac": ("rbac", "good.py", "--explain"),
    "manifests": ("manifests", "good.py", "--image", "a:1"),
    "highlander schema": ("highlander", "schema"),
    "image list": ("image", "list"),
}


@pytest.mark.parametrize("command", TALKING)
@pytest.mark.parametrize("streams", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_are_nobodys_loss(command: str, streams: str, folder: Path) -> None:
    code, said = steer(folder, *TALKING[command], shell=streams)
    assert (code, "Traceback" in said) == (0, False), said
    assert ">&-" not in streams.split() or said == ""


@pytest.mark.parametrize("command", [each for each in TALKING if each != "image list"])
def test_output_on_a_full_disk_is_a_failure(command: str, folder: Path) -> None:
    said = one_line(*steer(folder, *TALKING[command], shell=">/dev/full"))
    assert said == "No space left on device"
    assert steer(folder, *TALKING[command], shell=">/dev/full 2>/dev/full") == (1, "")


@pytest.mark.parametrize("command", [each for each in TALKING if each != "image list"])
def test_a_reader_that_has_enough_is_left_in_peace(command: str, folder: Path) -> None:
    code, said = steer(folder, *TALKING[command], shell="| head -c1")
    assert (code in (0, 1), len(said)) == (True, 1)


SURROUNDINGS = {
    "no TERM": {"TERM": ""},
    "dumb": {"TERM": "dumb"},
    "C": {"LC_ALL": "C"},
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_any_terminal_and_locale_will_do(surroundings: str, folder: Path) -> None:
    environment = SURROUNDINGS[surroundings]
    for command in TALKING.values():
        code, said = steer(folder, *command, **environment)
        assert (code, "Traceback" in said) == (0, False), said
    assert steer(folder, "new", "tea", **environment)[0] == 0
    # It reads files of its own that are no ASCII.
    code, said = steer(folder, "up", "--port", "0", "--data", "good.py", **environment)
    assert "good.py: File exists" in one_line(code, said)
    code, said = steer(
        folder, "up", "--data", ":memory:", "--port", "0", "--kubeconfig", "good.py/x", **environment
    )
    assert "good.py" in one_line(code, said)


# --- other processes


def test_a_second_cluster_in_the_same_folder_says_who_has_it(tmp_path: Path) -> None:
    with running("--nodes=1", data=tmp_path / "cluster") as first:
        said = one_line(*steer(tmp_path, "up", "--port", "0", "--data", "cluster"))
        assert said == f"{tmp_path}/cluster/store is in use by process {first.process.pid}"
        assert first.api.get("/readyz").status == 200


def test_addresses_that_another_cluster_has(tmp_path: Path) -> None:
    with running("--nodes=1", data=tmp_path / "first"):
        (tmp_path / "second").mkdir()
        ranges = (tmp_path / "first" / "ranges.json").read_text()
        (tmp_path / "second" / "ranges.json").write_text(ranges)
        said = one_line(*steer(tmp_path, "up", "--port", "0", "--data", "second"))
    assert "is used by another cluster on this machine; stop that one, or" in said


def test_a_probe_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, running() as cluster:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ("run", "good.py", "--install-crds", "--metrics-bind", address, "--log-level", "error")
        said = one_line(*steer(folder, *arguments, "--kubeconfig", str(cluster.kubeconfig)))
    assert said.startswith("--metrics-bind: ")
