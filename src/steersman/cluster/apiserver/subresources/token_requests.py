"""serviceaccounts/NAME/token: TokenRequests, answered with a new token of the service account."""

from __future__ import annotations

from steersman.cluster.apiserver.pipeline.bodies import match_namespace, read_part
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import respond_value
from steersman.cluster.auth.service_accounts import ServiceAccountTokens
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.shapes import schema_of
from steersman.cluster.schema.validation.authorization import validate_review
from steersman.http import Response
from steersman.objects.fields import FieldError, Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.managed import track_update
from steersman.objects.status import StatusError, bad_request, conflict, invalid, not_found

__all__ = ["TokenRequests"]


_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
_TOKEN_REQUEST = GVK(_GROUP, "v1", _KIND)
#: Pods' tokens are asked for with exactly this life; they are made to last a year, with a mark after which
#: their use is stale, so that programs that read the file only once keep working.
_POD_TOKEN_S = 3607
_EXTENDED_S = 365 * 24 * 3600
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_WEBHOOK_GATE = "APIServerWebhookAuthenticationToken"


class TokenRequests:
    def __init__(self, tokens: ServiceAccountTokens, longest_s: int = 0) -> None:
        """`longest_s`: what longer requests are shortened to; 0 for as they ask."""
        self._tokens = tokens
        self._longest_s = longest_s

    async def create(self, api: Api, call: Call) -> Response:
        options = WriteOptions.parse(call.query, "CreateOptions")
        request = read_part(call, options, _TOKEN_REQUEST)
        namespace, name = call.path.namespace, call.path.name
        match_namespace(call, request["metadata"])
        _track(api, call, request, options)
        attributes = call.attributes("CREATE", name, request, None, dry_run=options.dry_run)
        attributes.object_kind = _TOKEN_REQUEST
        await api.admission.admit(attributes)
        metadata, spec = request["metadata"], request["spec"]
        _match_name(metadata, name)
        account = _find(api, "serviceaccounts", namespace, name)
        uid = account["metadata"]["uid"]
        if metadata.get("uid", uid) != uid:
            why = (
                f"the UID in the token request ({metadata['uid']}) does not match the UID of the service "
                f"account ({uid})"
            )
            raise conflict(_GROUP, _KIND, name, why)
        spec["audiences"] = spec.get("audiences") or list(self._tokens.audiences)
        now = api.now()
        metadata |= {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": timestamp(now)}
        errors = validate_review(_GROUP, _KIND, request)
        if errors:
            raise invalid(_GROUP, _KIND, "", errors)
        await api.admission.validate(attributes)
        bound = _bound_objects(api, spec.get("boundObjectRef"), account)
        token = self._issue(call, account, spec, bound)
        request["status"] = {
            "token": token,
            "expirationTimestamp": timestamp(now + spec["expirationSeconds"]),
        }
        return respond_value(api, call, request, 201)

    def _issue(self, call: Call, account: Object, spec: Object, bound: dict[str, Object]) -> str:
        asked = spec["expirationSeconds"]
        if self._longest_s and asked > self._longest_s:
            call.warnings.append(
                f"requested expiration of {asked} seconds shortened to {self._longest_s} seconds"
            )
            spec["expirationSeconds"] = asked = self._longest_s
        audiences = spec["audiences"]
        extend = asked == _POD_TOKEN_S and "pod" in bound and set(audiences) <= set(self._tokens.audiences)
        return self._tokens.issue(
            account,
            audiences=audiences,
            expires_in_s=_EXTENDED_S if extend else asked,
            bound=bound,
            warn_after_s=asked if extend else 0,
        )


def _track(api: Api, call: Call, request: Object, options: WriteOptions) -> None:
    """Who set which field of the request: it is another kind than the one its URL is about."""
    entries = track_update(
        decode(_TOKEN_REQUEST, {}).obj,
        request,
        schema_of(_TOKEN_REQUEST),
        manager=options.field_manager or call.manager,
        api_version=_TOKEN_REQUEST.api_version,
        subresource=call.path.subresource,
        time=timestamp(api.now()),
        keep=None,
    )
    if entries:
        request["metadata"]["managedFields"] = entries


def _match_name(metadata: Object, account: str) -> None:
    given = metadata.get("name") or account
    if given != account:
        error: FieldError = invalid_field(
            Path("metadata").child("name"), given, "must match the service account name if specified"
        )
        raise invalid(_GROUP, _KIND, account, [error])


def _find(api: Api, plural: str, namespace: str, name: str) -> Object:
    resource = api.catalog.find("", "v1", plural)
    assert resource is not None
    if not name:
        raise bad_request("Name parameter required.")
    record = api.store.get(resource.key(namespace, name))
    if record is None:
        raise not_found("", plural, name)
    return resource.read(record.value)


def _bound_objects(api: Api, ref: Object | None, account: Object) -> dict[str, Object]:
    """The objects a token's life is tied to, by claim. Raises 400, 404 and 409."""
    if ref is None:
        return {}
    kind = GVK.of(ref.get("apiVersion", ""), ref.get("kind", ""))
    namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
    target = ref.get("name", "")
    shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    bound: dict[str, Object]
    match kind.group, kind.kind:
        case "", "Pod":
            pod = _find(api, "pods", namespace, target)
            if pod["spec"].get("serviceAccountName", "") != name:
                raise bad_request(
                    f'cannot bind token for serviceaccount "{name}" to pod running with different '
                    "serviceaccount name."
                )
            bound = {"pod": pod}
            if node := pod["spec"].get("nodeName"):
                bound["node"] = _node(api, node)
        case "", "Secret":
            bound = {"secret": _find(api, "secrets", namespace, target)}
        case "", "Node":
            bound = {"node": _find(api, "nodes", "", target)}
        case "admissionregistration.k8s.io", found if found in _WEBHOOKS and kind.version == "v1":
            gate = f"(feature gate {_WEBHOOK_GATE} is disabled)"
            raise bad_request(f"cannot bind token to object of type {shown} {gate}")
        case _:
            raise bad_request(f"cannot bind token to object of type {shown}")
    uid = next(iter(bound.values()))["metadata"]["uid"]
    if ref.get("uid") and ref["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. The "
            "object might have been deleted and then recreated"
        )
        raise conflict(kind.group, kind.kind, target, why)
    return bound


def _node(api: Api, name: str) -> Object:
    """A pod's node; its name alone when there is no such node any more."""
    try:
        return _find(api, "nodes", "", name)
    except StatusError:
        return {"metadata": {"name": name}}
