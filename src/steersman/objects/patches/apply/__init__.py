"""Server-side apply: declare the fields you care about, share an object with others who do the same.

    applier = Applier("my-controller", "apps/v1", time=now, force=True)
    applied = apply(live, config, schema, applier)

`apply` merges a configuration into an object by its schema, removes what its manager applied before and no
longer does, refuses to change what others own (unless forced), and keeps metadata.managedFields.
`would_change` tells whether it is worth a write, `is_applied` the same to a client that has no schema. Pure:
no I/O, no clock. The API server's PATCH and the operator framework's drift detection are the callers.

    applying      the algorithm                        start here
    merging       configuration into object, by schema
    pruning       what goes when it is no longer applied
    checking      whether a configuration has its type's form
    last_applied  the move from client-side apply
    matching      whether a configuration is applied already, from managedFields alone
"""

from __future__ import annotations

from steersman.objects.patches.apply.applying import (
    BEFORE_FIRST_APPLY,
    Applied,
    Applier,
    apply,
    would_change,
)
from steersman.objects.patches.apply.matching import applied_values, is_applied
from steersman.objects.patches.apply.pruning import InVersion
from steersman.objects.patches.errors import ApplyConflict, Conflict, InvalidConfiguration

__all__ = [
    "BEFORE_FIRST_APPLY",
    "Applied",
    "Applier",
    "ApplyConflict",
    "Conflict",
    "InVersion",
    "InvalidConfiguration",
    "applied_values",
    "apply",
    "is_applied",
    "would_change",
]
