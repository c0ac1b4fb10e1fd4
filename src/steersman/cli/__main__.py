"""`python -m steersman.cli`: the command where it is not on the PATH."""

from __future__ import annotations

from steersman.cli import main

main()
