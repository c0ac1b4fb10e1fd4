"""A valid pod as it is after defaulting, and the errors of spoiling its spec."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

Object = dict[str, Any]


@pytest.fixture
def container() -> Object:
    return {
        "name": "c",
        "image": "nginx",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }


@pytest.fixture
def pod(container: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "enableServiceLinks": True,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


@pytest.fixture
def spec_errors(pod: Object, created: Any) -> Callable[[Object], list[str]]:
    """The errors of creating the pod with these fields of its spec, where `spec.` is cut off."""

    def errors(spec: Object) -> list[str]:
        return [error.removeprefix("spec.") for error in created("", "Pod", pod, {"spec": spec})]

    return errors


@pytest.fixture
def container_errors(pod: Object, container: Object, created: Any) -> Callable[[Object], list[str]]:
    """The errors of creating the pod with these fields of its container, where its path is cut off."""

    def errors(fields: Object) -> list[str]:
        changed = {
            key: value for key, value in {**deepcopy(container), **fields}.items() if value is not None
        }
        found = created("", "Pod", pod, {"spec": {"containers": [changed]}})
        return [error.removeprefix("spec.containers[0].") for error in found]

    return errors
