"""`steer demo`: a cluster, an operator and its web app, live in the terminal.

`command` is the command, `story` what happens, `scene` what is going on at a moment, `screen` how it is
shown; `webapp` is the operator, and `site` the image that its pods run.
"""

from __future__ import annotations

from steersman.cli.demo.command import demo

__all__ = ["demo"]
