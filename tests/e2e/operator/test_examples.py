"""The examples as their READMEs begin: `steer run FILE --cluster`, then `kubectl apply` of the file beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S, STEER

from .operators import EXAMPLES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl on the PATH"),
]


@contextmanager
def started(program: Path, folder: Path) -> Iterator[Kubectl]:
    """kubectl for the cluster that `steer run --cluster` starts and announces."""
    command = [str(STEER), "run", str(program), "--cluster", "--metrics-bind", "off"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, "MAIL": str(folder / "mail")},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout
    try:
        lines = (line.strip().partition("export KUBECONFIG=")[2] for line in process.stdout)
        kubeconfig = next(filter(None, lines), "")
        assert kubeconfig, (folder / "log").read_text()
        yield Kubectl(Path(kubeconfig), folder)
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("program", "manifest", "what", "condition"),
    [
        ("02-hello/hello.py", "greeting.yaml", "greeting/first", "jsonpath={.status.text}=Hello, Piraeus!"),
        ("03-config-maps/settings.py", "shop.yaml", "configmap/shop", "create"),
        ("04-timers-and-daemons/checks.py", "check.yaml", "tcpcheck/local", "condition=Reachable=False"),
        ("05-dependents/shop.py", "shop.yaml", "shop/harbour", "condition=Ready"),
        ("06-webapp/webapp.py", "nginx-app.yaml", "webapp/nginx-app", "condition=Ready"),
        ("09-sharded/parcels.py", "parcel.yaml", "parcel/first", "jsonpath={.status.handledBy}"),
        ("11-external-resource/mailboxes.py", "mailbox.yaml", "mailbox/captain", "condition=Ready"),
        ("12-batch-jobs/batches.py", "pictures.yaml", "batch/pictures", "condition=Done"),
        ("13-own-test-suite/kettles.py", "kettle.yaml", "kettle/tea", "jsonpath={.status.celsius}=25"),
    ],
    ids=lambda value: value.partition("/")[0] if value.endswith(".py") else "",
)
def test_as_the_readme_begins(program: str, manifest: str, what: str, condition: str, tmp_path: Path) -> None:
    file = EXAMPLES / program
    with started(file, tmp_path) as kubectl:
        # The definitions are installed right after the cluster is announced.
        kubectl("wait", "crd", "--all", "--for=create", WAIT)
        kubectl("wait", "crd", "--all", "--for=condition=Established", WAIT)
        kubectl("apply", "-f", str(file.with_name(manifest)))
        kubectl("wait", what, f"--for={condition}", WAIT)


def test_every_example_has_a_readme_and_a_test() -> None:
    folders = [folder for folder in sorted(EXAMPLES.glob("[0-9]*")) if folder.name != "01-first-look"]
    assert len(folders) >= 12
    for folder in folders:
        assert (folder / "README.md").exists(), folder
        assert list(folder.glob("test_*.py")), folder
