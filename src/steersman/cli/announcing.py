"""A cluster is up: where, and what to type into another terminal to look at it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

__all__ = ["announce"]


def announce(what: str, kubeconfig: Path, kinds: str, *, runs_pods: bool = False) -> None:
    """`runs_pods`: whether services answer on this machine."""
    sys.stdout.write(
        f"{what}. Ctrl-C stops it.\n"
        f"  export KUBECONFIG={shlex.quote(str(kubeconfig))}\n"
        f"  kubectl get {kinds}\n"
        f"{_low_ports() if runs_pods else ''}"
    )
    sys.stdout.flush()


def _low_ports() -> str:
    """Where services' low ports answer, if not there."""
    from steersman.cluster.machine.ports import first_free_port
    from steersman.objects.stand_ins import chosen_stand_ins

    first = first_free_port()
    example = chosen_stand_ins([min(80, first - 1)] if first > 1 else [], first)
    return "".join(
        f"Ports below {first} need root: port {port} of a Service answers at {other} (see `steer url`).\n"
        for port, other in example.items()
    )
