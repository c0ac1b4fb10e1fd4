"""`kubectl debug` and `kubectl run -it`: containers that are made in order to be talked to."""

from __future__ import annotations

import pytest

from tests.e2e.streaming.talking import Talking
from tests.support.kubectl import WAIT, Kubectl

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

#: kubectl says so when it is attached.
PROMPTED = b"try pressing enter"


@pytest.fixture(params=[True, False], ids=["websocket", "spdy"])
def talking(kubectl: Kubectl, request: pytest.FixtureRequest) -> Talking:
    return Talking(kubectl, websockets=request.param)


@pytest.fixture
def debugged(kubectl: Kubectl) -> str:
    """A pod that knows nothing of shells."""
    container = {"name": "main", "image": "host/sleep", "args": ["1000"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    kubectl.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "quiet"}, "spec": spec})
    kubectl("wait", "--for=condition=Ready", "pod/quiet", WAIT)
    return "quiet"


def test_a_pod_is_debugged_from_a_terminal(talking: Talking, debugged: str) -> None:
    typed = [(PROMPTED, b"echo here is $((40 + 2)); exit 5\n")]
    said = talking.terminal("debug", "-it", debugged, "--image=host/sh", "-c", "look", typed=typed)
    assert b"here is 42" in said.out
    (status,) = talking.get(f"pod {debugged}")["status"]["ephemeralContainerStatuses"]
    assert (status["name"], status["state"]["terminated"]["exitCode"]) == ("look", 5)
    assert b"here is 42" in talking.pipe("logs", debugged, "-c", "look").out


def test_what_debugs_a_pod_can_be_come_back_to(talking: Talking, debugged: str) -> None:
    script = "while read line; do echo got $line; done"
    talking(
        "debug", "-i", "--attach=false", debugged, "--image=host/sh", "-c", "look", "--", "sh", "-c", script
    )
    talking.attempt("wait", "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}",
                    f"pod/{debugged}", WAIT)  # fmt: skip
    typed = [(b"", b"this\n")]
    assert (
        b"got this"
        in talking.terminal("attach", "-i", debugged, "-c", "look", typed=typed, until=b"got this").out
    )
    pod = talking.get(f"pod {debugged}")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_copy_of_a_pod_is_debugged(talking: Talking, debugged: str) -> None:
    talking("debug", debugged, "--copy-to=copy", "--container=main", "--image=host/sh", "--", "sh", "-c",
            "echo a copy; exec sleep 1000")  # fmt: skip
    talking("wait", "--for=condition=Ready", "pod/copy", WAIT)
    assert talking("logs", "copy", "-c", "main").out == "a copy\n"


def test_a_node_is_debugged(kubectl: Kubectl) -> None:
    talking = Talking(kubectl, websockets=True)
    (node,) = [item["metadata"]["name"] for item in kubectl.get("nodes")["items"]]
    script = "read line; ls -d /host/proc/$line; exit 3"
    said = talking.terminal(
        "debug", "-it", f"node/{node}", "--image=host/sh", "--", "sh", "-c", script,
        typed=[(PROMPTED, b"self\n")],
    )  # fmt: skip
    assert b"/host/proc/self" in said.out
    (pod,) = kubectl.get("pods")["items"]
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_pod_is_run_for_a_conversation(talking: Talking) -> None:
    typed = [(PROMPTED, b"echo $((6 * 7)) it is; exit 4\n")]
    said = talking.terminal("run", "-it", "--rm", "talk", "--image=host/sh", "--restart=Never", typed=typed)
    assert b"42 it is" in said.out
    assert b'pod "talk" deleted' in said.out
    assert talking.get("pods")["items"] == []


def test_a_pod_is_run_for_what_it_makes_of_its_input(talking: Talking) -> None:
    data = bytes(range(256)) * 1000
    said = talking.pipe("run", "-i", "--rm", "--quiet", "count", "--image=host/sh", "--restart=Never", "--",
                        "-c", "wc -c", stdin=data)  # fmt: skip
    assert (said.code, said.out.split()[0]) == (0, b"256000")
