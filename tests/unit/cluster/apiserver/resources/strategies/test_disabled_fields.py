from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from steersman.cluster.apiserver.resources.strategies import strategy_for

Object = dict[str, Any]
Make = Callable[..., Object]

SPEC: Object = {
    "schedulingGroup": {"podGroupName": "g"},
    "volumes": [
        {"name": "e", "emptyDir": {"mode": 448}},
        {
            "name": "s",
            "secret": {"secretName": "s", "defaultUser": 1, "items": [{"key": "k", "path": "p", "user": 2}]},
        },
    ],
    "containers": [
        {
            "name": "c",
            "image": "i",
            "lifecycle": {"stopSignal": "SIGTERM"},
            "readinessProbe": {"httpGet": {"port": 1, "protocol": "HTTP1"}},
            "volumeMounts": [{"name": "e", "mountPath": "/e", "bindMountOptions": ["noexec"]}],
        }
    ],
}


def test_fields_of_features_that_are_off_are_dropped(make: Make) -> None:
    pod = make("v1", "Pod", spec=SPEC)
    strategy_for("", "pods").prepare_create(pod)
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert "schedulingGroup" not in spec
    assert spec["volumes"][0]["emptyDir"] == {}
    assert spec["volumes"][1]["secret"] == {
        "secretName": "s",
        "defaultMode": 420,
        "items": [{"key": "k", "path": "p"}],
    }
    assert "lifecycle" not in container
    assert "protocol" not in container["readinessProbe"]["httpGet"]
    assert container["volumeMounts"] == [{"name": "e", "mountPath": "/e"}]


def test_what_an_object_already_uses_stays(make: Make) -> None:
    old = make("apps/v1", "Deployment", spec={"template": {"spec": SPEC}})
    new = deepcopy(old)
    new["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["stopSignal"] = "SIGINT"
    expected = deepcopy(new["spec"])
    strategy_for("apps", "deployments").prepare_update(new, old)
    assert new["spec"] == expected


def test_annotations_from_before_init_containers_were_fields_are_dropped(make: Make) -> None:
    annotations = {"pod.beta.kubernetes.io/init-containers": "[]", "mine": "1"}
    pod = make("v1", "Pod", {"annotations": annotations})
    strategy_for("", "pods").prepare_create(pod)
    assert pod["metadata"]["annotations"] == {"mine": "1"}
