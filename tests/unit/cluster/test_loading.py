"""What a start does not load: it would pay for it in time and memory."""

from __future__ import annotations

import subprocess
import sys


def test_expressions_are_loaded_by_those_who_use_them() -> None:
    program = (
        "import sys\n"
        "import steersman.cluster.local\n"
        "import steersman.cluster.admission.services\n"
        "import steersman.cluster.apiserver.aggregation\n"
        "print(*(name for name in sys.modules if name.startswith('steersman.cluster.cel')))"
    )

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
