"""Security contexts of pods and containers, and the Windows options inside them.

Privileged containers are always accepted: whether they should be is for admission to say.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.paths import validate_descending_path
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from steersman.objects.names import is_dns1123_subdomain, is_group_id, is_user_id

__all__ = ["validate_pod_security", "validate_security_context"]

_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_CHOICES: Final = {
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}
_FS_GROUP_CHANGES: Final = ("Always", "OnRootMismatch")
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
_PATH_MAX: Final = 4095

_CREDENTIAL_SPEC_KIB: Final = 64
_DOMAIN_LENGTH: Final = 256
_USER_LENGTH: Final = 104
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_control = re.compile(r"[\x00-\x1f\x7f]").search
_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_dns_name = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_user_characters = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_only_dots_and_spaces = re.compile(r"[. ]+").fullmatch


def validate_security_context(context: Object, path: Path, *, host_users: bool) -> list[FieldError]:
    """The context of one container."""
    errors: list[FieldError] = []
    for field, rule in (("runAsUser", is_user_id), ("runAsGroup", is_group_id)):
        if (number := context.get(field)) is not None:
            errors += invalids(path.child(field), number, rule(number))
    mount = context.get("procMount")
    if mount is not None:
        if mount not in _PROC_MOUNTS:
            errors.append(not_supported(path.child("procMount"), mount, _PROC_MOUNTS))
        if host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(path.child("procMount"), mount, text))
    errors += _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        errors += _validate_escalation(context, path)
    errors += _validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    return errors + _validate_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))


def _validate_escalation(context: Object, path: Path) -> list[FieldError]:
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


def validate_pod_security(context: Object, spec: Object, path: Path) -> list[FieldError]:
    """The context of a whole pod."""
    errors: list[FieldError] = []
    for field, rule in (("fsGroup", is_group_id), ("runAsUser", is_user_id), ("runAsGroup", is_group_id)):
        if (number := context.get(field)) is not None:
            errors += invalids(path.child(field), number, rule(number))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += invalids(path.child("supplementalGroups").index(index), group, is_group_id(group))
    errors += _validate_sysctls(context.get("sysctls") or [], spec, path.child("sysctls"))
    change = context.get("fsGroupChangePolicy")
    if change is not None and change not in _FS_GROUP_CHANGES:
        errors.append(not_supported(path.child("fsGroupChangePolicy"), change, _FS_GROUP_CHANGES))
    errors += _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    errors += _validate_windows_options(context.get("windowsOptions"), path.child("windowsOptions"))
    errors += _validate_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))
    for field, choices in _CHOICES.items():
        if (choice := context.get(field)) is not None and choice not in choices:
            errors.append(not_supported(path.child(field), choice, choices))
    return errors


def _validate_sysctls(sysctls: list[Object], spec: Object, path: Path) -> list[FieldError]:
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


def _validate_seccomp(profile: Object | None, path: Path) -> list[FieldError]:
    if profile is None:
        return []
    errors: list[FieldError] = []
    kind, target = profile.get("type"), profile.get("localhostProfile")
    if not kind:
        errors.append(required(path.child("type"), "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        errors.append(not_supported(path.child("type"), kind, _PROFILE_TYPES))
    here = path.child("localhostProfile")
    if kind == "Localhost":
        if target is None:
            errors.append(required(here, "must be set when seccomp type is Localhost"))
        else:
            errors += validate_descending_path(target, here)
    elif target is not None:
        value = internal_form("SeccompProfile", profile)
        errors.append(invalid(here, value, "can only be set when seccomp type is Localhost"))
    return errors


def _validate_app_armor(profile: Object | None, path: Path) -> list[FieldError]:
    if profile is None:
        return []
    kind, target = profile.get("type"), profile.get("localhostProfile")
    here = path.child("localhostProfile")
    if kind == "Localhost":
        if not target:
            return [required(here, "must be set when AppArmor type is Localhost")]
        errors: list[FieldError] = []
        if target.strip() != target:
            errors.append(invalid(here, target, "must not be padded with whitespace"))
        if len(target) > _PATH_MAX:
            errors.append(too_long(here, _PATH_MAX))
        return errors
    if not kind:
        return [required(path.child("type"), "type is required when appArmorProfile is set")]
    if kind not in _PROFILE_TYPES:
        return [not_supported(path.child("type"), kind, _PROFILE_TYPES)]
    if target is not None:
        return [invalid(here, target, "can only be set when AppArmor type is Localhost")]
    return []


def _validate_windows_options(options: Object | None, path: Path) -> list[FieldError]:
    if options is None:
        return []
    errors: list[FieldError] = []
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        errors += invalids(path.child("gmsaCredentialSpecName"), name, is_dns1123_subdomain(name))
    if spec is not None:
        here = path.child("gmsaCredentialSpec")
        if not spec:
            errors.append(invalid(here, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec.encode()) > _CREDENTIAL_SPEC_KIB * 1024:
            text = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_KIB} KiB"
            errors.append(invalid(here, spec, text))
    if (user := options.get("runAsUserName")) is not None:
        errors += invalids(path.child("runAsUserName"), user, _run_as_user_name(user))
    return errors


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
