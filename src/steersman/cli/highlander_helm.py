"""`steer highlander helm`: Highlander's chart."""

from __future__ import annotations

from pathlib import Path

from steersman.cli.helm import FolderOption, write_chart

__all__ = ["helm"]

_EXAMPLES = """Generate the Helm chart of Highlander.

The chart creates the objects that `steer highlander manifests` prints, from a configuration in its
values. The CustomResourceDefinitions are in crds/.

Examples:

\b
  steer highlander helm --dir chart
  helm install highlander ./chart -n highlander -f values.yaml
"""


def helm(folder: FolderOption = Path("chart")) -> None:
    from steersman.highlander.chart import chart

    write_chart(folder, chart())


helm.__doc__ = _EXAMPLES
