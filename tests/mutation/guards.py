"""Which tests guard which module, and which mutants may live."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALLOWED", "GUARDS", "Guard"]


@dataclass(frozen=True, slots=True)
class Guard:
    #: Path in the package.
    module: str
    #: Fast ones, paths in tests/unit/cluster.
    tests: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        return [f"tests/unit/cluster/{test}" for test in self.tests]


GUARDS = (
    Guard("cluster/auth/rbac.py", ("auth/test_rbac.py",)),
    Guard("cluster/auth/rules.py", ("auth/test_rules.py", "auth/test_rbac.py")),
    Guard("cluster/auth/authentication.py", ("auth/test_authentication.py", "auth/test_service_accounts.py")),
    Guard(
        "cluster/auth/authorization.py",
        (
            "auth/test_authorization.py",
            "apiserver/test_access_reviews.py",
            "apiserver/test_access_requests.py",
        ),
    ),
    Guard("cluster/auth/nodes.py", ("auth/test_nodes.py",)),
    Guard("cluster/auth/jwt.py", ("auth/test_jwt.py",)),
    Guard("cluster/auth/service_accounts.py", ("auth/test_service_accounts.py",)),
    Guard("cluster/auth/bootstrap_tokens.py", ("auth/test_bootstrap_tokens.py",)),
    Guard("cluster/apiserver/escalation.py", ("apiserver/test_access_escalation.py",)),
    Guard("cluster/apiserver/impersonation.py", ("apiserver/test_access_impersonation.py",)),
    Guard("cluster/schema/validation/rbac.py", ("schema/validation/test_rbac.py",)),
    Guard("cluster/schema/validation/services.py", ("schema/validation/test_services.py",)),
)

_SAME_ANSWERS = "Changes what is remembered between requests, never an answer."

#: Mutants that may live, by module and name, each with the reason.
ALLOWED: dict[tuple[str, str], str] = {
    (
        "cluster/auth/rbac.py",
        "RBAC.change_binding: held.pop(name, None) is not None -> (held.pop(name, None) is None)",
    ): "An empty entry of the index is kept; the binding is taken out of it all the same.",
    (
        "cluster/auth/authentication.py",
        "StaticTokens.authenticate: (user := self._users.get(_digest(token))) is not None"
        " -> ((user := self._users.get(_digest(token))) is None)",
    ): _SAME_ANSWERS,
    (
        "cluster/auth/authentication.py",
        "StaticTokens.authenticate: user is None and (user := self._users.get(_digest(token))) is not None"
        " -> not (user is None and (user := self._users.get(_digest(token))) is not None)",
    ): _SAME_ANSWERS,
}
