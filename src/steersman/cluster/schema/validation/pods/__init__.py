"""Validation of pods and of everything that holds one: what rules.txt cannot say about them.

Start reading in rules.txt at [core.v1 pods.kinds], which says what is checked when, then at `spec`, which
calls the others in the order Kubernetes reports errors. Controllers of other groups use `template`, other
kinds the parts they share with pods. Rules apply as on a cluster with the default feature gates; leniency
towards objects that older versions let in is left out, since none are in the store. Little is imported here,
so that a shared part can be used without loading the rest.
"""

from __future__ import annotations

from steersman.cluster.schema.validation.pods.binding import validate_binding

__all__ = ["validate_binding"]
