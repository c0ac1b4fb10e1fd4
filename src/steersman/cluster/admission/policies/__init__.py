"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: CEL policies about writes.

validating, mutating   the two plugins                     start here
definitions            policies and bindings, compiled
selection, params      which are in force for a write, and with what
mutations              patches that expressions make
typechecking           warnings for authors
"""

from __future__ import annotations

from steersman.cluster.admission.policies.mutating import MutatingAdmissionPolicy
from steersman.cluster.admission.policies.validating import ValidatingAdmissionPolicy

__all__ = ["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"]
