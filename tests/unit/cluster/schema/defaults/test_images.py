from __future__ import annotations

import pytest

from steersman.cluster.schema.defaults.images import default_pull_policy

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("library/nginx", "Always"),
        ("localhost/nginx", "Always"),
        ("localhost:5000/nginx", "Always"),
        ("registry.example.com:443/team/app:v1", "IfNotPresent"),
        ("registry.example.com/team/app", "Always"),
        ("team_a/app__b", "Always"),
        ("Registry/app", "Always"),
        (f"nginx@{DIGEST}", "IfNotPresent"),
        (f"nginx:latest@{DIGEST}", "Always"),
        ("nginx:latest@sha256:short", "IfNotPresent"),
        ("Nginx", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("a b", "IfNotPresent"),
        ("a-/nginx", "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
        ("a" * 256, "IfNotPresent"),
        ("a" * 247, "Always"),
        ("a" * 248, "IfNotPresent"),
        (f"registry.example.com/{'a' * 255}", "Always"),
    ],
)
def test_only_the_latest_tag_is_always_pulled(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy
