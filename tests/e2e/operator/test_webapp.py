"""The WebApp example as its users run it: `steer run` in a process of its own, and kubectl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import Steer

from .operators import OperatorProcess, running

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("webapps")]

FINALIZER = "webapp.example.com/finalizer"
CONTROLLER = "webapps.example.com"
RESULTS = ("success", "error", "requeue", "requeue_after")
#: The metrics that users of other frameworks know, by their labels; all are there from the first scrape.
OF_CONTROLLER = [
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_reconcile_panics_total",
    "controller_runtime_reconcile_time_seconds_count",
    "controller_runtime_reconcile_timeouts_total",
    "controller_runtime_terminal_reconcile_errors_total",
    "reconcile_duration_seconds_count",
    "reconcile_errors_total",
]
OF_QUEUE = [
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds_count",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds_count",
]
METRICS = [
    *(f'{name}{{controller="{CONTROLLER}"}}' for name in OF_CONTROLLER),
    *(f'{name}{{controller="{CONTROLLER}",name="{CONTROLLER}"}}' for name in OF_QUEUE),
    *(
        f'{name}{{controller="{CONTROLLER}",result="{result}"}}'
        for name in ("controller_runtime_reconcile_total", "reconcile_total")
        for result in RESULTS
    ),
    'leader_election_master_status{name="webapp-operator"}',
]
#: Those whose label values are not known before something has happened.
FAMILIES = [
    "controller_runtime_webhook_latency_seconds",
    "controller_runtime_webhook_panics_total",
    "controller_runtime_webhook_requests_in_flight",
    "controller_runtime_webhook_requests_total",
    "rest_client_requests_total",
]


@pytest.fixture
def operator(server: Steer, kubectl: Kubectl, webapp: Path, tmp_path: Path) -> Iterator[OperatorProcess]:
    options = ("--namespace", kubectl.namespace)
    with running(webapp, server.kubeconfig, tmp_path / "log", *options) as process:
        process.wait_ready()
        yield process
        assert process.stop() == 0


def wait(kubectl: Kubectl, what: str, condition: str) -> None:
    kubectl("wait", what, f"--for={condition}", WAIT)


def phase(kubectl: Kubectl, name: str, expected: str) -> None:
    wait(kubectl, f"webapp/{name}", f"jsonpath={{.status.phase}}={expected}")


def roll_out(kubectl: Kubectl, name: str) -> None:
    """What the cluster's controllers and nodes would do."""
    deployment = kubectl.get(f"deployment {name}")
    count = deployment["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
    status = {"observedGeneration": deployment["metadata"]["generation"], **counts}
    patch = json.dumps({"status": status})
    kubectl("patch", "deployment", name, "--subresource=status", "--type=merge", "-p", patch)


def conditions(kubectl: Kubectl, name: str) -> dict[str, tuple[str, str]]:
    found = kubectl.get(f"webapp {name}")["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def samples(text: str) -> dict[str, float]:
    """The values of a scrape by name and sorted labels."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def test_a_webapp_lives_its_life(operator: OperatorProcess, kubectl: Kubectl, app: Any) -> None:
    kubectl.create(app("web", replicas=2))
    phase(kubectl, "web", "WaitingForPods")
    check_children(kubectl)
    assert conditions(kubectl, "web")["Ready"] == ("False", "WaitingForPods")

    roll_out(kubectl, "web")
    wait(kubectl, "webapp/web", "condition=Ready")
    ready = kubectl.get("webapp web")["status"]
    assert (ready["phase"], ready["availableReplicas"], ready["observedGeneration"]) == ("Ready", 2, 1)

    kubectl("scale", "webapp/web", "--replicas=4")
    phase(kubectl, "web", "Scaling")
    wait(kubectl, "deployment/web", "jsonpath={.spec.replicas}=4")
    roll_out(kubectl, "web")
    wait(kubectl, "webapp/web", "condition=Ready")
    assert kubectl.get("webapp web")["status"]["availableReplicas"] == 4

    kubectl("delete", "webapp", "web", WAIT)
    assert kubectl("get", "deployments,services", "-o", "name").lines == []
    reasons = {event["reason"] for event in kubectl.get("events")["items"]}
    assert reasons == {"Reconciling", "WaitingForPods", "Ready", "Scaling", "Deleting"}


def check_children(kubectl: Kubectl) -> None:
    made = kubectl.get("webapp web")
    assert made["metadata"]["finalizers"] == [FINALIZER]
    for child in (kubectl.get("deployment web"), kubectl.get("service web")):
        [owner] = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("WebApp", made["metadata"]["uid"], True)
    [container] = kubectl.get("deployment web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:1.25"
    assert kubectl("get", "webapps").rows[0][:4] == ["web", "nginx:1.25", "2", "0"]


def test_what_is_broken_by_hand_is_repaired(operator: OperatorProcess, kubectl: Kubectl, app: Any) -> None:
    kubectl.create(app("web", replicas=2))
    phase(kubectl, "web", "WaitingForPods")
    for what in ("deployment", "service"):
        before = kubectl.get(f"{what} web")["metadata"]["uid"]
        kubectl("delete", what, "web")
        wait(kubectl, f"{what}/web", "create")
        assert kubectl.get(f"{what} web")["metadata"]["uid"] != before

    kubectl("scale", "deployment/web", "--replicas=9")
    wait(kubectl, "deployment/web", "jsonpath={.spec.replicas}=2")
    kubectl("set", "image", "deployment/web", "app=evil:1")
    image = "{.spec.template.spec.containers[0].image}"
    wait(kubectl, "deployment/web", f"jsonpath={image}=nginx:1.25")
    kubectl("patch", "service", "web", "--type=merge", "-p", '{"spec":{"selector":{"app":"other"}}}')
    wait(kubectl, "service/web", "jsonpath={.spec.selector.app}=web")
    kubectl("label", "deployment", "web", "team=blue")  # what it does not manage it leaves alone
    kubectl("patch", "webapp", "web", "--type=merge", "-p", '{"spec":{"image":"nginx:1.27"}}')
    wait(kubectl, "deployment/web", f"jsonpath={image}=nginx:1.27")
    assert kubectl.get("deployment web")["metadata"]["labels"]["team"] == "blue"


def test_a_webapp_deleted_while_nobody_looks_is_cleaned_up_later(
    server: Steer, kubectl: Kubectl, webapp: Path, app: Any, tmp_path: Path
) -> None:
    options = ("--namespace", kubectl.namespace)
    with running(webapp, server.kubeconfig, tmp_path / "first", *options) as operator:
        operator.wait_ready()
        kubectl.create(app("web"))
        phase(kubectl, "web", "WaitingForPods")
        assert operator.stop() == 0
    kubectl("delete", "webapp", "web", "--wait=false")
    kubectl("delete", "service", "web")
    assert kubectl.get("webapp web")["metadata"]["finalizers"] == [FINALIZER]
    with running(webapp, server.kubeconfig, tmp_path / "second", *options) as operator:
        wait(kubectl, "webapp/web", "delete")
        assert operator.stop() == 0
    assert kubectl("get", "deployments", "-o", "name").lines == []


def test_probes_metrics_and_log(operator: OperatorProcess, kubectl: Kubectl, app: Any) -> None:
    metrics = samples(operator.get("/metrics")[1])
    assert [name for name in METRICS if name not in metrics] == []
    kubectl.create(app("web"))
    phase(kubectl, "web", "WaitingForPods")

    assert operator.get("/healthz") == (200, "ok")
    code, text = operator.get("/readyz?verbose")
    assert code == 200
    assert {"[+]informer-sync ok", "[+]leader-election ok"} <= set(text.splitlines())

    text = operator.get("/metrics")[1]
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert [name for name in FAMILIES if name not in families] == []
    metrics = samples(text)
    assert metrics['leader_election_master_status{name="webapp-operator"}'] == 1
    assert metrics[f'reconcile_total{{controller="{CONTROLLER}",result="requeue_after"}}'] >= 1
    assert any(name.startswith("rest_client_requests_total{") for name in metrics)

    line = next(line for line in operator.lines if "reconcile_id" in line)
    assert line["message"] == "Created → Reconciling"
    assert (line["controller"], line["object"]) == (CONTROLLER, f"{kubectl.namespace}/web")
    assert line["reasons"] == ["added"]
