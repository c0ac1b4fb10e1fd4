"""A kopf operator, as it is, with the rights of its own service account: handlers, finalizer, webhooks, events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.cluster.auth.pki import StoredAuthority
from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S, Steer

from .widgets import definition, widget

pytestmark = pytest.mark.slow

pytest.importorskip("kopf")

GROUP = "kopf.example.com"
FINALIZER = f"{GROUP}/operator"
KOPF = Path(sys.executable).with_name("kopf")


def rule(verbs: str, group: str, *resources: str) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": list(resources)}


#: What kopf's documentation asks for, and what the handlers do themselves.
RULES = [
    rule("list watch", "apiextensions.k8s.io", "customresourcedefinitions"),
    rule("list watch", "", "namespaces"),
    rule("create patch get list", "admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    rule("create patch get list", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    rule("list watch patch get", GROUP, "widgets", "widgets/status"),
    rule("create", "", "events"),
    rule("create patch delete", "", "configmaps"),
]


def account_config(server: Steer, kubectl: Kubectl, file: Path) -> None:
    """A kubeconfig of a service account that may do just what the rules say."""
    kubectl("create", "serviceaccount", "operator")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": RULES}
    kubectl.create({**role, "metadata": {"name": "kopf-operator"}})
    account = f"{kubectl.namespace}:operator"
    kubectl(
        "create", "clusterrolebinding", "kopf", "--clusterrole=kopf-operator", f"--serviceaccount={account}"
    )
    token = kubectl("create", "token", "operator").out.strip()
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file.write_text(yaml.safe_dump(config))


@contextmanager
def operator(namespace: str, folder: Path) -> Iterator[None]:
    """`kopf run` for the time of the block. What it says is shown when something in the block fails."""
    authority = StoredAuthority.make("hooks-authority")
    pair = authority.issue("hook", names=["localhost"], server=True)
    (folder / "ca.pem").write_bytes(authority.pem)
    (folder / "hook.pem").write_bytes(pair.certificate)
    (folder / "hook.key").write_bytes(pair.key)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "WIDGETS_GROUP": GROUP,
        "HOOK_CERTIFICATES": str(folder),
    }
    program = Path(__file__).with_name("kopf_operator.py")
    command = [str(KOPF), "run", "--standalone", f"--namespace={namespace}", str(program)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield
        except BaseException as error:
            error.add_note((folder / "log").read_text())
            raise
        finally:
            process.terminate()
            code = process.wait(DEADLINE_S)
    assert code == 0, (folder / "log").read_text()


def wait(kubectl: Kubectl, what: str, condition: str) -> None:
    kubectl("wait", what, f"--for={condition}", WAIT)


def test_an_operator_lives_its_life(server: Steer, kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(definition(GROUP))
    wait(kubectl, f"crd/widgets.{GROUP}", "condition=Established")
    account_config(server, kubectl, tmp_path / "kubeconfig")
    kubectl.create(widget(GROUP, "early", 3))
    with operator(kubectl.namespace, tmp_path):
        wait(kubectl, "widget/early", "jsonpath={.status.created.size}=3")
        check_event(kubectl)
        check_handlers(kubectl)
        check_webhooks(kubectl)
        check_finalizer(kubectl)
        kubectl("delete", "widget", "--all")
        assert "configmap/early" not in kubectl("get", "configmaps", "-o", "name").lines
    kubectl("delete", "crd", f"widgets.{GROUP}")


def check_event(kubectl: Kubectl) -> None:
    """The operator posts its events beside its other work: watch until the first one comes."""
    process = kubectl.start("get", "events", "--watch", "--output-watch-events", "-o", "json")
    assert process.stdout
    hanging = threading.Timer(DEADLINE_S, process.kill)
    hanging.start()
    try:
        event = json.loads(process.stdout.readline())["object"]
    finally:
        hanging.cancel()
        process.kill()
        process.communicate()
    assert (event["reason"], event["message"], event["type"]) == ("Made", "made early", "Normal")
    assert event["involvedObject"]["kind"] == "Widget"


def check_handlers(kubectl: Kubectl) -> None:
    made = kubectl.get("widget early")
    assert made["metadata"]["finalizers"] == [FINALIZER]
    [owner] = kubectl.get("configmap early")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Widget", "early", made["metadata"]["uid"])
    kubectl("patch", "widget", "early", "--type=merge", "-p", '{"spec":{"size":5}}')
    wait(kubectl, "widget/early", "jsonpath={.status.resized.after}=5")
    assert kubectl.get("widget early")["status"]["resized"] == {"before": 3, "after": 5}
    assert kubectl.get("configmap early")["data"] == {"size": "5"}


def check_webhooks(kubectl: Kubectl) -> None:
    # The operator registers its webhooks on its own time; a refusal says that they are there.
    kubectl("wait", "validatingwebhookconfiguration", GROUP, "--for=create", WAIT)
    kubectl("wait", "mutatingwebhookconfiguration", GROUP, "--for=create", WAIT)
    said = kubectl.fails("create", "-f", "-", stdin=widget(GROUP, "unlucky", 13))
    assert "13 brings bad luck" in said
    done = kubectl.create(widget(GROUP, "large", 60))
    assert done.err == "Warning: that is a lot\n"
    assert kubectl.get("widget large")["metadata"]["labels"] == {"seen-by": "kopf"}
    wait(kubectl, "widget/large", "jsonpath={.status.created.size}=60")


def check_finalizer(kubectl: Kubectl) -> None:
    kubectl("annotate", "widget", "large", "keep=yes")
    kubectl("delete", "widget", "large", "--wait=false")
    wait(kubectl, "widget/large", "jsonpath={.status.kept}=true")
    kept = kubectl.get("widget large")["metadata"]
    assert kept["deletionTimestamp"]
    assert kept["finalizers"] == [FINALIZER]
    kubectl("annotate", "widget", "large", "keep-")
    wait(kubectl, "widget/large", "delete")
    wait(kubectl, "configmap/large", "delete")
