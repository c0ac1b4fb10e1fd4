"""Security contexts of pods and containers: what rules.txt cannot say about them.

Privileged containers are always accepted: whether they should be is for admission to say.
"""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.paths import validate_descending_path
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required
from steersman.objects.kinds import Object

__all__ = [
    "validate_descending_path",
    "validate_escalation",
    "validate_no_profile",
    "validate_run_as_user_name",
    "validate_sysctls",
    "validate_unmasked",
    "validate_unpadded",
]

_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_sysctl = re.compile(_SYSCTL.removeprefix("^").removesuffix("$")).fullmatch
_SYSCTL_LENGTH: Final = 253
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in (
        *("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm"),
        *("msgmax", "msgmnb", "msgmni", "msg"),
    )
)

_DOMAIN_LENGTH: Final = 256
_USER_LENGTH: Final = 104
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_control = re.compile(r"[\x00-\x1f\x7f]").search
_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_dns_name = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_user_characters = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_only_dots_and_spaces = re.compile(r"[. ]+").fullmatch


def validate_unmasked(mount: str, path: Path, around: Any) -> list[FieldError]:
    """`around` says whether the pod has users of its own."""
    if mount != "Unmasked" or not around.host_users:
        return []
    return [invalid(path, mount, "`hostUsers` must be false to use `Unmasked`")]


def validate_escalation(context: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    start = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        value = internal_form("SecurityContext", context)
        errors.append(invalid(path, value, f"{start} `privileged` to true"))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            value = internal_form("SecurityContext", context)
            errors.append(invalid(path, value, f"{start} `capabilities.Add` CAP_SYS_ADMIN"))
    return errors


def validate_sysctls(sysctls: list[Object], path: Path, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, sysctl in enumerate(sysctls):
        name = sysctl.get("name", "")
        here = path.index(number).child("name")
        if not name:
            errors.append(required(here))
        elif len(name) > _SYSCTL_LENGTH or not _sysctl(name):
            text = f"must have at most {_SYSCTL_LENGTH} characters and match regex {_SYSCTL}"
            errors.append(invalid(here, name, text))
        elif name in seen:
            errors.append(duplicate(here, name))
        seen.add(name)
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            errors.append(invalid(here, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
            errors.append(invalid(here, name, "may not be specified when 'hostIPC' is true"))
    return errors


def _dotted(sysctl: str) -> str:
    """A sysctl may be written with slashes, where dots mean slashes. A `*` ends its fixed part."""
    first = next((character for character in sysctl if character in "./"), ".")
    if first == "/":
        sysctl = sysctl.translate(str.maketrans("./", "/."))
    return sysctl.partition("*")[0]


def validate_no_profile(profile: Object, path: Path) -> list[FieldError]:
    value = internal_form("SeccompProfile", profile)
    text = "can only be set when seccomp type is Localhost"
    return [invalid(path.child("localhostProfile"), value, text)]


def validate_unpadded(target: str, path: Path) -> list[FieldError]:
    if target.strip() == target:
        return []
    return [invalid(path, target, "must not be padded with whitespace")]


def validate_run_as_user_name(name: str, path: Path) -> list[FieldError]:
    return invalids(path, name, _run_as_user_name(name))


def _run_as_user_name(text: str) -> list[str]:
    """`DOMAIN\\USER`, where the domain may be missing."""
    if not text:
        return ["runAsUserName cannot be an empty string"]
    if _control(text):
        return ["runAsUserName cannot contain control characters"]
    if text.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = text.rpartition("\\")
    errors: list[str] = []
    if len(domain) >= _DOMAIN_LENGTH:
        errors.append(f"runAsUserName's Domain length must be under {_DOMAIN_LENGTH} characters")
    if backslash and not _net_bios(domain) and not _dns_name(domain):
        errors.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        errors.append("runAsUserName's User cannot be empty")
    elif len(user) > _USER_LENGTH:
        errors.append(f"runAsUserName's User length must not be longer than {_USER_LENGTH} characters")
    if _only_dots_and_spaces(user):
        errors.append("runAsUserName's User cannot contain only periods or spaces")
    if _user_characters(user):
        errors.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return errors
