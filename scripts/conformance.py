"""Run the public conformance suite of Kubernetes against `steer up`, many tests at a time.

    .venv/bin/python scripts/conformance.py                                  on simulated nodes
    .venv/bin/python scripts/conformance.py --focus sig-apps -- --nodes 2    on nodes with processes

The binary is Kubernetes' own, which `make originals` installs. What stands behind `--` is for `steer up`.
Tests that need the contents of images fail without them (`steer image add`), those that need the isolation of
containers fail.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.originals.programs import NOT_INSTALLED, find

STEER = Path(sys.executable).parent / "steer"
SIMULATED = ("--nodes", "3", "--runtime", "simulated")
#: Tests of one process of the suite; it takes a second to start.
TOGETHER = 6
LOOK_S = 0.5


def main() -> int:
    ours, theirs = _split(sys.argv[1:])
    options = _parser().parse_args(ours)
    if options.e2e_test is None:
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="steersman-conformance-") as name, _cluster(theirs) as kubeconfig:
        suite = Suite(options.e2e_test.resolve(), kubeconfig, Path(name))
        wanted = [
            test
            for test in suite.tests()
            if re.search(options.focus, test) and not (options.skip and re.search(options.skip, test))
        ]
        alone = [test for test in wanted if "[Serial]" in test]
        others = [test for test in wanted if "[Serial]" not in test]
        print(f"{len(wanted)} tests, {len(alone)} of them alone", flush=True)
        groups = [others[start::step] for step in [len(others) // TOGETHER + 1] for start in range(step)]
        failed = suite.run([group for group in groups if group], options.parallel)
        failed += suite.run([alone] if alone else [], 1)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


class Suite:
    def __init__(self, binary: Path, kubeconfig: str, folder: Path) -> None:
        self._command = [
            str(binary),
            "--provider=skeleton",
            f"--kubeconfig={kubeconfig}",
            "--ginkgo.no-color",
        ]
        self._folder = folder
        self._runs = 0

    def tests(self) -> list[str]:
        """The names of all conformance tests."""
        process, report = self._start(r"\[Conformance\]", "--ginkgo.dry-run")
        process.wait()
        return sorted({name for name, state, _ in _results(report) if name and state == "passed"})

    def run(self, groups: Sequence[Sequence[str]], parallel: int) -> int:
        """Run groups side by side; say what fails, and return how many did."""
        waiting, running = list(groups), list[tuple[subprocess.Popen[bytes], Path]]()
        failed = 0
        while waiting or running:
            while waiting and len(running) < parallel:
                running.append(self._start("|".join(f"{re.escape(test)}$" for test in waiting.pop())))
            for entry in [entry for entry in running if entry[0].poll() is not None]:
                running.remove(entry)
                for name, state, message in _results(entry[1]):
                    if state not in ("passed", "skipped"):
                        failed += 1
                        print(f"{state.upper()} {name}\n    {message}", flush=True)
            time.sleep(LOOK_S)
        return failed

    def _start(self, focus: str, *options: str) -> tuple[subprocess.Popen[bytes], Path]:
        self._runs += 1
        report = self._folder / f"{self._runs}.json"
        command = [*self._command, f"--ginkgo.focus={focus}", f"--ginkgo.json-report={report}", *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), report


def _results(report: Path) -> Iterator[tuple[str, str, str]]:
    """Name, state and first words of each test that was looked at."""
    if not report.exists():
        yield report.name, "lost", "the suite ended without a report"
        return
    specs: list[dict[str, Any]] = json.loads(report.read_bytes())[0]["SpecReports"]
    for spec in specs:
        name = " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])
        message = (spec.get("Failure") or {}).get("Message") or ""
        yield name, spec["State"], " ".join(message.split())[:300]


@contextmanager
def _cluster(options: Sequence[str]) -> Iterator[str]:
    """A cluster that keeps nothing; its kubeconfig."""
    with tempfile.TemporaryDirectory(prefix="steersman-conformance-") as folder:
        data = ("--data", folder, "--kubeconfig", f"{folder}/kubeconfig")
        command = [str(STEER), "up", *data, "--port", "0", "--wait", "--output", "json", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["kubeconfig"]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def _split(arguments: list[str]) -> tuple[list[str], Sequence[str]]:
    if "--" not in arguments:
        return arguments, SIMULATED
    border = arguments.index("--")
    return arguments[:border], arguments[border + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "e2e_test", type=Path, metavar="E2E_TEST", nargs="?", default=find("e2e.test"),
        help="Kubernetes' e2e.test, if not the installed one",
    )  # fmt: skip
    parser.add_argument("--focus", default="", metavar="REGEX", help="only tests whose name has this")
    parser.add_argument("--skip", default="", metavar="REGEX", help="no tests whose name has this")
    parser.add_argument("--parallel", type=int, default=8, metavar="N", help="so many processes [8]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
