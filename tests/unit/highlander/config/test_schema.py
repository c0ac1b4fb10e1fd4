"""The JSON Schema says of a file what loading it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from steersman.highlander.config import json_schema, load
from steersman.highlander.config.loading import ENVIRONMENT
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


PAGE = Path(__file__).parents[4] / "docs" / "highlander.md"
EXAMPLES = [
    text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "kind:" not in text
]


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_docs_are_good(tmp_path: Path, text: str) -> None:
    file = tmp_path / "highlander.yaml"
    file.write_text(text)
    assert load(file, environment={}).warnings == ()
    assert jsonschema_rs.validator_for(json_schema()).is_valid(yaml.safe_load(text))


def test_the_docs_name_every_key_and_variable() -> None:
    text = PAGE.read_text()
    keys = json_schema()["properties"]
    known = {"workloads", "redis", "lease", "raft", "election", "cluster", "api", "databaseURL"}
    assert [key for key in keys if key not in known and f"`{key}`" not in text] == []
    assert [name for name in ENVIRONMENT if f"`{name}`" not in text] == []
