"""Real kubectl, run as a user would: arguments in, output and exit code out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.steer import DEADLINE_S

__all__ = ["WAIT", "Done", "Kubectl"]

#: For `kubectl wait` and its like, which then say themselves what they have waited for in vain.
WAIT = f"--timeout={DEADLINE_S:.0f}s"
_SAYING_S = 10.0


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished kubectl left."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """A table's cells, without its header."""
        return [line.split() for line in self.lines[1:]]

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Kubectl:
    """kubectl for one namespace of one server."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        self.kubeconfig = kubeconfig
        self.home = home
        self.namespace = namespace

    def within(self, namespace: str) -> Kubectl:
        return Kubectl(self.kubeconfig, self.home, namespace)

    def command(self, *arguments: str) -> list[str]:
        # The commands of a plugin or of `config` know no namespace.
        scope = [] if arguments[0] == "config" else [f"--namespace={self.namespace}"]
        return ["kubectl", *arguments[:1], *scope, *arguments[1:]]

    @property
    def environment(self) -> Mapping[str, str]:
        """No setting of the machine's user gets in, no cache of theirs is touched."""
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**keep, "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig)}

    def attempt(self, *arguments: str, stdin: Any = None, editor: str = "") -> Done:
        """Run it, whatever comes of it. `stdin` is text, or objects that are sent as JSON; `editor` is the
        command that `kubectl edit` starts."""
        if stdin is not None and not isinstance(stdin, str):
            objects = stdin if isinstance(stdin, list) else [stdin]
            stdin = "\n".join(f"---\n{json.dumps(item)}" for item in objects)
        done = subprocess.run(
            self.command(*arguments),
            input=stdin or "",
            env={**self.environment, "KUBE_EDITOR": editor},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S + _SAYING_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str, stdin: Any = None, editor: str = "") -> Done:
        """Run it; it must succeed."""
        done = self.attempt(*arguments, stdin=stdin, editor=editor)
        assert done.code == 0, f"kubectl {' '.join(arguments)}: exit {done.code}\n{done.err}{done.out}"
        return done

    def fails(self, *arguments: str, stdin: Any = None, code: int = 1) -> str:
        """Run it; it must fail with `code`. What it says on standard error."""
        done = self.attempt(*arguments, stdin=stdin)
        assert done.code == code, f"kubectl {' '.join(arguments)}: exit {done.code}\n{done.err}{done.out}"
        return done.err.rstrip("\n")

    def apply(self, *objects: Any) -> Done:
        return self("apply", "-f", "-", stdin=list(objects))

    def create(self, *objects: Any) -> Done:
        return self("create", "-f", "-", stdin=list(objects))

    def get(self, what: str, *options: str) -> Any:
        """An object or a list, as JSON."""
        return self("get", *what.split(), "-o", "json", *options).json

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Run it in the background with its output on a pipe; the caller ends it."""
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
