"""pods/binding: the scheduler sets the node of a pod, once."""

from __future__ import annotations

from steersman.cluster.apiserver.pipeline.bodies import match_namespace, read_part
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import success
from steersman.cluster.apiserver.subresources.stored import change_stored, set_pod_condition
from steersman.cluster.apiserver.verbs.preconditions import failed_storage_precondition
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.validation.pods import validate_binding
from steersman.http import Response
from steersman.objects.fields import join
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.status import StatusError, bad_request, conflict

__all__ = ["bind"]

_BINDING = GVK("", "v1", "Binding")


async def bind(api: Api, call: Call) -> Response:
    """POST of a Binding, to pods/NAME/binding or to bindings."""
    options = WriteOptions.parse(call.query, "CreateOptions")
    binding = read_part(call, options, _BINDING)
    metadata = binding["metadata"]
    match_namespace(call, metadata)
    name = call.path.name or metadata.get("name", "")
    attributes = call.attributes("CREATE", name, binding, None, dry_run=options.dry_run)
    attributes.object_kind = _BINDING
    await api.admission.admit(attributes)
    if metadata.get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    if errors := validate_binding(binding):
        raise StatusError(500, "", join(errors))
    if not name:
        raise bad_request("Name parameter required.")
    await api.admission.validate(attributes)
    pods = api.catalog.find("", "v1", "pods")
    assert pods is not None

    def assign(pod: Object) -> None:
        if why := failed_storage_precondition(
            pods, call.path.namespace, name, metadata, pod["metadata"], dry_run=options.dry_run
        ):
            raise conflict("", "pods", name, why)
        if why := _unbindable(pod):
            raise conflict("", "pods/binding", name, why)
        pod["spec"]["nodeName"] = binding["target"]["name"]
        # A nomination is about where the pod may go; now it is there.
        pod["status"].pop("nominatedNodeName", None)
        for part in ("annotations", "labels"):
            if metadata.get(part):
                pod["metadata"][part] = {**pod["metadata"].get(part, {}), **metadata[part]}
        set_pod_condition(pod, timestamp(api.now()), type="PodScheduled", status="True")

    await change_stored(api, pods, call.path.namespace, name, assign, dry_run=options.dry_run)
    return success(call, 201, show_code=True)


def _unbindable(pod: Object) -> str:
    """Why a pod cannot be bound; empty when it can."""
    name = pod["metadata"]["name"]
    if is_deleting(pod):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
