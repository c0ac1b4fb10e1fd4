"""The parameter objects of a policy binding: one by name, all that match a selector, or none."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable

from steersman.cluster.admission.policies.definitions import PolicyBinding
from steersman.cluster.admission.policies.errors import PolicyMisconfigured
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.objects.kinds import Object
from steersman.objects.labels import labels_of
from steersman.objects.selectors import LabelSelector

__all__ = ["collect_params"]


async def collect_params(
    context: AdmissionContext, kind: GVK | None, binding: PolicyBinding, namespace: str
) -> Sequence[Object | None]:
    """The values of `params`, one for each evaluation; `kind` is served. Raises PolicyMisconfigured."""
    ref = binding.param_ref
    if kind is None or ref is None:
        return [None]
    resource = context.types.resource_of(kind)
    assert resource is not None
    params = [await _in_kind(context, param, kind) for param in _find(context, resource, ref, namespace)]
    if not params and ref.get("parameterNotFoundAction") == "Deny":
        raise PolicyMisconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return params


def _find(context: AdmissionContext, resource: ResourceType, ref: Object, namespace: str) -> Sequence[Object]:
    given = ref.get("namespace", "")
    if resource.namespaced:
        where = given or namespace
        if not where:
            raise PolicyMisconfigured(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif given:
        raise PolicyMisconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    else:
        where = ""
    name, selector = ref.get("name", ""), ref.get("selector")
    if name:
        if selector is not None:
            raise PolicyMisconfigured("paramRef.name and paramRef.selector are mutually exclusive")
        found = context.reader.get(resource.group, resource.plural, where, name)
        return [] if found is None else [found]
    if selector is None:
        raise PolicyMisconfigured("one of name or selector must be provided")
    wanted = LabelSelector.from_object(selector)
    candidates = context.reader.list(resource.group, resource.plural, where)
    return [each for each in candidates if wanted.matches(labels_of(each))]


async def _in_kind(context: AdmissionContext, param: Object, kind: GVK) -> Object:
    """A stored object in the version that paramKind names."""
    converted = context.types.convert(param, kind)
    return await converted if isawaitable(converted) else converted
