"""The values of fields, as OpenAPI shows them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.schema.enums import enumerations
from steersman.cluster.schema.openapi import OpenAPI
from steersman.cluster.schema.table import table
from steersman.cluster.schema.version import KUBERNETES_VERSION

CORE = "io.k8s.api.core.v1."


def test_every_field_named_is_there_and_has_strings() -> None:
    for name, fields in enumerations().items():
        properties = table()[name]["properties"]
        for field, values in fields.items():
            shape = properties[field]
            shape = shape.get("items") or shape.get("additionalProperties") or shape
            assert shape["type"] == "string", (name, field)
            assert values == sorted(set(values)), (name, field)
            assert len(values) > 1


@pytest.fixture(scope="module", params=[2, 3])
def schemas(request: pytest.FixtureRequest) -> Any:
    openapi = OpenAPI(f"v{KUBERNETES_VERSION}")
    if request.param == 2:
        return orjson.loads(openapi.v2_json().body)["definitions"]
    document = openapi.group_version("api/v1")
    assert document is not None
    return orjson.loads(document.body)["components"]["schemas"]


def test_fields_items_and_values(schemas: Any) -> None:
    spec = schemas[CORE + "PodSpec"]["properties"]
    assert spec["restartPolicy"]["enum"] == ["Always", "Never", "OnFailure"]
    assert "enum" not in spec["nodeName"]
    claim = schemas[CORE + "PersistentVolumeClaimSpec"]["properties"]
    assert claim["accessModes"]["items"]["enum"][0] == "ReadOnlyMany"
    status = schemas[CORE + "PersistentVolumeClaimStatus"]["properties"]
    assert len(status["allocatedResourceStatuses"]["additionalProperties"]["enum"]) == 5
    assert schemas[CORE + "HostPathVolumeSource"]["properties"]["type"]["enum"][:2] == ["", "BlockDevice"]
