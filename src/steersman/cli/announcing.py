"""A cluster is up: where, and what to type into another terminal to look at it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

__all__ = ["announce"]


def announce(what: str, kubeconfig: Path, kinds: str) -> None:
    sys.stdout.write(
        f"{what}. Ctrl-C stops it.\n"
        f"  export KUBECONFIG={shlex.quote(str(kubeconfig))}\n"
        f"  kubectl get {kinds}\n"
    )
    sys.stdout.flush()
