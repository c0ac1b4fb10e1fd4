"""Take the pictures of the guide anew: real commands in a real terminal (tmux), drawn as SVG in docs/images.

    .venv/bin/python scripts/record.py            all of them
    .venv/bin/python scripts/record.py demo top   some

A scene types commands, waits for what they print, and takes pictures of the screen. All scenes run in an
empty home folder, with free ports, and leave nothing running.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PATIENCE_S = 60.0
LOOK_S = 0.1
#: In columns: pictures fill a page's width, and their letters shall have about the same size.
NARROWEST = 92
#: GitHub shows no pictures that are larger than a page.
MOST_BYTES = 100_000

#: As rich's own, but without fonts from the web: a picture stands alone. The letters are a little larger than
#: rich thinks, so that lines drawn with them meet.
SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: 21px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="100%" height="100%"/>
</clipPath>
{lines}
</defs>
<rect fill="#292929" width="100%" height="100%" rx="8"/>
<g transform="translate(20, 16)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Terminal:
    """A terminal of its own, with a shell in it."""

    def __init__(self, home: Path, columns: int, rows: int) -> None:
        name = f"terminal-{time.monotonic_ns()}"
        self._tmux = ("tmux", "-S", str(home / name), "-f", os.devnull)
        #: Has a byte for every prompt that was shown.
        self._prompts = home / f"{name}-prompts"
        self._prompts.touch()
        environment = {
            "HISTFILE": os.devnull,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PROMPT_COMMAND": f"echo >> {self._prompts}",
            "PS1": "$ ",
            "TERM": "screen-256color",
        }
        given = [f"{name}={value}" for name, value in environment.items()]
        shell = ("env", "-i", *given, "bash", "--norc", "--noprofile")
        self._run("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(home), *shell)
        self._run("set-option", "-g", "status", "off")
        self.wait(r"^\$ ")

    def type(self, command: str) -> None:
        """A command line and Enter."""
        self._run("send-keys", "-l", command)
        self._run("send-keys", "Enter")

    def run(self, command: str) -> None:
        """Type a command and wait for the next prompt."""
        with self._next_prompt(command):
            self.type(command)

    def interrupt(self) -> None:
        """Ctrl-C, which ends what runs."""
        with self._next_prompt("Ctrl-C"):
            self._run("send-keys", "C-c")

    @contextlib.contextmanager
    def _next_prompt(self, what: str) -> Iterator[None]:
        before = self._prompts.stat().st_size
        yield
        self._until(lambda: self._prompts.stat().st_size > before, f"the prompt after {what}")

    def wait(self, pattern: str) -> re.Match[str]:
        """Until the screen shows it."""
        found: list[re.Match[str]] = []

        def shown() -> bool:
            found[:] = re.finditer(pattern, self.text(), re.MULTILINE)
            return bool(found)

        self._until(shown, pattern)
        return found[-1]

    def text(self) -> str:
        """What is to be seen, and what has scrolled away; long lines in one."""
        return "\n" + self._run("capture-pane", "-p", "-J", "-S", "-")

    def screen(self) -> str:
        """With colours, as it looks."""
        return self._run("capture-pane", "-p", "-e").rstrip()

    def close(self) -> None:
        """End what runs in it, in order, then the shell."""
        self.interrupt()
        self._run("kill-server")

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise SystemExit(f"{what!r} is not to be seen after {PATIENCE_S:.0f} s:\n{self.text()}")
            time.sleep(LOOK_S)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True)
        return done.stdout


class Recording:
    """A home folder for a scene, its terminals, and where its pictures go."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._terminals: list[Terminal] = []

    def terminal(self, columns: int = 100, rows: int = 30) -> Terminal:
        made = Terminal(self.home, columns, rows)
        self._terminals.append(made)
        return made

    @contextlib.contextmanager
    def cluster(self, *options: str) -> Iterator[Path]:
        """A cluster out of sight; its kubeconfig."""
        command = (_steer(), "up", "--data", ":memory:", "--port", "0", "--output", "json", *options)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            said = re.search(r'"kubeconfig": "([^"]+)"', process.stdout.readline())
            if said is None:
                raise SystemExit("no cluster could be started")
            yield Path(said[1])
        finally:
            process.terminate()
            process.wait()

    def picture(self, name: str, terminal: Terminal) -> None:
        """What the terminal shows now, without the names of this machine's folders."""
        shown = terminal.screen().replace(str(self.home), "~").replace(str(ROOT), "~/steersman")
        lines = Text.from_ansi(shown).split("\n")
        width = max(NARROWEST, *(len(line) + 1 for line in lines))
        console = Console(record=True, width=width, file=io.StringIO(), legacy_windows=False)
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
        svg = console.export_svg(title="", code_format=SVG, unique_id=name)
        if len(svg.encode()) > MOST_BYTES:
            raise SystemExit(f"the picture of {name} is larger than {MOST_BYTES} bytes")
        (IMAGES / f"{name}.svg").write_text(svg)
        sys.stdout.write(f"docs/images/{name}.svg\n")

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()


