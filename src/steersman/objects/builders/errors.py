"""The one error of the builders: an object that the API would refuse, or that could not mean what it says.

ValueError
└── ObjectError
    └── BuildError
"""

from __future__ import annotations

from steersman.objects.errors import ObjectError

__all__ = ["BuildError"]


class BuildError(ObjectError):
    """What was built cannot work; the text names the kind, its name and the field."""

    def __init__(self, kind: str, name: str, field: str, problem: str) -> None:
        super().__init__(kind, name, field, problem)
        self.kind = kind
        self.name = name
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        subject = f'{self.kind} "{self.name}"' if self.name else self.kind
        return f"{subject}: {self.field}: {self.problem}"
