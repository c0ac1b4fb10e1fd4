"""The CSR approving controller: approves the client certificates of nodes (kubelets).

A CertificateSigningRequest for the signer kubernetes.io/kube-apiserver-client-kubelet is approved if its
requester may create `certificatesigningrequests/selfnodeclient` and requests its own name, or may create
`certificatesigningrequests/nodeclient`. A SubjectAccessReview checks it, repeatedly with back-off: the
permission may be granted later.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.cluster.auth.signers import KUBELET_CLIENT, SigningRefused, check_request, common_names
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.schema.pem import certificate_request
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.authorization_v1 import ResourceAttributes, SubjectAccessReviewSpec
from steersman.objects.kinds.types.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
)
from steersman.objects.resources import CERTIFICATE_SIGNING_REQUESTS, SUBJECT_ACCESS_REVIEWS
from steersman.objects.times import format_time
from steersman.runtime import Request, Requeue, RetryPolicy

__all__ = ["add", "rights_for"]


_NAME: Final = "certificatesigningrequest-approving"
#: What is told by the right that decided.
_MESSAGES: Final = {
    "selfnodeclient": "Auto approving self kubelet client certificate after SubjectAccessReview.",
    "nodeclient": "Auto approving kubelet client certificate after SubjectAccessReview.",
}


def rights_for(request: CertificateSigningRequest) -> list[str]:
    """The rights any of which is enough for a request to be approved; none: it is not for us to approve."""
    spec = request["spec"]
    if spec.get("signerName") != KUBELET_CLIENT:
        return []
    try:
        parsed = certificate_request(spec.get("request", ""))
        check_request(KUBELET_CLIENT, parsed, spec.get("usages") or ())
    except (ValueError, SigningRefused):
        return []
    # Go reads the last of several common names, others the first: it is one's own only if all are.
    own = set(common_names(parsed)) == {spec.get("username")}
    return ["selfnodeclient", "nodeclient"] if own else ["nodeclient"]


def _review(request: CertificateSigningRequest, right: str) -> dict[str, SubjectAccessReviewSpec]:
    spec = request["spec"]
    attributes: ResourceAttributes = {
        "group": CERTIFICATE_SIGNING_REQUESTS.group,
        "version": "*",
        "resource": CERTIFICATE_SIGNING_REQUESTS.plural,
        "subresource": right,
        "verb": "create",
    }
    author: SubjectAccessReviewSpec = {
        "user": spec.get("username", ""),
        "uid": spec.get("uid", ""),
        "groups": spec.get("groups", []),
        "extra": spec.get("extra", {}),
    }
    return {"spec": {**omit_empty(author), "resourceAttributes": attributes}}


def _undecided(request: CertificateSigningRequest) -> bool:
    status = request.get("status") or {}
    decided = any(one["type"] in ("Approved", "Denied") for one in status.get("conditions") or ())
    return not decided and not status.get("certificate")


class _Approver:
    """Reconciles CertificateSigningRequests for client certificates of nodes."""

    def __init__(self, setup: Setup) -> None:
        requests = setup.informer(CERTIFICATE_SIGNING_REQUESTS)
        self._client = setup.client
        self._clock = setup.clock
        self._requests = requests.cache
        self._writes = setup.writes(_NAME, requests)
        retry = RetryPolicy.exponential(0.2, 1000.0)
        controller = setup.controller(_NAME, retrying_conflicts(self._reconcile), retry=retry)
        controller.primary(requests)

    async def _reconcile(self, request: Request) -> None:
        cached = self._requests.get(request.key)
        found = cast("CertificateSigningRequest", cached.object()) if cached is not None else None
        if found is None or not _undecided(found):
            return
        rights = rights_for(found)
        for right in rights:
            if await self._may(found, right):
                await self._approve(found, _MESSAGES[right])
                return
        if rights:
            raise Requeue

    async def _may(self, request: CertificateSigningRequest, right: str) -> bool:
        review = await self._client.create(_review(request, right), kind=SUBJECT_ACCESS_REVIEWS)
        return review["status"].get("allowed") is True

    async def _approve(self, request: CertificateSigningRequest, message: str) -> None:
        now = format_time(moment(self._clock))
        approved: CertificateSigningRequestCondition = {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
        }
        status = request.get("status") or {}
        conditions = [*(status.get("conditions") or ()), approved]
        await self._writes.replace(
            CERTIFICATE_SIGNING_REQUESTS,
            {**request, "status": {**status, "conditions": conditions}},
            subresource="approval",
        )


def add(setup: Setup) -> None:
    _Approver(setup)
