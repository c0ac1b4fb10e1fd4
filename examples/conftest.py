"""Lets the test beside an example import it, as a test of an installed package would."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in sorted(Path(__file__).parent.glob("[0-9]*")):
    sys.path.append(str(folder))
