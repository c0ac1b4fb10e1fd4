"""Why a patch was refused. The tree:

    ObjectError
    └── PatchError             .code: the HTTP status the API server answers with
        ├── BadPatch           400  it is not a patch of its kind
        ├── PatchTooLarge      413  more operations or copied bytes than allowed
        ├── PatchNotApplicable 422  it is a patch, but not for this object (a failed test, a missing path)
        └── PatchFailed        500  a strategic merge went wrong half-way; Kubernetes calls this internal

The messages are those of kube-apiserver. It hides the message of a 422 from its clients ("the server
rejected our request due to an error in our request"); that wording is the API server's business.
"""

from __future__ import annotations

from typing import ClassVar

from steersman.objects.errors import ObjectError

__all__ = ["BadPatch", "PatchError", "PatchFailed", "PatchNotApplicable", "PatchTooLarge"]


class PatchError(ObjectError):
    """A patch that was not applied. The object is as it was."""

    code: ClassVar[int]


class BadPatch(PatchError):
    code = 400


class PatchTooLarge(PatchError):
    code = 413


class PatchNotApplicable(PatchError):
    code = 422


class PatchFailed(PatchError):
    code = 500
