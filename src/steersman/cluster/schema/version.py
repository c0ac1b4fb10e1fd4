"""The version of Kubernetes whose API this is, read from version.txt, the one place where it is written.

The build reads that file, too: it takes the published types of this version (see table_building).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["KUBERNETES_MINOR", "KUBERNETES_VERSION"]

#: "1.37.0"
KUBERNETES_VERSION: Final = Path(__file__).with_name("version.txt").read_text("utf-8").strip()
#: "1.37"
KUBERNETES_MINOR: Final = KUBERNETES_VERSION.rpartition(".")[0]
