"""Makes the types anew in a checkout: `python -m steersman.objects.kinds.generating`."""

from __future__ import annotations

from pathlib import Path

from steersman.objects.kinds.generating import DescriptionError, generate, sources

if __name__ == "__main__":
    kinds = Path(__file__).parents[1]
    try:
        generate(sources(kinds.parents[1] / "cluster" / "schema", kinds), kinds)
    except DescriptionError as error:
        raise SystemExit(str(error)) from None
