"""wrk as the load generator: another process, written in C, so that the server is what is measured.

A load is a number of requests of one kind. wrk itself only knows durations, so its script says on standard
output when it has sent enough, and wrk is then interrupted, upon which it reports and exits.

wrk calls `request` once at its start without sending the result: the first name of each script is never
used, so names start at 2.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Protocol

from benchmarks.options import Unusable

__all__ = ["CONFIGMAP", "FIRST", "LoadResult", "Request", "Target", "run_wrk"]

#: The number in the first name that exists.
FIRST = 2

#: No load takes longer than this.
_LIMIT_S = 120

_SCRIPT = """
local padding = string.rep("x", 860)
local path = "/api/v1/namespaces/default/configmaps"
local counter = 0
wrk.headers["Content-Type"] = "%(content_type)s"

local function name(number) return string.format("bench-%%d", number) end
local function one(number) return path .. "/" .. name(number) end
local function body(number, value)
  return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"' .. name(number)
    .. '"},"data":{"k":"' .. value .. padding .. '"}}'
end
-- Round and round over the names that exist, 2 to %(existing)d.
local function existing(number) return number %% (%(existing)d - 1) + 2 end

function request()
  counter = counter + 1
  if counter == %(count)d then io.write("ENOUGH\\n"); io.flush() end
  local number, there = counter, existing(counter)
  %(request)s
end

function done(summary, latency, requests)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.timeout
  print(string.format("RESULT %%d %%d %%d %%d", summary.requests, summary.duration, failed,
    latency:percentile(99)))
end
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of request, in Lua."""

    #: Returns what to send; knows `number` (of the request), `there` (of an object that exists), and the
    #: functions of the script.
    send: str
    content_type: str = "application/json"


#: By what is done to a ConfigMap.
CONFIGMAP = {
    "create": Request('return wrk.format("POST", path, nil, body(number, "a"))'),
    "get": Request('return wrk.format("GET", one(there))'),
    "list": Request('return wrk.format("GET", path)'),
    "update": Request('return wrk.format("PUT", one(there), nil, body(there, "b" .. number))'),
    "patch": Request(
        """return wrk.format("PATCH", one(there), nil, '{"data":{"n":"' .. number .. '"}}')""",
        content_type="application/merge-patch+json",
    ),
    "delete": Request('return wrk.format("DELETE", one(number))'),
}


class Target(Protocol):
    """A server under load."""

    url: str
    #: The admin's.
    token: str

    def cpu(self) -> float:
        """Seconds used so far."""
        ...


@dataclass(frozen=True, slots=True)
class LoadResult:
    requests: int
    seconds: float
    failed: int
    p99_ms: float
    server_cpu_s: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_ms(self) -> float:
        """Server CPU milliseconds per request."""
        return self.server_cpu_s / max(self.requests, 1) * 1000


def run_wrk(
    server: Target,
    request: Request,
    *,
    count: int,
    existing: int = FIRST,
    connections: int = 32,
    token: str = "",
) -> LoadResult:
    """Send `count` requests, and those that fit into the tenth of a second that wrk needs to stop.

    `existing` is the highest number among the names that exist; `token` is the admin's unless given.
    """
    if not shutil.which("wrk"):
        raise Unusable("wrk is not installed: scripts/install-servers wrk")
    script = _SCRIPT % {
        "count": count,
        "existing": existing,
        "request": request.send,
        "content_type": request.content_type,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        before = server.cpu()
        output = _until_enough(
            ["wrk", "-t1", f"-c{connections}", f"-d{_LIMIT_S}s", "--timeout", "20s", "-s", file.name,
             "-H", f"Authorization: Bearer {token or server.token}", server.url]
        )  # fmt: skip
        used = server.cpu() - before
    match = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", output)
    if not match:
        raise Unusable(f"wrk said: {output}")
    requests, microseconds, failed, p99_us = map(int, match.groups())
    return LoadResult(requests, microseconds / 1e6, failed, p99_us / 1000, used)


def _until_enough(command: list[str]) -> str:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as wrk:
        assert wrk.stdout
        try:
            lines = []
            for line in wrk.stdout:
                if line == "ENOUGH\n":
                    wrk.send_signal(signal.SIGINT)
                lines.append(line)
        except BaseException:
            wrk.kill()
            raise
    return "".join(lines)
