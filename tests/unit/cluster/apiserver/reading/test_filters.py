"""Which objects a list or watch is about."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.reading.filters import Filter
from steersman.cluster.apiserver.resources.resource import Catalog, Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.schema.resources import all_resources
from steersman.objects.status import StatusError

CATALOG = Catalog(all_resources())


def resource(plural: str, group: str = "", version: str = "v1") -> Resource:
    found = CATALOG.find(group, version, plural)
    assert found is not None
    return found


def at_rest(name: str, labels: dict[str, str] | None = None, **rest: Any) -> bytes:
    metadata = {"name": name, "namespace": "x", **({"labels": labels} if labels else {})}
    return stamp(encode({"metadata": metadata, **rest}), 5)


POD = at_rest(
    "p",
    {"app": "web", "tier": "front"},
    spec={"nodeName": "n1", "restartPolicy": "Always"},
    status={"phase": "Running"},
)


@pytest.mark.parametrize(
    ("labels", "fields", "selected"),
    [
        ("", "", True),
        ("app=web", "", True),
        ("app=db", "", False),
        ("app in (web,db),tier", "", True),
        ("!app", "", False),
        ("", "metadata.name=p", True),
        ("", "metadata.name!=p", False),
        ("", "metadata.namespace=x", True),
        ("", "metadata.namespace=y", False),
        ("", "status.phase=Running", True),
        ("", "status.phase!=Running", False),
        ("", "spec.nodeName=n1,metadata.name=p", True),
        ("", "spec.nodeName=n2", False),
        ("app=web", "spec.nodeName=n1", True),
        ("app=db", "spec.nodeName=n1", False),
        ("app=web", "spec.nodeName=n2", False),
    ],
)
def test_pods_by_labels_and_fields(labels: str, fields: str, selected: bool) -> None:
    chosen = Filter(resource("pods"), "x", labels, fields)
    assert chosen.matches(POD) is selected
    assert chosen.everything is (not labels and not fields)


def test_an_object_without_labels() -> None:
    bare = at_rest("a")
    assert Filter(resource("configmaps"), "", "!app", "").matches(bare)
    assert not Filter(resource("configmaps"), "", "app", "").matches(bare)


@pytest.mark.parametrize(
    ("plural", "group", "namespace", "scope"),
    [
        ("pods", "", "", "/core/pods/"),
        ("pods", "", "x", "/core/pods/x/"),
        ("deployments", "apps", "x", "/apps/deployments/x/"),
        ("nodes", "", "", "/core/nodes/"),
    ],
)
def test_the_scope_is_a_key_prefix(plural: str, group: str, namespace: str, scope: str) -> None:
    assert Filter(resource(plural, group), namespace, "", "").scope == scope


def test_equal_questions_have_equal_keys() -> None:
    pods = resource("pods")
    assert Filter(pods, "x", "a=b", "").key() == Filter(pods, "x", "a=b", "").key()
    assert Filter(pods, "x", "a=b", "").key() != Filter(pods, "y", "a=b", "").key()
    assert Filter(pods, "x", "a=b", "").key() != Filter(pods, "x", "", "metadata.name=a").key()


@pytest.mark.parametrize(
    ("plural", "labels", "fields", "message"),
    [
        ("pods", "a=(", "", None),
        ("pods", "", "metadata.name", None),
        ("pods", "", "spec.color=red", "field label not supported: spec.color"),
        (
            "configmaps",
            "",
            "data.k=v",
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_what_cannot_be_asked_is_a_bad_request(
    plural: str, labels: str, fields: str, message: str | None
) -> None:
    with pytest.raises(StatusError) as refused:
        Filter(resource(plural), "", labels, fields)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    if message is not None:
        assert refused.value.message == message
