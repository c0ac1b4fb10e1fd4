"""/healthz, /livez and /readyz: health checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steersman.http import Request, Response
from steersman.objects.fields import show

__all__ = ["Check", "Health"]

#: Empty when all is well, else what is wrong.
Check = Callable[[], str]

_TEXT = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))


class Health:
    """Named checks for each endpoint; `?verbose` shows them, `?exclude=NAME` leaves one out."""

    def __init__(self, live: Mapping[str, Check], ready: Mapping[str, Check]) -> None:
        self._endpoints = {"livez": live, "healthz": live, "readyz": {**live, **ready}}

    def serve(self, request: Request, query: Mapping[str, list[str]]) -> Response | None:
        endpoint, slash, single = request.path[1:].partition("/")
        checks = self._endpoints.get(endpoint)
        if checks is None or (slash and not single):
            return None
        if single:
            if single not in checks:
                return None
            problem = checks[single]()
            return (
                Response(500, f"internal server error: {problem}\n".encode(), _TEXT)
                if problem
                else Response(200, b"ok", _TEXT)
            )
        return self._report(endpoint, checks, query)

    @staticmethod
    def _report(endpoint: str, checks: Mapping[str, Check], query: Mapping[str, list[str]]) -> Response:
        excluded = set(query.get("exclude", ()))
        lines = []
        failed = False
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif check():
                failed = True
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        if unknown := sorted(excluded - checks.keys()):
            names = ",".join(show(name) for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            text = "\n".join([*lines, f"{endpoint} check failed", ""])
            return Response(500, text.encode(), _TEXT)
        if "verbose" in query:
            return Response(200, "\n".join([*lines, f"{endpoint} check passed", ""]).encode(), _TEXT)
        return Response(200, b"ok", _TEXT)
