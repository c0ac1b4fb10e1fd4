"""What `steersman.http` and `steersman.aio` promise to export."""

from __future__ import annotations

from types import ModuleType

import pytest

import steersman.aio
import steersman.http
import steersman.http.errors


@pytest.mark.parametrize(
    "module", [steersman.aio, steersman.http, steersman.http.errors], ids=lambda m: m.__name__
)
def test_all_names_exist_and_are_sorted(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)
    assert sorted(module.__all__) == list(module.__all__)


def test_every_error_is_an_http_error() -> None:
    errors = [getattr(steersman.http.errors, name) for name in steersman.http.errors.__all__]
    assert all(issubclass(error, steersman.http.HttpError) for error in errors)