def _steer() -> str:
    return str(Path(sys.executable).with_name("steer"))


def demo(recording: Recording) -> None:
    terminal = recording.terminal(columns=90, rows=24)
    terminal.type("clear; steer demo")
    terminal.wait("is deleted; a new pod replaces it")
    terminal.wait("Open http.* in a browser")
    recording.picture("demo", terminal)


def up(recording: Recording) -> None:
    server, terminal = recording.terminal(columns=90), recording.terminal(columns=110)
    server.run("clear")
    server.type("steer up --port 0")
    kubeconfig = server.wait(r"export KUBECONFIG=(\S+)")[1]
    server.wait("kubectl get")
    recording.picture("up", server)
    terminal.run(f"export KUBECONFIG={kubeconfig}; clear")
    terminal.run(
        "kubectl create deployment web --image=host/python3 --replicas=2 -- \\\n"
        "    python3 -m http.server --bind '$(POD_IP)' 8080"
    )
    terminal.run("kubectl expose deployment web --port=80 --target-port=8080")
    terminal.run("kubectl rollout status deployment web")
    terminal.run("kubectl get pods,services -l app=web -o wide | cut -c 1-80")
    terminal.run('curl -s "$(steer url web)" | head -3')
    recording.picture("kubectl", terminal)


def dev(recording: Recording) -> None:
    terminal = recording.terminal(columns=110)
    terminal.run("export PYTHONPATH=src; clear")
    terminal.run("steer new webapp-operator --kind WebApp")
    terminal.run("cd webapp-operator")
    terminal.type("steer run --dev --cluster --metrics-bind off webapp.operator")
    terminal.wait("leads webapp-operator in term 1")
    (recording.home / "webapp-operator/src/webapp/operator.py").touch()
    terminal.wait("leads webapp-operator in term 2")
    recording.picture("dev", terminal)


def operator(recording: Recording) -> None:
    """The README's operator: what it does, did, and would do after a change of its code."""
    found = re.search(r"```python\n(# shop\.py\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    code = recording.home / "shop.py"
    code.write_text(found[1])
    # A Service's name must have no dots: the second one cannot work.
    apps = [
        {
            "apiVersion": "example.com/v1",
            "kind": "WebApp",
            "metadata": {"name": name},
            "spec": {"image": "web:1"},
        }
        for name in ("shop", "shop.old")
    ]
    (recording.home / "apps.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": apps}))
    with recording.cluster("--runtime", "simulated") as kubeconfig:
        server, terminal = recording.terminal(), recording.terminal(columns=100)
        for each in (server, terminal):
            each.run(f"export KUBECONFIG={kubeconfig}; clear")
        server.type("steer run shop.py --install-crds --metrics-bind 127.0.0.1:0")
        address = server.wait(r"metrics listen on (\S+)")[1]
        terminal.run("kubectl apply -f apps.json")
        terminal.run("kubectl rollout status deployment shop; clear")
        terminal.run(f"steer why webapp/shop --address {address}")
        terminal.run(f"steer why webapp/shop.old --address {address} | head -4")
        recording.picture("why", terminal)
        terminal.type(f"clear; steer top --address {address}")
        terminal.wait(r"webapps.*/\d +\d+\.\d ")
        recording.picture("top", terminal)
        terminal.interrupt()
        code.write_text(found[1].replace("port(80)", "port(8080)").replace("port(80, 80)", "port(80, 8080)"))
        terminal.run("clear; kubectl delete webapp shop.old; clear")
        terminal.run("steer diff shop.py")
        recording.picture("diff", terminal)


def validate(recording: Recording) -> None:
    terminal = recording.terminal(columns=110)
    (recording.home / "highlander.yaml").write_text(
        "tenant: shop\n"
        "storageType: lease\n"
        "workloads:\n"
        "  cronJobs:\n"
        "    - name: invoices\n"
        "      shedule: '0 3 * * *'\n"
        "      image: invoices:3\n"
    )
    terminal.run("clear")
    terminal.run("cat -n highlander.yaml")
    terminal.run("steer highlander validate --config highlander.yaml")
    recording.picture("highlander-validate", terminal)


SCENES: dict[str, Callable[[Recording], None]] = {
    scene.__name__: scene for scene in (demo, up, dev, operator, validate)
}


def main(names: list[str]) -> None:
    if shutil.which("tmux") is None:
        raise SystemExit("tmux is needed: scripts/install-servers tmux")
    if unknown := [name for name in names if name not in SCENES]:
        raise SystemExit(f"there is no scene {unknown[0]!r}; there are {', '.join(SCENES)}")
    IMAGES.mkdir(exist_ok=True)
    for name in names or SCENES:
        with tempfile.TemporaryDirectory(prefix="steer-pictures-") as home:
            recording = Recording(Path(home))
            try:
                SCENES[name](recording)
            finally:
                recording.close()


if __name__ == "__main__":
    main(sys.argv[1:])
