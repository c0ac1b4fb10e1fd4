"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: CEL policies about writes.

validating, mutating   the two plugins                     start here
definitions            policies and bindings, compiled
selection, params      the policies that apply to a write, and their parameters
mutations              patches that expressions make
typechecking           warnings in a policy's status
"""

from __future__ import annotations

from steersman.cluster.admission.policies.mutating import MutatingAdmissionPolicy
from steersman.cluster.admission.policies.validating import ValidatingAdmissionPolicy

__all__ = ["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"]
