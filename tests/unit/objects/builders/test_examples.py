"""The full examples use every method, so that the integration test shows each to the API server."""

from __future__ import annotations

import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

from steersman.objects import builders
from steersman.objects.builders.part import Part
from tests.unit.objects.builders.full_examples import FULL_EXAMPLES
from tests.unit.objects.builders.seed_examples import EXAMPLES

#: Tested where they are explained: what is not about a field, and reading.
ELSEWHERE = {"copy", "from_object", "to_object", "value"}


def public_methods() -> dict[CodeType, str]:
    methods: dict[CodeType, str] = {}
    for name in builders.__all__:
        for cls in getattr(builders, name).__mro__:
            if not issubclass(cls, Part):
                continue
            for method, content in vars(cls).items():
                function = getattr(content, "__func__", content)
                if isinstance(function, FunctionType) and not method.startswith("_"):
                    methods[function.__code__] = f"{cls.__name__}.{method}"
    return {code: name for code, name in methods.items() if name.rpartition(".")[2] not in ELSEWHERE}


def test_every_method_is_used_by_an_example() -> None:
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for build in (*FULL_EXAMPLES, *EXAMPLES):
            build()
    finally:
        sys.setprofile(before)
    assert sorted(name for code, name in public_methods().items() if code not in called) == []


def test_every_public_name_is_there() -> None:
    assert all(hasattr(builders, name) for name in builders.__all__)
