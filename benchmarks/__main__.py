"""`python -m benchmarks [NAME…] [--quick] [--output json]`: measure, and print tables."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time

from benchmarks.options import Options, Unusable
from benchmarks.table import Table, render

#: In the order of running; each a module with `run(options) -> list[Table]`.
BENCHMARKS = {
    "start": "what importing and starting costs",
    "apiserver": "CPU and memory of requests, time to ready",
    "access": "apply, custom resources with CEL, a service account behind RBAC",
    "watch": "one change to 1,000 watchers",
    "operator": "an operator and its cache, beside one of kopf and one of the crate k8s-operator",
    "failover": "three replicas of an operator, the leader killed",
    "scheduling": "pods/s by number of nodes and kind of pod",
    "cluster": "a living cluster: time to ready nodes, at rest, 500 Deployments, 1,000 nodes and 10,000 pods",
    "idle": "ten idle days of virtual time, all controllers",
    "nodes": "nodes that run processes: a Deployment to ready, 100 pods, memory of the agent",
    "proxy": "connections through the service proxy, beside direct ones",
    "raft": "three Raft nodes beside three of etcd",
    "highlander": "500 workloads of one tenant, 50 tenants in one process: at rest",
    "soak": "minutes of changes: memory stays flat, every watcher sees everything",
}


def main(arguments: list[str] | None = None) -> int:
    chosen = _parse(arguments)
    report: dict[str, object] = {"machine": _machine(), "benchmarks": {}}
    as_text = chosen.output == "text"
    if as_text:
        print(_machine() + "\n", flush=True)
    failed = False
    results: dict[str, object] = {}
    for name in chosen.names or BENCHMARKS:
        load_average, started = os.getloadavg()[0], time.perf_counter()
        tables = _run(name, Options(quick=chosen.quick))
        failed |= any(table.failures for table in tables)
        results[name] = {"load_average": load_average, "tables": [table.as_json() for table in tables]}
        if as_text:
            print(f"== {name}: {BENCHMARKS[name]}  (load average before: {load_average:.2f}, "
                  f"took {time.perf_counter() - started:.0f} s)\n")  # fmt: skip
            for table in tables:
                print(render(table, colour=sys.stdout.isatty()), flush=True)
    if not as_text:
        report["benchmarks"] = results
        print(json.dumps(report, indent=2, ensure_ascii=False))
    return 1 if failed else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    names = "\n".join(f"  {name:<10} {about}" for name, about in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure, and print tables.",
        epilog=f"benchmarks:\n{names}\n\nThe exit code says whether all answers were right, not how fast.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (all)")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work?")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    chosen = parser.parse_args(arguments)
    for name in chosen.names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark is called {name!r}; there are {', '.join(BENCHMARKS)}")
    return chosen


def _run(name: str, options: Options) -> list[Table]:
    try:
        tables: list[Table] = importlib.import_module(f"benchmarks.{name}").run(options)
    except Unusable as error:
        return [Table(name, failures=[str(error)])]
    return tables


def _machine() -> str:
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}"
    )


if __name__ == "__main__":
    sys.exit(main())
