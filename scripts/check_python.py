"""Say so at once when the Python at hand is too old."""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    version = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"Steersman needs Python 3.11 to 3.13, this is {version}; try: make PYTHON=python3.12 …")
