"""SubjectAccessReview, TokenReview and the other reviews, answered and not stored.

SubjectAccessReview, LocalSubjectAccessReview     may this user do that?
SelfSubjectAccessReview                           may I?
SelfSubjectRulesReview                            what may I do in this namespace?
TokenReview                                       whose token is this?
SelfSubjectReview                                 who am I?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.apiserver.pipeline.bodies import match_namespace, read_object
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import respond_value
from steersman.cluster.apiserver.verbs.managed_fields import track
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.errors import InvalidCredentials
from steersman.cluster.auth.nodes import node_of
from steersman.cluster.auth.rbac import join_problems
from steersman.cluster.auth.users import User, user_info
from steersman.cluster.schema.validation.authorization import validate_review
from steersman.http import Response
from steersman.objects.errors import SelectorError
from steersman.objects.kinds import Object
from steersman.objects.selectors import FieldSelector, LabelSelector, Requirement
from steersman.objects.status import bad_request, invalid

__all__ = ["Reviews", "review_action"]


_NODE_RULES = "node authorizer does not support user rule resolution"
_LABEL_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Reviews:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._answers: Mapping[str, Callable[[Api, Call, Object], Object]] = {
            "subjectaccessreviews": self._subject_access,
            "localsubjectaccessreviews": self._local_access,
            "selfsubjectaccessreviews": self._self_access,
            "selfsubjectrulesreviews": self._self_rules,
            "tokenreviews": self._token,
            "selfsubjectreviews": self._self,
        }

    def handles(self, group: str, plural: str) -> bool:
        return group in ("authorization.k8s.io", "authentication.k8s.io") and plural in self._answers

    async def review(self, api: Api, call: Call) -> Response:
        """Answer a create of one of these kinds."""
        options = WriteOptions.parse(call.query, "CreateOptions")
        obj = read_object(call, options)
        match_namespace(call, obj["metadata"])
        kind = call.resource.type
        await track(api, call, None, obj, options)
        errors = validate_review(kind.group, kind.kind, obj)
        if errors:
            # Kubernetes does not know the kind's name at this point, and its message shows it.
            raise invalid(kind.group, "", "", errors)
        answer = self._answers[kind.plural](api, call, obj)
        return respond_value(api, call, answer, 201)

    # May they?

    def _subject_access(self, api: Api, call: Call, obj: Object) -> Object:
        spec = obj["spec"]
        extra = spec.get("extra") or {}
        user = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)
        return self._decided(obj, user)

    def _local_access(self, api: Api, call: Call, obj: Object) -> Object:
        return self._subject_access(api, call, obj)

    def _self_access(self, api: Api, call: Call, obj: Object) -> Object:
        return self._decided(obj, call.user)

    def _decided(self, obj: Object, user: User) -> Object:
        action, problems = review_action(obj["spec"])
        decision = self._access.authorizer.decide(user, action)
        status: Object = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        if problems:
            status["evaluationError"] = "; ".join(problems)
        return {**obj, "status": status}

    def _self_rules(self, api: Api, call: Call, obj: Object) -> Object:
        namespace = obj["spec"].get("namespace", "")
        if not namespace:
            raise bad_request("no namespace on request")
        rules, problems = self._access.rbac.rules_for(call.user, namespace)
        is_node = node_of(call.user) is not None
        status: Object = {
            "resourceRules": [rule.to_object() for rule in rules if rule.resources],
            "nonResourceRules": [rule.to_object() for rule in rules if rule.urls],
            "incomplete": is_node,
        }
        problems = [*([_NODE_RULES] if is_node else []), *problems]
        if problems:
            status["evaluationError"] = join_problems(problems)
        return {**_head(obj), "metadata": {}, "spec": {}, "status": status}

    # Who?

    def _token(self, api: Api, call: Call, obj: Object) -> Object:
        token = obj["spec"].get("token", "")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        try:
            found = self._access.authentication.by_token(token, obj["spec"].get("audiences") or ())
        except InvalidCredentials as problem:
            return {**obj, "status": {"user": {}, "error": _refused_token(str(problem))}}
        status = {"authenticated": True, "user": user_info(found.user), "audiences": list(found.audiences)}
        return {**obj, "status": status}

    def _self(self, api: Api, call: Call, obj: Object) -> Object:
        metadata = {"creationTimestamp": timestamp(api.now())}
        return {**_head(obj), "metadata": metadata, "status": {"userInfo": user_info(call.user)}}


def _head(obj: Object) -> Object:
    return {"kind": obj["kind"], "apiVersion": obj["apiVersion"]}


def review_action(spec: Object) -> tuple[Action, list[str]]:
    """What a review asks about, and which parts of it could not be understood."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        other = spec.get("nonResourceAttributes") or {}
        return Action(other.get("verb", ""), path=other.get("path", "")), []
    fields, field_problem = _fields(resource.get("fieldSelector"))
    label_problem = _label_problem(resource.get("labelSelector"))
    problems = [
        f"spec.resourceAttributes.{name} {problem}"
        for name, problem in (("fieldSelector", field_problem), ("labelSelector", label_problem))
        if problem
    ]
    keys = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    action = Action(*(resource.get(key, "") for key in keys))
    return action._replace(fields=fields), problems


def _fields(selector: Object | None) -> tuple[tuple[tuple[str, str], ...], str]:
    """The equalities a field selector demands, and what is wrong with it."""
    if selector is None:
        return (), ""
    requirements = selector.get("requirements")
    if requirements:
        good = [each for each in requirements if _one_value(each)]
        equal = [(each["key"], each["values"][0]) for each in good if each["operator"] == "In"]
        return tuple(equal), _problem(len(good), len(requirements))
    try:
        parsed = FieldSelector.parse(selector.get("rawSelector", ""))
    except SelectorError:
        return (), _problem(0, 1)
    return tuple((each.field, each.value) for each in parsed.requirements if each.equal), ""


def _one_value(requirement: Object) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _label_problem(selector: Object | None) -> str:
    """No authorizer here decides by labels, but an invalid selector is reported."""
    if selector is None:
        return ""
    requirements: Sequence[Object] = selector.get("requirements") or ()
    if requirements:
        good = sum(map(_is_label_requirement, requirements))
        return _problem(good, len(requirements))
    try:
        LabelSelector.parse(selector.get("rawSelector", ""))
    except SelectorError:
        return _problem(0, 1)
    return ""


def _is_label_requirement(requirement: Object) -> bool:
    operator = _LABEL_OPERATORS.get(requirement.get("operator", ""))
    if operator is None:
        return False
    try:
        Requirement(requirement.get("key", ""), operator, tuple(requirement.get("values") or ())).check()
    except SelectorError:
        return False
    return True


_UNKNOWN = "invalid bearer token"


def _refused_token(problem: str) -> str:
    """The errors of all authenticators that were asked."""
    return problem if problem == _UNKNOWN else f"[{_UNKNOWN}, {problem}]"


def _problem(good: int, given: int) -> str:
    if good == given:
        return ""
    return "partially ignored due to parse error" if good else "ignored due to parse error"
