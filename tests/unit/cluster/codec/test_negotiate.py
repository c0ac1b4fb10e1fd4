"""Which format to answer in."""

from __future__ import annotations

import pytest

from steersman.cluster.codec import (
    DISCOVERY,
    PLAIN,
    RESOURCE,
    NotAcceptable,
    Representation,
    is_routed,
    negotiate,
    wants_pretty,
)
from steersman.cluster.schema.resources import GVK

JSON = "application/json"
YAML = "application/yaml"
TABLE = GVK("meta.k8s.io", "v1", "Table")
DISCOVERY_V2 = GVK("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")


@pytest.mark.parametrize(
    "accept, transforms, expected",
    [
        ("", PLAIN, Representation(JSON)),
        ("*/*", PLAIN, Representation(JSON)),
        ("application/*", PLAIN, Representation(JSON)),
        ("application/yaml", PLAIN, Representation(YAML)),
        ("application/json;q=0.5, application/yaml", PLAIN, Representation(YAML)),
        ("*/*, application/yaml", PLAIN, Representation(YAML)),
        ("application/vnd.kubernetes.protobuf, application/json", PLAIN, Representation(JSON)),
        ("application/vnd.kubernetes.protobuf,*/*", PLAIN, Representation(JSON)),
        ("application/json;pretty=1", PLAIN, Representation(JSON, pretty=True)),
        ("application/json;stream=watch", RESOURCE, Representation(JSON)),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            RESOURCE,
            Representation(JSON, TABLE),
        ),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", PLAIN, Representation(JSON)),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", RESOURCE, Representation(JSON)),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
            RESOURCE,
            Representation(JSON, GVK("meta.k8s.io", "v1beta1", "PartialObjectMetadataList")),
        ),
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,application/json",
            DISCOVERY,
            Representation(JSON, DISCOVERY_V2),
        ),
    ],
)
def test_the_best_acceptable_representation_is_chosen(
    accept: str, transforms: frozenset[GVK], expected: Representation
) -> None:
    assert negotiate(accept, transforms) == expected


@pytest.mark.parametrize(
    "accept, routed",
    [
        ("text/html", False),
        ("nonsense", False),
        (",", False),
        ("application/vnd.kubernetes.protobuf", True),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", True),
        ("text/html, application/json;stream=x", True),
    ],
)
def test_what_cannot_be_written_is_not_acceptable(accept: str, routed: bool) -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate(accept, PLAIN)
    assert is_routed(accept) is routed


@pytest.mark.parametrize("accept, routed", [("", True), ("application/*", False), ("*/*;q=0.1", True)])
def test_the_router_knows_no_ranges_but_one(accept: str, routed: bool) -> None:
    assert is_routed(accept) is routed
    assert negotiate(accept, PLAIN).media_type == JSON


def test_discovery_names_its_form_in_the_content_type() -> None:
    assert Representation(JSON, DISCOVERY_V2).content_type == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    assert Representation(JSON, TABLE).content_type == JSON


@pytest.mark.parametrize(
    "pretty, user_agent, expected",
    [
        (None, "curl/8", True),
        (None, "kubectl/v1.32", False),
        ("true", "kubectl/v1.32", True),
        ("false", "curl/8", False),
        ("", "Mozilla/5.0 (X)", True),
        ("nonsense", "curl/8", False),
    ],
)
def test_people_get_indented_answers(pretty: str | None, user_agent: str, expected: bool) -> None:
    assert wants_pretty(pretty, user_agent) is expected
