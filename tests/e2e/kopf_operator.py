"""An operator as people write them with kopf: every widget has a config map, until the widget goes.

Started by test_kopf_operator.py with `kopf run`. It knows nothing of Steersman.
"""

# The clients' own types say less than their documentation, or nothing.
# mypy: disable-error-code="no-untyped-call, arg-type"

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import kopf
from kubernetes import client, config

GROUP = os.environ["WIDGETS_GROUP"]


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.persistence.finalizer = f"{GROUP}/operator"
    certificates = Path(os.environ["HOOK_CERTIFICATES"])
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="localhost",
        cafile=str(certificates / "ca.pem"),
        certfile=str(certificates / "hook.pem"),
        pkeyfile=str(certificates / "hook.key"),
    )
    settings.admission.managed = GROUP


@kopf.on.validate(GROUP, "v1", "widgets")
def small_enough(spec: kopf.Spec, warnings: list[str], **_: Any) -> None:
    if spec["size"] == 13:
        raise kopf.AdmissionError("13 brings bad luck", code=418)
    if spec["size"] > 50:
        warnings.append("that is a lot")


@kopf.on.mutate(GROUP, "v1", "widgets", operations=["CREATE"])
def labelled(patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.labels["seen-by"] = "kopf"


@kopf.on.create(GROUP, "v1", "widgets")
def created(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, **_: Any) -> dict[str, int]:
    child = {"metadata": {"name": name}, "data": {"size": str(spec["size"])}}
    kopf.adopt(child)
    client.CoreV1Api().create_namespaced_config_map(namespace, child)
    kopf.info(body, reason="Made", message=f"made {name}")
    return {"size": spec["size"]}


@kopf.on.update(GROUP, "v1", "widgets")
def resized(name: str, namespace: str, old: Any, new: Any, **_: Any) -> dict[str, int]:
    before, after = old["spec"]["size"], new["spec"]["size"]
    client.CoreV1Api().patch_namespaced_config_map(name, namespace, {"data": {"size": str(after)}})
    return {"before": before, "after": after}


@kopf.on.delete(GROUP, "v1", "widgets")
def deleted(name: str, namespace: str, annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    if "keep" in annotations:
        patch.status["kept"] = True
        raise kopf.TemporaryError("somebody still needs it", delay=0.2)
    client.CoreV1Api().delete_namespaced_config_map(name, namespace)
