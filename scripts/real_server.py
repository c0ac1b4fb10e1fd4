"""Run tests of ours on the original kube-apiserver, etcd and kube-controller-manager.

    .venv/bin/python scripts/real_server.py tests/integration/client
    .venv/bin/python scripts/real_server.py tests/integration/operator -k finalizer -n 2

Everything behind the script's name is pytest's. Needs what `make originals` installs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.originals.programs import NOT_INSTALLED, installed  # noqa: E402


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0
    if not installed("kube-apiserver", "kube-controller-manager", "etcd"):
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-p", "tests.originals.plugin", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
