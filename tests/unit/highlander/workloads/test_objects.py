"""What workloads become."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.highlander.config.specs import (
    CronJobSpec,
    PersistentSpec,
    ProcessSpec,
    ServiceSpec,
    WorkloadSpec,
)
from steersman.highlander.errors import ConfigError
from steersman.highlander.workloads import Part, Stamp, WorkloadKey, parts
from steersman.highlander.workloads.objects import GATE, has_gate, without_gate
from steersman.highlander.workloads.ownership import HASH, belongs_to, epoch_of
from steersman.operator.terms import TERM

Object = dict[str, Any]

STAMP = Stamp("shop", "controller 1/x", "primary", 7)
KINDS: dict[str, type[WorkloadSpec]] = {
    "process": ProcessSpec,
    "cronjob": CronJobSpec,
    "service": ServiceSpec,
    "persistent": PersistentSpec,
}


def made(kind: str, stamp: Stamp = STAMP, **fields: Any) -> list[Part]:
    given = {"name": "w", "image": "i", **({"schedule": "* * * * *"} if kind == "cronjob" else {}), **fields}
    spec = KINDS[kind].model_validate(given)
    return parts(spec, WorkloadKey(spec.kind, "ns", "w"), stamp)


def main(found: list[Part]) -> Object:
    return next(part.object for part in found if part.resource.kind != "Service")


def template(obj: Object) -> Object:
    match obj["kind"]:
        case "Pod":
            return obj
        case "CronJob":
            found: Object = obj["spec"]["jobTemplate"]["spec"]["template"]
        case _:
            found = obj["spec"]["template"]
    return found


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("process", {}, [("Pod", "w-pod")]),
        ("cronjob", {}, [("CronJob", "w")]),
        ("service", {}, [("Deployment", "w")]),
        ("service", {"ports": [{"containerPort": 80}]}, [("Deployment", "w"), ("Service", "w")]),
        ("persistent", {}, [("Service", "w"), ("StatefulSet", "w")]),
        ("persistent", {"serviceName": "peers"}, [("Service", "peers"), ("StatefulSet", "w")]),
    ],
)
def test_kinds_become_objects(kind: str, fields: Object, expected: list[tuple[str, str]]) -> None:
    assert [(part.resource.kind, part.name) for part in made(kind, **fields)] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_and_pod_says_whose_it_is_and_in_which_epoch(kind: str) -> None:
    found = made(kind, labels={"team": "blue", "tenant": "other"}, ports=[{"containerPort": 80}])
    for part in found:
        assert epoch_of(part.object) == 7
        assert belongs_to(part.object, "shop", WorkloadKey(KINDS[kind].kind, "ns", "w"))
        assert part.object["metadata"]["labels"]["team"] == "blue"
    pod = template(main(found))
    labels = pod["metadata"]["labels"]
    assert labels["app"] == "w"
    assert labels["managed-by"] == "highlander"
    assert labels["tenant"] == "shop"
    assert labels["is-leader"] == "true"
    assert labels["controller-id"] == "controller-1-x"
    assert labels["cluster-name"] == "primary"
    assert pod["metadata"]["annotations"][TERM] == "7"
    variables = {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}
    assert variables["HIGHLANDER_EPOCH"] == "7"


def test_sidecars_and_init_containers_know_the_epoch_too() -> None:
    other = {"name": "s", "image": "j", "env": {"HIGHLANDER_EPOCH": "0"}}
    pod = main(made("process", sidecars=[other], initContainers=[{**other, "name": "t"}]))
    for container in (*pod["spec"]["containers"], *pod["spec"]["initContainers"]):
        assert [each["value"] for each in container["env"] if each["name"] == "HIGHLANDER_EPOCH"] == ["7"]


def test_a_rollout_of_a_service_never_has_two_copies() -> None:
    assert main(made("service"))["spec"]["strategy"] == {"type": "Recreate"}


def test_a_cron_job_never_runs_twice_at_once() -> None:
    spec = main(made("cronjob"))["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["jobTemplate"]["spec"]["podReplacementPolicy"] == "Failed"


def test_what_people_say_of_a_pod_is_in_it() -> None:
    pod = main(
        made(
            "process",
            command=["run"],
            args=["fast"],
            env={"A": 1},
            envList=[{"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            resources={"cpuRequest": "1", "memoryLimit": "1Gi"},
            configMaps=["settings"],
            secrets=["keys"],
            serviceAccount="robot",
            imagePullSecrets=["pull"],
            tolerations=[{"operator": "Exists"}],
            affinity={"nodeAffinity": {}},
            securityContext={"runAsNonRoot": True},
            containerSecurityContext={"readOnlyRootFilesystem": True},
            readinessProbe={"exec": {"command": ["true"]}},
            nodeSelector={"zone": "a"},
            terminationGracePeriod="45s",
            volumes=[{"name": "scratch", "emptyDir": {}}],
            volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}],
        )
    )["spec"]
    container = pod["containers"][0]
    assert (container["command"], container["args"]) == (["run"], ["fast"])
    assert [each["name"] for each in container["env"]][-2:] == ["A", "B"]
    assert container["resources"] == {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}
    assert [each["mountPath"] for each in container["volumeMounts"]] == [
        "/etc/config/settings",
        "/etc/secrets/keys",
        "/scratch",
    ]
    assert container["securityContext"] == {"readOnlyRootFilesystem": True}
    assert container["readinessProbe"] == {"exec": {"command": ["true"]}}
    assert pod["serviceAccountName"] == "robot"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["affinity"] == {"nodeAffinity": {}}
    assert pod["securityContext"] == {"runAsNonRoot": True}
    assert pod["nodeSelector"] == {"zone": "a"}
    assert pod["terminationGracePeriodSeconds"] == 45


@pytest.mark.parametrize("kind", ["service", "cronjob"])
def test_pods_that_have_no_name_of_their_own_are_kept_apart(kind: str) -> None:
    own = {"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {}, "podAntiAffinity": {required: [own]}}
    made_template = template(main(made(kind, affinity=affinity)))
    found = made_template["spec"]["affinity"]
    kept, ours = found["podAntiAffinity"][required]
    assert (found["nodeAffinity"], kept) == ({}, own)
    labels = made_template["metadata"]["labels"]
    assert ours["labelSelector"]["matchLabels"].items() <= labels.items()
    assert ours["topologyKey"] == "kubernetes.io/os"


def test_replicas_of_a_service_may_be_beside_each_other() -> None:
    assert "affinity" not in template(main(made("service", replicas=2)))["spec"]


def test_a_script_ends_at_the_first_command_that_fails() -> None:
    container = main(made("process", script={"commands": ["one", "two"], "shell": "/bin/bash"}))["spec"][
        "containers"
    ][0]
    assert container["command"] == ["/bin/bash", "-c", "set -e\none\ntwo"]


def test_a_health_check_is_a_probe_unless_one_is_given() -> None:
    spec = {"healthCheckPath": "/up", "healthCheckPort": 81, "livenessProbe": {"tcpSocket": {"port": 1}}}
    container = main(made("service", **spec))["spec"]["template"]["spec"]["containers"][0]
    assert container["readinessProbe"] == {"httpGet": {"path": "/up", "port": 81}}
    assert container["livenessProbe"] == {"tcpSocket": {"port": 1}}


def test_claims_of_a_persistent_set() -> None:
    volume = {"name": "data", "mountPath": "/data", "size": "2Gi", "storageClassName": "fast"}
    spec = main(made("persistent", persistentVolumes=[volume]))["spec"]
    assert spec["volumeClaimTemplates"] == [
        {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "resources": {"requests": {"storage": "2Gi"}},
            },
        }
    ]
    mounts = spec["template"]["spec"]["containers"][0]["volumeMounts"]
    assert mounts == [{"name": "data", "mountPath": "/data"}]


def test_a_patch_is_merged_by_names_and_cannot_take_the_epoch_away() -> None:
    patch = {
        "metadata": {"labels": {"tenant": "stolen", "extra": "yes"}},
        "spec": {
            "hostNetwork": True,
            "containers": [{"name": "w", "env": [{"name": "HIGHLANDER_EPOCH", "value": "99"}], "tty": True}],
        },
    }
    pod = main(made("process", podTemplatePatch=patch, env={"A": "1"}))
    assert pod["spec"]["hostNetwork"] is True
    (container,) = pod["spec"]["containers"]
    assert container["tty"] is True
    assert container["image"] == "i"
    values = {each["name"]: each["value"] for each in container["env"]}
    assert values["HIGHLANDER_EPOCH"] == "7"
    assert values["A"] == "1"
    assert pod["metadata"]["labels"]["tenant"] == "shop"
    assert pod["metadata"]["labels"]["extra"] == "yes"


def test_a_patch_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="podTemplatePatch"):
        made("process", podTemplatePatch={"spec": {"containers": [{"tty": True}]}})


def test_a_pods_hash_is_of_what_people_wrote_not_of_who_leads() -> None:
    def hashed(stamp: Stamp = STAMP, **fields: Any) -> str:
        found: str = main(made("process", stamp, **fields))["metadata"]["annotations"][HASH]
        return found

    assert hashed() == hashed(Stamp("shop", "another", "elsewhere", 8))
    assert hashed() != hashed(env={"A": "1"})


@pytest.mark.parametrize(
    ("patch", "gates"),
    [
        ({}, [GATE]),
        ({"schedulingGates": [{"name": "mine"}]}, ["mine", GATE]),
        # Nobody schedules it.
        ({"nodeName": "n"}, []),
    ],
    ids=["alone", "beside people's own", "a pod that has its node"],
)
def test_a_process_is_made_behind_a_gate(patch: Object, gates: list[str]) -> None:
    pod = main(made("process", podTemplatePatch={"spec": patch}))
    assert [gate["name"] for gate in pod["spec"].get("schedulingGates", ())] == gates
    assert has_gate(pod) is (GATE in gates)


def test_a_gate_is_taken_from_the_pod_that_was_seen() -> None:
    pod = main(made("process"))
    pod["metadata"]["resourceVersion"] = "7"
    patch = without_gate(pod)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert [gate["name"] for gate in patch["spec"]["schedulingGates"]] == [GATE]
