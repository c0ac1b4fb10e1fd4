"""Warnings about finalizers of custom resources."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.structural.finalizers import finalizer_warnings

_CONFLICTS = "to avoid accidental conflicts with other finalizer writers"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("example.com/mine", []),
        ("orphan", []),
        ("mine", [f'metadata.finalizers: "mine": prefer a domain-qualified finalizer name {_CONFLICTS}']),
        (
            "example.com",
            [
                'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name '
                f"including a path (/) {_CONFLICTS}"
            ],
        ),
    ],
)
def test_odd_names_are_warned_of(name: str, expected: list[str]) -> None:
    assert finalizer_warnings({"metadata": {"finalizers": [name]}}) == expected


def test_only_new_ones_are() -> None:
    obj = {"metadata": {"finalizers": ["mine"]}}
    assert finalizer_warnings(obj, obj) == []
