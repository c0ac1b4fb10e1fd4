"""The behaviour of simulated containers, from annotations of their pods. Pure.

An annotation `simulated.steersman.dev/<what>` is about every container of the pod,
`<container>.simulated.steersman.dev/<what>` about one of them:

| what             | value                | meaning                                                        |
|------------------|----------------------|----------------------------------------------------------------|
| `pull-time`      | duration             | pulling the image takes so long (when it is not there)         |
| `pull-error`     | text                 | pulling fails with these words                                 |
| `create-error`   | text                 | the container cannot be made: CreateContainerError             |
| `start-time`     | duration             | starting takes so long                                         |
| `start-error`    | text                 | the container cannot be started: RunContainerError             |
| `run-time`       | duration or `never`  | it ends by itself after so long (without: as its command says, |
|                  |                      | see `commands`; else init containers end at once, those of a   |
|                  |                      | Job after a second, others run for ever)                       |
| `exit-code`      | numbers, by commas   | with this code; the second start with the second, … the last   |
| `exit-reason`    | word                 | and this reason (OOMKilled), instead of Completed or Error     |
| `message`        | text                 | its termination message                                        |
| `started-after`  | duration or `never`  | when its startup probe succeeds                                |
| `ready-after`    | duration or `never`  | when it is ready, counted from its start                       |
| `unhealthy-after`| duration             | when its liveness probe fails                                  |
| `stop-time`      | duration or `never`  | how long it takes to end when asked to; half a second without  |
| `stop-code`      | number               | and with which code                                            |
| `cpu`, `memory`  | quantity             | what it uses; without, a tenth of what it asked for            |

Durations are written as Kubernetes does: `250ms`, `1.5s`, `2m`, `1h30m`. What makes no sense is ignored.
Changing `ready-after`, `unhealthy-after`, `cpu` and `memory` of a running pod takes effect at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from steersman.objects.errors import QuantityError
from steersman.objects.kinds.types.core_v1 import Probe
from steersman.objects.quantities import Quantity

__all__ = ["DEFAULTS", "NEVER", "PREFIX", "ContainerScript", "duration_s"]

PREFIX: Final = "simulated.steersman.dev"
#: What containers do that nobody says anything about.
DEFAULTS: Final = {"stop-time": "500ms"}
NEVER: Final = math.inf

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_part = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


def duration_s(text: str) -> float | None:
    """Seconds of a duration as Go writes them; `never` is infinity, nonsense is None."""
    if text == "never":
        return NEVER
    if text == "0":
        return 0.0
    parts = _part.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


class ContainerScript:
    """The behaviour of one container by its pod's annotations, or the default one."""

    __slots__ = ("_annotations", "_container", "_defaults")

    def __init__(
        self, annotations: Mapping[str, str], container: str, defaults: Mapping[str, str] | None = None
    ) -> None:
        """`defaults` has values for what annotations do not say, by the same names."""
        self._annotations = annotations
        self._container = container
        self._defaults = DEFAULTS if defaults is None else defaults

    def text(self, what: str) -> str:
        found = self._annotations.get(f"{self._container}.{PREFIX}/{what}")
        if found is None:
            found = self._annotations.get(f"{PREFIX}/{what}")
        return self._defaults.get(what, "") if found is None else found

    def seconds(self, what: str, default: float = 0.0) -> float:
        found = duration_s(self.text(what))
        return default if found is None else found

    def exit_code(self, attempt: int, default: int = 0) -> int:
        """The code of the container that is started for the `attempt`th time, counted from 0."""
        codes = self.text("exit-code").split(",")
        return _code(codes[min(attempt, len(codes) - 1)], default)

    @property
    def stop_code(self) -> int:
        return _code(self.text("stop-code"), 0)

    def probe_s(self, what: str, probe: Probe | None) -> float:
        """When a probe succeeds: as scripted, or else with its first try."""
        return self.seconds(what, float((probe or {}).get("initialDelaySeconds") or 0))

    def amount(self, what: str) -> Quantity | None:
        text = self.text(what)
        if not text:
            return None
        try:
            return Quantity.parse(text)
        except QuantityError:
            return None


def _code(text: str, default: int) -> int:
    text = text.strip()
    return int(text) & 0xFF if text.isdigit() else default
