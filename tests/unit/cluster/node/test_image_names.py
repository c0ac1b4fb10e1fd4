"""Names of images."""

from __future__ import annotations

import pytest

from steersman.cluster.node.image_names import image_name_problem


@pytest.mark.parametrize(
    "image",
    [
        "nginx", "nginx:1.27", "library/nginx", "localhost/a", "localhost:5000/a/b:c", "registry.k8s.io/pause:3.10.2",
        "a_b/c__d/e--f.g", "[::1]:5000/a", "Registry/a", f"a@sha256:{'0' * 64}", f"a:b@sha256:{'f' * 64}", "i", "a" * 247,
    ],
)  # fmt: skip
def test_good_names(image: str) -> None:
    assert not image_name_problem(image)


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("UPPER:bad:ref", "invalid reference format: repository name (library/UPPER) must be lowercase"),
        ("a/B", "invalid reference format: repository name (a/B) must be lowercase"),
        ("a:b:c", "invalid reference format"),
        ("a b", "invalid reference format"),
        ("nginx:", "invalid reference format"),
        ("-a", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("a@sha256:abc", "invalid reference format"),
        ("0" * 64, f"invalid repository name ({'0' * 64}), cannot specify 64-byte hexadecimal strings"),
        ("a" * 248, "repository name must not be more than 255 characters"),
    ],
)
def test_bad_names(image: str, problem: str) -> None:
    assert image_name_problem(image) == problem
