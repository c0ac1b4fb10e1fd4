"""Custom resources by their structural schemas: pruned, defaulted, validated, converted, published.

Start at `schema`: `compile_schema` makes of one version of a definition what requests need. `node` is the
 parsed schema that everything walks along; `invariants` says whether a schema is structural at all;
`naming`, `conversion`, `publishing`, `paths` and `selectable` are what else a definition entails. All of
it is pure: no store, no clock, no network.
"""

from __future__ import annotations

from steersman.cluster.schema.structural.errors import MetadataError, NotStructuralError
from steersman.cluster.schema.structural.schema import StructuralSchema, Verdict, compile_schema

__all__ = ["MetadataError", "NotStructuralError", "StructuralSchema", "Verdict", "compile_schema"]
