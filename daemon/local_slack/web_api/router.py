"""The route of Web API calls: arguments in three forms, tokens, scopes, rate limits, injected faults."""

import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import web

from daemon.local_slack.faults import FaultMode, MethodFault
from daemon.local_slack.model import Json
from daemon.local_slack.web_api import agents, chat, conversations, files, people, views
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.workspace import Workspace

METHODS: Final[Mapping[str, WebApiMethod]] = MappingProxyType(
    {
        target.name: target
        for family in (agents, chat, conversations, files, people, views)
        for target in vars(family).values()
        if isinstance(target, WebApiMethod)
    }
)


class WebApi:
    """The handler of POST and GET at /api/{method}."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one call, or apply the next fault ordered for it."""
        method = request.match_info["method"]
        try:
            args = await _arguments(request)
        except SlackError as error:
            return self._respond(method, {}, 200, {"ok": False, "error": error.code}, {})
        token = _token(request, args)
        args.pop("token", None)
        fault = self._workspace.faults.take(method)
        if fault is None:
            return self._respond(method, args, *self._perform(method, args, token))
        return await self._fail(request, fault, method, args, token)

    async def _fail(
        self, request: web.Request, fault: MethodFault, method: str, args: Json, token: str
    ) -> web.StreamResponse:
        if fault.delay:
            await self._workspace.clock.sleep(fault.delay)
        if fault.mode is FaultMode.RESET_BEFORE:
            return self._drop(request, method, args, {})
        if fault.mode is FaultMode.ANSWER and fault.body is not None:
            return self._respond(method, args, fault.status, fault.body, fault.headers)
        status, answer, headers = self._perform(method, args, token)
        if fault.mode is FaultMode.ACCEPT_THEN_DROP:
            return self._drop(request, method, args, answer)
        if fault.body is not None:
            return self._respond(method, args, fault.status, fault.body, fault.headers)
        return self._respond(method, args, status, answer, headers)

    def _perform(self, method: str, args: Json, token: str) -> tuple[int, Json, dict[str, str]]:
        call, target = Call(method, args, self._workspace), METHODS.get(method)
        answer: Json
        try:
            admitted = self._admit(target, call, token)
            wait = self._workspace.limits.check(method, admitted.tier, call.text("channel"), call.workspace.clock.now())
            if wait:
                return 429, {"ok": False, "error": "ratelimited"}, {"Retry-After": str(wait)}
            answer = {"ok": True} | admitted.run(call)
        except SlackError as error:
            answer = {"ok": False, "error": error.code} | error.extra
        scopes = "connections:write" if target and target.app_token else ",".join(sorted(self._workspace.scopes))
        return 200, answer, {"x-oauth-scopes": scopes}

    def _admit(self, target: WebApiMethod | None, call: Call, token: str) -> WebApiMethod:
        """Return a method that the token and the scopes allow."""
        if target is None:
            raise SlackError("unknown_method", req_method=call.method)
        if not token:
            raise SlackError("not_authed")
        is_app = secrets.compare_digest(token.encode(), call.state.app.app_token.encode())
        if not is_app and not secrets.compare_digest(token.encode(), call.state.app.bot_token.encode()):
            raise SlackError("invalid_auth")
        if is_app is not target.app_token:
            raise SlackError("not_allowed_token_type")
        call.require(*target.scopes)
        return target

    def _respond(self, method: str, args: Json, status: int, answer: Json, headers: dict[str, str]) -> web.Response:
        self._workspace.record_call(method, args, self._workspace.clock.now(), status, answer)
        return web.json_response(answer, status=status, headers={"x-slack-req-id": secrets.token_hex(8)} | headers)

    def _drop(self, request: web.Request, method: str, args: Json, answer: Json) -> web.Response:
        self._workspace.record_call(method, args, self._workspace.clock.now(), 0, answer)
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


async def _arguments(request: web.Request) -> Json:
    if request.content_type == "application/json":
        try:
            body = await request.json()
        except ValueError as fault:
            raise SlackError("invalid_json") from fault
        if not isinstance(body, dict):
            raise SlackError("json_not_object")
        return dict(request.query) | body
    args: Json = dict(request.query)
    if request.can_read_body:
        args |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return args


def _token(request: web.Request, args: Json) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else str(args.get("token") or "")
