"""pods/eviction: a deletion that the PodDisruptionBudget of the pod must allow."""

from __future__ import annotations

from steersman.cluster.apiserver.pipeline.bodies import match_namespace, read_part
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import DeleteOptions, WriteOptions
from steersman.cluster.apiserver.reading.get import find
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import success
from steersman.cluster.apiserver.subresources.stored import change_stored, set_pod_condition
from steersman.cluster.apiserver.verbs.delete import remove
from steersman.cluster.schema.resources import GVK
from steersman.http import Response
from steersman.objects.conditions import find_condition, is_ready, set_condition
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.selectors import LabelSelector
from steersman.objects.status import StatusError, bad_request, forbidden, too_many_requests

__all__ = ["evict"]

_EVICTION = GVK("policy", "v1", "Eviction")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
#: More pods than this waiting for the budget's controller mean that it does not run.
_DISRUPTED_LIMIT = 2000


async def evict(api: Api, call: Call) -> Response:
    options = WriteOptions.parse(call.query, "CreateOptions")
    eviction = read_part(call, options, _EVICTION)
    match_namespace(call, eviction["metadata"])
    attributes = call.attributes("CREATE", call.path.name, eviction, None, dry_run=options.dry_run)
    attributes.object_kind = _EVICTION
    await api.admission.admit(attributes)
    namespace, name = call.path.namespace, call.path.name
    if eviction["metadata"].get("name") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    _match_dry_run(call, eviction)
    deletion = DeleteOptions.parse({}, eviction.get("deleteOptions") or {})
    deletion.dry_run = deletion.dry_run or options.dry_run
    await api.admission.validate(attributes)
    pod = call.resource.read(find(api, call.resource, namespace, name).value)
    if not _beyond_budgets(pod):
        await _ask_budget(api, namespace, pod, deletion)
    await _mark_disrupted(api, call, deletion)
    await remove(api, call, name, deletion, admitted=True)
    return success(call, 201, show_code=True)


def _match_dry_run(call: Call, eviction: Object) -> None:
    """Whether anything happens can be said in the URL and in the body; both must mean the same."""
    asked, given = call.query.get("dryRun") or [], (eviction.get("deleteOptions") or {}).get("dryRun") or []
    if asked and given and asked != given:
        words = f"[{' '.join(asked)}] and [{' '.join(given)}]"
        raise StatusError(500, "", f"Non-matching dry-run options in request and content: {words}")


def _beyond_budgets(pod: Object) -> bool:
    """Pods that do not serve (yet, or any more) are not disrupted."""
    return is_deleting(pod) or is_terminal(pod) or pod["status"].get("phase") == "Pending"


async def _ask_budget(api: Api, namespace: str, pod: Object, deletion: DeleteOptions) -> None:
    """Take one disruption from the pod's budget, or refuse."""
    budgets = api.catalog.find("policy", "v1", "poddisruptionbudgets")
    assert budgets is not None
    found = _budgets_of(api, budgets, namespace, pod)
    if not found:
        return
    if len(found) > 1:
        raise StatusError(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
            "support.",
        )
    budget = found[0]
    status = budget["status"]
    if not is_ready(pod):
        healthy_enough = 0 < status.get("desiredHealthy", 0) <= status.get("currentHealthy", 0)
        if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy_enough:
            deletion.resource_version = deletion.resource_version or pod["metadata"]["resourceVersion"]
            return

    def take(budget: Object) -> None:
        _refuse_violation(budget)
        status = budget["status"]
        status["disruptionsAllowed"] -= 1
        if not status["disruptionsAllowed"]:
            status["conditions"] = set_condition(
                status.get("conditions") or [],
                "DisruptionAllowed",
                "False",
                reason="InsufficientPods",
                observed_generation=status.get("observedGeneration", 0),
                now=timestamp(api.now()),
            )
        status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = timestamp(api.now())

    name = budget["metadata"]["name"]
    await change_stored(api, budgets, namespace, name, take, dry_run=deletion.dry_run, owned_as="status")


def _budgets_of(api: Api, budgets: Resource, namespace: str, pod: Object) -> list[Object]:
    labels = pod["metadata"].get("labels", {})
    objects = [budgets.read(record.value) for record in api.store.range(budgets.scope(namespace)).records]
    return [
        budget
        for budget in objects
        if LabelSelector.from_object(budget["spec"].get("selector")).matches(labels)
    ]


def _refuse_violation(budget: Object) -> None:
    status, name = budget["status"], budget["metadata"]["name"]
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(_REFUSED, 10, [_cause(why)])
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods", {})) > _DISRUPTED_LIMIT:
        raise _forbidden(
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        )
    if allowed == 0:
        raise too_many_requests(_REFUSED, 0, [_cause(_why_not(budget))])


def _forbidden(name: str, error: str, cause: str) -> StatusError:
    refused = forbidden("policy", "poddisruptionbudget", name, error)
    assert refused.details is not None
    refused.details["causes"] = [
        _cause(f"The disruption budget {name} does not allow evicting pods currently: {cause}")
    ]
    return refused


def _why_not(budget: Object) -> str:
    status, name = budget["status"], budget["metadata"]["name"]
    condition = find_condition(status.get("conditions") or [], "DisruptionAllowed") or {}
    message = condition.get("message", "") if condition.get("status") == "False" else ""
    reason = condition.get("reason", "")
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if message and reason == "SyncFailed":
        why = f"because it failed sync: {message}"
        return f"The disruption budget {name} does not allow evicting pods currently {why}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if message:
        return f"The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _cause(message: str) -> dict[str, str]:
    return {"reason": "DisruptionBudget", "message": message}


async def _mark_disrupted(api: Api, call: Call, deletion: DeleteOptions) -> None:
    """Record in the dying pod why. A stale precondition is for the deletion to refuse."""
    pod = call.resource.read(find(api, call.resource, call.path.namespace, call.path.name).value)
    metadata = pod["metadata"]
    stale = (deletion.resource_version or metadata["resourceVersion"]) != metadata["resourceVersion"]
    if deletion.dry_run or stale or (deletion.uid or metadata["uid"]) != metadata["uid"]:
        return

    def mark(pod: Object) -> None:
        set_pod_condition(
            pod,
            timestamp(api.now()),
            type="DisruptionTarget",
            status="True",
            reason="EvictionByEvictionAPI",
            message="Eviction API: evicting",
        )

    await change_stored(api, call.resource, call.path.namespace, call.path.name, mark, dry_run=False)
    deletion.resource_version = None
