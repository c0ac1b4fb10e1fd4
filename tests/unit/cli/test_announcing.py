"""What is said when a cluster is up."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.cli.announcing import announce
from steersman.cluster.machine import ports

LOW = "Ports below 1024 need root: port 80 of a Service answers at 8080 (see `steer url`).\n"


@pytest.mark.parametrize(
    ("first_free", "runs_pods", "said"),
    [
        pytest.param(1024, True, LOW, id="an ordinary user"),
        pytest.param(1024, False, "", id="no pods run here"),
        pytest.param(1, True, "", id="root"),
        pytest.param(
            53,
            True,
            "Ports below 53 need root: port 52 of a Service answers at 8052 (see `steer url`).\n",
            id="some low ports are free",
        ),
    ],
)
def test_low_ports_are_told_where_they_matter(
    first_free: int,
    runs_pods: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ports, "first_free_port", lambda: first_free)
    announce("Up", Path("/k c"), "pods", runs_pods=runs_pods)
    shown = "Up. Ctrl-C stops it.\n  export KUBECONFIG='/k c'\n  kubectl get pods\n"
    assert capsys.readouterr().out == shown + said
