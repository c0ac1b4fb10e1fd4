"""Custom resources: kinds made of their definitions at run time.

`definitions` follows the CustomResourceDefinition objects and keeps the catalog in step; `kind` makes of
one version of a definition what the verbs need; `deletion` empties a definition that goes.
"""

from __future__ import annotations

from steersman.cluster.apiserver.custom.definitions import Definitions

__all__ = ["Definitions"]
