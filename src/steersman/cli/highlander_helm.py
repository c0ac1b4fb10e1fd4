"""`steer highlander helm`: Highlander's chart."""

from __future__ import annotations

from pathlib import Path

from steersman.cli.helm import FolderOption, write_chart

__all__ = ["helm"]

_EXAMPLES = """Write the Helm chart of Highlander.

It makes what `steer highlander manifests` prints, of a configuration in its values. Definitions are in crds/.

Examples:

\b
  steer highlander helm --dir chart
  helm install highlander ./chart -n highlander -f values.yaml
"""


def helm(folder: FolderOption = Path("chart")) -> None:
    from steersman.highlander.chart import chart

    write_chart(folder, chart())


helm.__doc__ = _EXAMPLES
