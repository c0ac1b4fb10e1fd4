"""The JSON Schema says of a file what loading it says."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
import yaml

from steersman.highlander.config import json_schema
from tests.unit.highlander.config.test_loading import PUBLIC


@pytest.mark.parametrize(
    ("document", "valid"),
    [
        pytest.param(yaml.safe_load(PUBLIC), True, id="public-file"),
        pytest.param({"tenants": [{"tenant": "a"}]}, True, id="tenants"),
        pytest.param({"prot": 1}, False, id="unknown-key"),
        pytest.param({"port": "x"}, False, id="wrong-type"),
        pytest.param({"storageType": "etcd"}, False, id="unknown-storage"),
        pytest.param({"workloads": {"processes": [{"imgae": "x"}]}}, False, id="unknown-key-deep-down"),
    ],
)
def test_documents(document: Any, valid: bool) -> None:
    assert jsonschema_rs.validator_for(json_schema()).is_valid(document) is valid
