"""Say so at once, in a line, when the Python at hand is too old or cannot make a virtual environment."""

import importlib.util
import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    version = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"Steersman needs Python 3.11 to 3.13, this is {version}; try: make PYTHON=python3.12 …")
# Debian has them in a package of their own.
if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
    problem = f"{sys.executable} cannot make virtual environments"
    sys.exit(f"{problem}; on Debian and Ubuntu: apt-get install python3-venv")
