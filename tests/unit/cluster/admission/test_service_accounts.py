"""ServiceAccount."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.cluster.admission.service_accounts import ServiceAccount
from steersman.objects.status import StatusError

from .conftest import Object, Stored, write
from .refusals import ask, refused, why

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MIRROR = {"kubernetes.io/config.mirror": "x"}
ENFORCED = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "resources": {}}], **spec}}


def add(stored: Stored, name: str = "default", **rest: Any) -> ServiceAccount:
    stored.add("", "serviceaccounts", name, **rest)
    return ServiceAccount(stored)


def test_a_pod_runs_as_default_and_finds_its_token(stored: Stored) -> None:
    new = pod(initContainers=[{"name": "i", "resources": {}}])
    ask(add(stored), write("pods", new))
    spec = new["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert len(volume["name"]) == len("kube-api-access-") + 5
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
    for field in ("containers", "initContainers"):
        assert spec[field][0]["volumeMounts"] == [mount]


def test_asked_once_more_a_pod_keeps_its_volume(stored: Stored) -> None:
    plugin, new = add(stored), pod()
    attributes = write("pods", new)
    ask(plugin, attributes)
    new["spec"]["containers"].append({"name": "late", "resources": {}})
    ask(plugin, attributes)
    (volume,) = new["spec"]["volumes"]
    mounts = [container["volumeMounts"] for container in new["spec"]["containers"]]
    assert [[mount["name"] for mount in each] for each in mounts] == [[volume["name"]]] * 2


@pytest.mark.parametrize(
    ("account", "own", "mounted"),
    [
        (None, None, True),
        (False, None, False),
        (False, True, True),
        (True, False, False),
        (None, False, False),
    ],
)
def test_the_pods_wish_for_a_token_wins_over_its_accounts(
    stored: Stored, account: bool | None, own: bool | None, mounted: bool
) -> None:
    plugin = add(stored, **({} if account is None else {"automountServiceAccountToken": account}))
    new = pod(**({} if own is None else {"automountServiceAccountToken": own}))
    ask(plugin, write("pods", new))
    assert ("volumes" in new["spec"]) is mounted


def test_a_mount_in_the_tokens_place_keeps_it_out(stored: Stored) -> None:
    new = pod()
    new["spec"]["containers"][0]["volumeMounts"] = [{"name": "mine", "mountPath": PATH}]
    ask(add(stored), write("pods", new))
    assert "volumes" not in new["spec"]


def test_pull_secrets_come_from_the_account_unless_given(stored: Stored) -> None:
    plugin = add(stored, imagePullSecrets=[{"name": "registry"}])
    new, own = pod(), pod(imagePullSecrets=[{"name": "mine"}])
    ask(plugin, write("pods", new))
    ask(plugin, write("pods", own))
    assert new["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert own["spec"]["imagePullSecrets"] == [{"name": "mine"}]


def test_the_account_must_exist(stored: Stored) -> None:
    error = refused(add(stored), write("pods", pod(serviceAccountName="x")))
    assert error.message == (
        'pods "a" is forbidden: error looking up service account default/x: serviceaccount "x" not found'
    )


def test_a_missing_default_is_waited_for_then_refused(stored: Stored) -> None:
    plugin = ServiceAccount(stored, retry_s=0)
    attributes = write("pods", pod())

    async def run() -> None:
        pending = plugin.admit(attributes)
        assert pending is not None
        await pending

    with pytest.raises(StatusError, match='default/default: serviceaccount "default" not found'):
        asyncio.run(run())


def test_a_default_that_comes_a_moment_later_is_found(stored: Stored) -> None:
    plugin = ServiceAccount(stored, retry_s=0)
    attributes = write("pods", pod())

    async def run() -> None:
        pending = plugin.admit(attributes)
        assert pending is not None
        add(stored)
        await pending

    asyncio.run(run())
    assert attributes.object is not None
    assert "volumes" in attributes.object["spec"]


def test_leniently_only_the_default_may_be_missing(stored: Stored) -> None:
    plugin = ServiceAccount(stored, lenient_default=True)
    new = pod()
    ask(plugin, write("pods", new))
    assert new["spec"]["serviceAccountName"] == "default"
    assert "volumes" in new["spec"]
    assert "not found" in why(plugin, write("pods", pod(serviceAccountName="x")))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"imagePullSecrets": [{"name": "s"}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "a mirror pod may not reference secrets",
        ),
        (
            {"volumes": [{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]},
            "a mirror pod may not reference secrets",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
def test_mirror_pods_mention_neither_accounts_nor_secrets(
    stored: Stored, spec: Object, expected: str
) -> None:
    new = pod(**spec)
    new["metadata"]["annotations"] = dict(MIRROR)
    assert why(ServiceAccount(stored), write("pods", new)) == expected


def test_mirror_pods_stay_as_they_are(stored: Stored) -> None:
    new = pod()
    new["metadata"]["annotations"] = dict(MIRROR)
    before = {**new["spec"]}
    ask(ServiceAccount(stored), write("pods", new))
    assert new["spec"] == before


ENVIRONMENT = {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}
WHOLE_ENVIRONMENT = {"envFrom": [{"secretRef": {"name": "s"}}]}
TAIL = "is not allowed because service account default does not reference that secret"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            f'volume with secret.secretName="s" {TAIL}',
        ),
        (
            {"containers": [{"name": "c", **ENVIRONMENT}]},
            f'container c with envVar E referencing secret.secretName="s" {TAIL}',
        ),
        (
            {"initContainers": [{"name": "i", **WHOLE_ENVIRONMENT}]},
            f'init container i with envFrom referencing secret.secretName="s" {TAIL}',
        ),
        (
            {"imagePullSecrets": [{"name": "s"}]},
            'imagePullSecrets[0].name="s" is not allowed because service account default does not reference '
            "that imagePullSecret",
        ),
    ],
)
def test_an_account_may_list_the_secrets_its_pods_use(stored: Stored, spec: Object, expected: str) -> None:
    plugin = add(stored, metadata=ENFORCED, secrets=[{"name": "other"}])
    assert why(plugin, write("pods", pod(**spec))) == expected
    stored.objects.clear()
    plugin = add(stored, metadata=ENFORCED, secrets=[{"name": "s"}], imagePullSecrets=[{"name": "s"}])
    ask(plugin, write("pods", pod(**spec)))


def test_ephemeral_containers_are_held_to_the_list_too(stored: Stored) -> None:
    plugin = add(stored, metadata=ENFORCED)
    new = pod(serviceAccountName="default", ephemeralContainers=[{"name": "e", **ENVIRONMENT}])
    update = write("pods", new, operation="UPDATE", subresource="ephemeralcontainers", old=pod())
    error = refused(plugin, update)
    assert error.code == 500
    assert error.message == f'ephemeral container e with envVar E referencing secret.secretName="s" {TAIL}'


def test_interest(stored: Stored) -> None:
    handles = ServiceAccount(stored).handles
    assert handles("CREATE", "", "pods", "")
    assert handles("UPDATE", "", "pods", "ephemeralcontainers")
    assert not handles("UPDATE", "", "pods", "")
    assert not handles("CREATE", "", "pods", "eviction")
    assert not handles("CREATE", "apps", "deployments", "")
