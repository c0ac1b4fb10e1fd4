"""Whether the expressions of a webhook configuration or policy compile: asked when one is written.

The API server adds these errors to those of the schema's own validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steersman.cluster.admission.webhooks.conditions import Compiler, Program, compiled
from steersman.cluster.admission.webhooks.errors import ExpressionError
from steersman.objects.fields import FieldError, Path, invalid

__all__ = ["expression_errors"]

Object = dict[str, Any]


def expression_errors(compiler: Compiler, kind: str, obj: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with the expressions of an object; nothing for kinds that have none."""
    if kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        return list(_of_webhooks(compiler, obj))
    if kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        return list(_PolicyCheck(compiler, obj.get("spec") or {}).errors())
    return []


def _of_webhooks(compiler: Compiler, configuration: Mapping[str, Any]) -> Iterator[FieldError]:
    for number, hook in enumerate(configuration.get("webhooks") or ()):
        path = Path("webhooks").index(number).child("matchConditions")
        for place, condition in enumerate(hook.get("matchConditions") or ()):
            yield from _check(
                compiler, path.index(place).child("expression"), condition.get("expression", "")
            )


def _check(compiler: Compiler, path: Path, expression: str, **seen: Any) -> Iterator[FieldError]:
    if not expression.strip():
        # That something is missing has been said already.
        return
    try:
        compiler.compile(expression, **seen)
    except ExpressionError as error:
        yield invalid(path, expression, str(error))


class _PolicyCheck:
    def __init__(self, compiler: Compiler, spec: Mapping[str, Any]) -> None:
        self._compiler = compiler
        self._spec = spec
        self._params = spec.get("paramKind") is not None
        self._variables: dict[str, Program] = {}

    def errors(self) -> Iterator[FieldError]:
        for path, variable in self._each("variables"):
            expression = variable.get("expression", "")
            yield from self._one(path.child("expression"), expression, returns="any")
            if name := variable.get("name"):
                self._variables[name] = compiled(
                    self._compiler,
                    expression,
                    returns="any",
                    params=self._params,
                    variables=dict(self._variables),
                )
        for path, condition in self._each("matchConditions"):
            expression = condition.get("expression", "")
            yield from _check(self._compiler, path.child("expression"), expression, params=self._params)
        yield from self._validations()
        yield from self._mutations()

    def _validations(self) -> Iterator[FieldError]:
        for path, validation in self._each("validations"):
            yield from self._one(path.child("expression"), validation.get("expression", ""))
            text = validation.get("messageExpression", "")
            yield from self._one(path.child("messageExpression"), text, returns="string", authorizer=False)
        for path, annotation in self._each("auditAnnotations"):
            text = annotation.get("valueExpression", "")
            yield from self._one(path.child("valueExpression"), text, returns="string or null")

    def _mutations(self) -> Iterator[FieldError]:
        for path, mutation in self._each("mutations"):
            for source, returns in (("jsonPatch", "JSONPatch"), ("applyConfiguration", "Object")):
                text = (mutation.get(source) or {}).get("expression", "")
                yield from self._one(path.child(source, "expression"), text, returns=returns)

    def _each(self, name: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        for number, item in enumerate(self._spec.get(name) or ()):
            yield Path("spec").child(name).index(number), item

    def _one(self, path: Path, expression: str, **seen: Any) -> Iterator[FieldError]:
        return _check(
            self._compiler, path, expression, params=self._params, variables=self._variables, **seen
        )
