"""How a generated module begins."""

from __future__ import annotations

__all__ = ["headed"]


def headed(docstring: str) -> str:
    origin = "Made by steersman.objects.kinds.generating; not to be edited."
    return f'"""{docstring}\n\n{origin}\n"""\n\nfrom __future__ import annotations\n\n'
