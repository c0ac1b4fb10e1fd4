"""What a pod worker decides to do next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steersman.cluster.node.actions import Actions, pod_actions
from steersman.cluster.node.container_statuses import ObservedPod
from steersman.cluster.node.health import ContainerHealth

from .views import SANDBOX, container, pod, view

UNSTARTED = ContainerHealth(started=False, ready=False)
DEAD = ContainerHealth(started=True, ready=True, failed="liveness")
SIDE = pod("a", init=("one", "side", "two"), sidecars=("side",))

#: name → (what is known, what is started: ephemeral / init / containers, what is killed)
CASES: dict[str, tuple[ObservedPod, str, list[str]]] = {
    "a new pod": (view(pod("a", "b"), sandboxes=()), "//a b", []),
    "a new pod with init containers": (view(pod("a", init=("i", "j")), sandboxes=()), "/i/", []),
    "all is well": (view(pod("a"), container("a")), "//", []),
    "a container is missing": (view(pod("a", "b"), container("a")), "//b", []),
    "a container ended": (view(pod("a"), container("a", "exited")), "//a", []),
    "a container was only created": (view(pod("a"), container("a", "created")), "//a", []),
    "the first init container runs": (view(pod("a", init=("i", "j")), container("i")), "//", []),
    "the first init container is done": (
        view(pod("a", init=("i", "j")), container("i", "exited")),
        "/j/",
        [],
    ),
    "an init container failed": (view(pod("a", init=("i",)), container("i", "exited", 1)), "/i/", []),
    "all init containers are done": (view(pod("a", init=("i",)), container("i", "exited")), "//a", []),
    "a done init container is forgotten": (view(pod("a", init=("i",)), container("a")), "//", []),
    "a sidecar is starting": (
        view(SIDE, container("side"), container("one", "exited"), health={"side": UNSTARTED}),
        "//",
        [],
    ),
    "a sidecar has started": (view(SIDE, container("side"), container("one", "exited")), "/two/", []),
    "a sidecar ended while another init container runs": (
        view(SIDE, container("two"), container("side", "exited"), container("one", "exited")),
        "/side/",
        [],
    ),
    "a sidecar ended while the pod runs": (
        view(SIDE, container("a"), container("two", "exited"), container("side", "exited", 1)),
        "/side/",
        [],
    ),
    "a sidecar is dead": (
        view(SIDE, container("a"), container("side"), health={"side": DEAD}),
        "/side/",
        ["Init container side failed liveness probe"],
    ),
    "a container is dead": (
        view(pod("a"), container("a"), health={"a": DEAD}),
        "//a",
        ["Container a failed liveness probe, will be restarted"],
    ),
    "a container is dead and stays so": (
        view(pod("a", "b", restartPolicy="Never"), container("a"), container("b"), health={"a": DEAD}),
        "//",
        ["Container a failed liveness probe"],
    ),
    "an image was changed": (
        view(pod("a"), container("a", image="app:0")),
        "//a",
        ["Container a definition changed, will be restarted"],
    ),
    "an ephemeral container is new": (
        view(pod("a", ephemeralContainers=[{"name": "e"}]), container("a")),
        "e//",
        [],
    ),
    "an ephemeral container ended": (
        view(pod("a", ephemeralContainers=[{"name": "e"}]), container("e", "exited"), container("a")),
        "//",
        [],
    ),
}


def _started(actions: Actions) -> str:
    return "/".join(
        " ".join(one["name"] for one in part) for part in (actions.ephemeral, actions.init, actions.start)
    )


@pytest.mark.parametrize(("known", "started", "killed"), CASES.values(), ids=CASES.keys())
def test_what_is_started_and_killed(known: ObservedPod, started: str, killed: list[str]) -> None:
    actions = pod_actions(known)
    assert _started(actions) == started
    assert [kill.message for kill in actions.kill] == killed
    assert actions.create_sandbox is (known.runtime.sandbox is None)
    assert actions.kill_pod is actions.create_sandbox


OVER: dict[str, ObservedPod] = {
    "succeeded": view(pod("a", restartPolicy="OnFailure"), container("a", "exited")),
    "failed": view(pod("a", restartPolicy="Never"), container("a", "exited", 1)),
    "init failed": view(pod("a", init=("i",), restartPolicy="Never"), container("i", "exited", 1)),
    "only a sidecar is left": view(
        pod("a", init=("s",), sidecars=("s",), restartPolicy="Never"),
        container("a", "exited"),
        container("s"),
    ),
    "the sandbox went after the work was done": view(
        pod("a", restartPolicy="OnFailure"),
        container("a", "exited"),
        sandboxes=(replace(SANDBOX, ready=False),),
    ),
    "the sandbox went and nothing is run twice": view(
        pod("a", restartPolicy="Never"),
        container("a", "exited", 1),
        sandboxes=(replace(SANDBOX, ready=False),),
    ),
}


@pytest.mark.parametrize("known", OVER.values(), ids=OVER.keys())
def test_a_pod_with_nothing_to_do_is_over(known: ObservedPod) -> None:
    actions = pod_actions(known)
    assert actions.kill_pod
    assert not actions.create_sandbox
    assert _started(actions) == "//"


def test_a_lost_sandbox_is_made_again() -> None:
    lost = (replace(SANDBOX, ready=False, attempt=2),)
    actions = pod_actions(view(pod("a"), container("a", "exited", 137), sandboxes=lost))
    assert (actions.kill_pod, actions.create_sandbox, actions.attempt) == (True, True, 3)
    assert _started(actions) == "//a"
