"""wrk as the load generator: another process, written in C, so that the server is what is measured."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass

from benchmarks.process import ServerProcess

__all__ = ["LoadResult", "run_wrk"]

_CREATE = """
local padding = string.rep("x", 860)
local counter = 0
local thread_number = 0
function setup(thread) thread:set("id", thread_number); thread_number = thread_number + 1 end
wrk.method = "POST"
wrk.path = "/api/v1/namespaces/default/configmaps"
wrk.headers["Content-Type"] = "application/json"
function request()
  counter = counter + 1
  local name = string.format("PREFIX-%d-%d", id, counter)
  local body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"' .. name
    .. '"},"data":{"k":"' .. padding .. '"}}'
  return wrk.format(nil, nil, nil, body)
end
"""

_GET = """
local counter = 0
function request()
  counter = counter + 1
  local name = string.format("PREFIX-0-%d", counter % 500 + 1)
  return wrk.format("GET", "/api/v1/namespaces/default/configmaps/" .. name)
end
"""

_LIST = """
function request() return wrk.format("GET", "/api/v1/namespaces/default/configmaps") end
"""

_REPORT = """
function done(summary, latency, requests)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.timeout
  print(string.format("RESULT %d %d %d %d", summary.requests, summary.duration, failed, summary.bytes))
end
"""

SCRIPTS = {"create": _CREATE, "get": _GET, "list": _LIST}


@dataclass(frozen=True, slots=True)
class LoadResult:
    requests: int
    seconds: float
    failed: int
    server_cpu_s: float
    bytes: int

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_ms(self) -> float:
        """Server CPU milliseconds per request."""
        return self.server_cpu_s / max(self.requests, 1) * 1000


def run_wrk(
    server: ServerProcess, kind: str, *, seconds: float, connections: int = 32, prefix: str = "bench"
) -> LoadResult:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPTS[kind].replace("PREFIX", prefix) + _REPORT)
        script.flush()
        before = server.cpu()
        output = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", script.name,
             "-H", f"Authorization: Bearer {server.token}", server.url],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        used = server.cpu() - before
    match = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", output)
    if not match:
        raise SystemExit(f"wrk said: {output}")
    requests, microseconds, failed, size = map(int, match.groups())
    return LoadResult(requests, microseconds / 1e6, failed, used, size)
