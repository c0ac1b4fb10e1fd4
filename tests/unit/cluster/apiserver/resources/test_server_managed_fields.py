"""What the server writes itself has owners, as kube-apiserver records them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.api import ApiClient, Object, api, with_api

CONDITION = ("f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type")


def fields(*names: str, **deeper: Any) -> Object:
    return {name: {} for name in names} | {f"f:{name}": inner for name, inner in deeper.items()}


def conditions(*kinds: str, without: str = "") -> Object:
    names = [name for name in CONDITION if name != without]
    return {f'k:{{"type":"{kind}"}}': fields(".", *names) for kind in kinds}


def owners(obj: Object) -> list[tuple[str, str, str, Object]]:
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""), entry["fieldsV1"])
        for entry in obj["metadata"]["managedFields"]
    ]


SERVER = ("kube-apiserver", "Update", "")
AUTO_UPDATED = fields(
    annotations=fields(".", "f:rbac.authorization.kubernetes.io/autoupdate"),
    labels=fields(".", "f:kubernetes.io/bootstrapping"),
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "/api/v1/namespaces/default",
            [(*SERVER, fields(metadata=fields(labels=fields(".", "f:kubernetes.io/metadata.name"))))],
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
            [(*SERVER, fields("f:description", "f:preemptionPolicy", "f:value"))],
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery",
            [(*SERVER, fields("f:rules", metadata=AUTO_UPDATED))],
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin",
            [(*SERVER, fields("f:roleRef", "f:subjects", metadata=AUTO_UPDATED))],
        ),
        (
            "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
            [
                (
                    "kubernetes-service-cidr-controller",
                    "Apply",
                    "status",
                    fields(status=fields(conditions=conditions("Ready", without="f:reason"))),
                ),
                (*SERVER, fields(spec=fields("f:cidrs"))),
            ],
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all",
            [
                (
                    "api-priority-and-fairness-config-consumer-v1",
                    "Apply",
                    "status",
                    fields(status=fields(conditions=conditions("Dangling"))),
                ),
                (
                    "api-priority-and-fairness-config-producer-v1",
                    "Update",
                    "",
                    fields(
                        metadata=fields(annotations=fields(".", "f:apf.kubernetes.io/autoupdate-spec")),
                        spec=fields(
                            "f:matchingPrecedence",
                            "f:rules",
                            distinguisherMethod=fields(".", "f:type"),
                            priorityLevelConfiguration=fields("f:name"),
                        ),
                    ),
                ),
            ],
        ),
    ],
)
def test_what_is_there_from_the_start(path: str, expected: list[tuple[str, str, str, Object]]) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        assert owners(await client.ok("GET", path)) == expected

    check()


@with_api
async def test_the_apis_own_service_has_no_owner_of_what_was_allocated(client: ApiClient) -> None:
    [(manager, _, _, owned)] = owners(
        await client.ok("GET", "/api/v1/namespaces/default/services/kubernetes")
    )
    assert manager == "kube-apiserver"
    assert "f:clusterIP" in owned["f:spec"]
    assert not {"f:clusterIPs", "f:ipFamilies"} & owned["f:spec"].keys()


def test_a_cluster_without_controllers_gathers_no_rules() -> None:
    async def body() -> None:
        async with api(controllers=()) as client:
            view = await client.ok("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
            assert view["rules"] is None
            assert [manager for manager, *_ in owners(view)] == ["kube-apiserver"]

    asyncio.run(body())
