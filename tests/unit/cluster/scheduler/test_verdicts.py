"""The words in which people are told that a pod fits nowhere."""

from __future__ import annotations

import pytest

from steersman.cluster.scheduler.framework import NoFit, Refusal

_CPU = Refusal("Fit", ("Insufficient cpu",))
_BOTH = Refusal("Fit", ("Insufficient cpu", "Too many pods"))
_TAINT = Refusal("Taints", ("node(s) had untolerated taint(s)",), resolvable=False)


@pytest.mark.parametrize(
    ("failure", "message", "plugins"),
    [
        pytest.param(
            NoFit(3, {"a": _CPU, "b": _TAINT, "c": _TAINT}),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            {"Fit", "Taints"},
            id="reasons are counted and sorted",
        ),
        pytest.param(
            NoFit(2, {"a": _BOTH, "b": _CPU}),
            "0/2 nodes are available: 1 Too many pods, 2 Insufficient cpu.",
            {"Fit"},
            id="a node may have several reasons",
        ),
        pytest.param(
            NoFit(5, {"a": _CPU}, Refusal("NodeAffinity", ("not asked",))),
            "0/5 nodes are available: 1 Insufficient cpu, 4 not asked.",
            {"Fit", "NodeAffinity"},
            id="nodes that were not asked count too",
        ),
        pytest.param(
            NoFit(5, pod=Refusal("VolumeBinding", ("no claim",)), after="preemption: no."),
            "0/5 nodes are available: no claim. preemption: no.",
            {"VolumeBinding"},
            id="the pod itself was refused",
        ),
    ],
)
def test_why_nothing_fits(failure: NoFit, message: str, plugins: set[str]) -> None:
    assert failure.message == message
    assert failure.plugins == plugins
