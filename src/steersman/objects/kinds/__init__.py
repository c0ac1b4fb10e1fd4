"""Kubernetes' kinds as Python types: made when Steersman is built, from one description.

`types` has a TypedDict for each type (`types.core_v1.Pod`), `views` the few fields that a reader looks at as
msgspec classes (`views.pods.PodView`; views.txt says which), `enums` the values of string fields. None of
them is in the repository: `generating` makes them. What a kind does (a pod is terminal, a toleration
tolerates a taint) is in the modules beside this package and inherited by its views.

`Object` is an object of a kind that the code does not know: of a custom resource, or of any.
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Object"]

#: An object as JSON decodes it. One of a known kind has its type; `Mapping[str, Any]` reads both.
Object: TypeAlias = dict[str, Any]
