"""Container: one container of a pod, an init container or a sidecar.

Given to `container`, `init_container` or `sidecar` of anything that has pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, get_args

from steersman.objects.builders.compute import Resources
from steersman.objects.builders.part import Part
from steersman.objects.builders.probe import Hook, Probe
from steersman.objects.builders.protocols import PROTOCOLS, Protocol
from steersman.objects.builders.security import SecurityContext
from steersman.objects.kinds.enums import MountPropagationMode, PullPolicy
from steersman.objects.names import (
    is_config_map_key,
    is_dns1123_label,
    is_port_name,
    is_relaxed_env_var_name,
)

__all__ = ["Container"]

_PULL_POLICIES = get_args(PullPolicy)
_PROPAGATIONS = get_args(MountPropagationMode)


class Container(Part):
    """`Container("app").image("nginx:1.27").port(80)`."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self._object = {"name": name}
        self._name("name", name, is_dns1123_label)

    def image(self, image: str) -> Self:
        if image != self._text("image", image).strip():
            raise self._error("image", f"{image!r} begins or ends with a space")
        return self._put("image", image)

    def image_pull_policy(self, policy: PullPolicy) -> Self:
        return self._put("imagePullPolicy", self._choice("imagePullPolicy", policy, _PULL_POLICIES))

    def command(self, *words: str | Iterable[str]) -> Self:
        """The program and its first arguments, one string each; replaces the image's entry point."""
        command = self._texts("command", words)
        if command and " " in command[0]:
            problem = f"the program is called {command[0]!r}; give every word as a string of its own"
            raise self._error("command", problem)
        return self._put_or_drop("command", command)

    def args(self, *words: str | Iterable[str]) -> Self:
        """Replaces the image's arguments."""
        return self._put_or_drop("args", self._texts("args", words))

    def working_dir(self, path: str) -> Self:
        return self._put("workingDir", self._text("workingDir", path))

    def port(
        self,
        number: int,
        name: str | None = None,
        *,
        protocol: Protocol = "TCP",
        host_port: int | None = None,
        host_ip: str | None = None,
    ) -> Self:
        """A port the container listens on; probes and services can call it by its name."""
        port: dict[str, Any] = {"containerPort": self._port("ports", number)}
        if name is not None:
            port["name"] = self._name("ports", name, is_port_name)
        if self._choice("ports", protocol, PROTOCOLS) != "TCP":
            port["protocol"] = protocol
        if host_port is not None:
            port["hostPort"] = self._port("ports", host_port)
        if host_ip is not None:
            port["hostIP"] = self._text("ports", host_ip)
        ports = self._object.setdefault("ports", [])
        for other in ports:
            if other["containerPort"] == number and other.get("protocol", "TCP") == protocol:
                raise self._error("ports", f"{number}/{protocol} is there twice")
            if name is not None and other.get("name") == name:
                raise self._error("ports", f"two ports are called {name!r}")
        ports.append(port)
        return self

    # --- Environment: a variable set again takes the place of the former

    def env(self, name: str, value: str | int) -> Self:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self._error("env", f"{name}: must be a string, not {value!r}")
        # The API leaves out a value that is empty.
        return self._variable({"name": name, "value": str(value)} if value != "" else {"name": name})

    def envs(self, variables: Mapping[str, str | int]) -> Self:
        for name, value in variables.items():
            self.env(name, value)
        return self

    def env_from_secret(self, name: str, secret: str, key: str, *, optional: bool = False) -> Self:
        """One variable from one key of a Secret."""
        return self._keyed(name, "secretKeyRef", secret, key, optional)

    def env_from_configmap(self, name: str, config_map: str, key: str, *, optional: bool = False) -> Self:
        """One variable from one key of a ConfigMap."""
        return self._keyed(name, "configMapKeyRef", config_map, key, optional)

    def env_from_field(self, name: str, field_path: str) -> Self:
        """A variable from the pod itself: `env_from_field("POD_NAME", "metadata.name")`."""
        return self._source(name, "fieldRef", {"fieldPath": self._text("env", field_path)})

    def env_from_resource(
        self, name: str, resource: str, *, container: str | None = None, divisor: str | int | None = None
    ) -> Self:
        """A variable from requests or limits: `env_from_resource("CPUS", "limits.cpu")`."""
        source: dict[str, Any] = {"resource": self._text("env", resource)}
        if container is not None:
            source["containerName"] = self._name("env", container, is_dns1123_label)
        if divisor is not None:
            source["divisor"] = self._quantity("env", divisor)
        return self._source(name, "resourceFieldRef", source)

    def all_env_from_secret(self, secret: str, *, prefix: str = "", optional: bool = False) -> Self:
        """A variable for every key of a Secret (envFrom)."""
        return self._every("secretRef", secret, prefix, optional)

    def all_env_from_configmap(self, config_map: str, *, prefix: str = "", optional: bool = False) -> Self:
        """A variable for every key of a ConfigMap (envFrom)."""
        return self._every("configMapRef", config_map, prefix, optional)

    # --- Resources, health and life

    def resources(self, resources: Resources) -> Self:
        return self._part("resources", resources, Resources)

    def liveness_probe(self, probe: Probe) -> Self:
        """The container is started again when this fails."""
        return self._probe("livenessProbe", probe)

    def readiness_probe(self, probe: Probe) -> Self:
        """Services send no traffic while this fails."""
        return self._part("readinessProbe", probe, Probe)

    def startup_probe(self, probe: Probe) -> Self:
        """The other probes wait until this has succeeded."""
        return self._probe("startupProbe", probe)

    def post_start(self, hook: Hook) -> Self:
        return self._hook("postStart", hook)

    def pre_stop(self, hook: Hook) -> Self:
        return self._hook("preStop", hook)

    def security_context(self, context: SecurityContext) -> Self:
        return self._part("securityContext", context, SecurityContext)

    # --- Files

    def volume_mount(
        self,
        volume: str,
        path: str,
        *,
        read_only: bool = False,
        sub_path: str | None = None,
        sub_path_expr: str | None = None,
        propagation: MountPropagationMode | None = None,
    ) -> Self:
        """Show a volume of the pod, or a part of it, at a path."""
        field = "volumeMounts"
        mount: dict[str, Any] = {
            "name": self._name(field, volume, is_dns1123_label),
            "mountPath": self._text(field, path),
        }
        if self._flag(field, read_only):
            mount["readOnly"] = True
        if sub_path is not None and sub_path_expr is not None:
            raise self._error(field, "has either sub_path or sub_path_expr")
        if sub_path is not None:
            mount["subPath"] = self._text(field, sub_path)
        if sub_path_expr is not None:
            mount["subPathExpr"] = self._text(field, sub_path_expr)
        if propagation is not None:
            mount["mountPropagation"] = self._choice(field, propagation, _PROPAGATIONS)
        return self._append_unique(field, "mountPath", mount)

    def volume_device(self, volume: str, path: str) -> Self:
        """Give a volume in block mode as a device."""
        field = "volumeDevices"
        device = {"name": self._name(field, volume, is_dns1123_label), "devicePath": self._text(field, path)}
        return self._append_unique(field, "devicePath", device)

    def stdin(self, value: bool = True) -> Self:
        return self._put_or_drop("stdin", self._flag("stdin", value))

    def tty(self, value: bool = True) -> Self:
        return self._put_or_drop("tty", self._flag("tty", value))

    # --- How it is put together

    def _part(self, field: str, part: Part, kind: type[Part]) -> Self:
        if not isinstance(part, kind):
            raise self._error(field, f"must be a {kind.__name__}, not {part!r}")
        return self._put(field, part.to_object())

    def _probe(self, field: str, probe: Probe) -> Self:
        self._part(field, probe, Probe)
        if self._object[field].get("successThreshold", 1) != 1:
            raise self._error(field, "success_threshold is for readiness probes; here one success is enough")
        return self

    def _hook(self, moment: str, hook: Hook) -> Self:
        field = f"lifecycle.{moment}"
        if not isinstance(hook, Hook):
            raise self._error(field, f"must be a Hook, not {hook!r}")
        self._object.setdefault("lifecycle", {})[moment] = hook.to_object()
        return self

    def _keyed(self, name: str, source: str, holder: str, key: str, optional: bool) -> Self:
        reference: dict[str, Any] = {
            "name": self._name("env", holder),
            "key": self._name("env", key, is_config_map_key),
        }
        if optional:
            reference["optional"] = True
        return self._source(name, source, reference)

    def _source(self, name: str, source: str, reference: dict[str, Any]) -> Self:
        return self._variable({"name": name, "valueFrom": {source: reference}})

    def _variable(self, variable: dict[str, Any]) -> Self:
        name = self._name("env", variable["name"], is_relaxed_env_var_name)
        variables = self._object.setdefault("env", [])
        for number, other in enumerate(variables):
            if other["name"] == name:
                variables[number] = variable
                return self
        variables.append(variable)
        return self

    def _every(self, source: str, holder: str, prefix: str, optional: bool) -> Self:
        reference: dict[str, Any] = {"name": self._name("envFrom", holder)}
        if optional:
            reference["optional"] = True
        entry: dict[str, Any] = {source: reference}
        if prefix:
            entry["prefix"] = self._name("envFrom", prefix, is_relaxed_env_var_name)
        self._object.setdefault("envFrom", []).append(entry)
        return self

    def _append_unique(self, field: str, key: str, item: dict[str, Any]) -> Self:
        items = self._object.setdefault(field, [])
        if any(other[key] == item[key] for other in items):
            raise self._error(field, f"there are two at {item[key]}")
        items.append(item)
        return self
