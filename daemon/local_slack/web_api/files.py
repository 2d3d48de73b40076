"""files.*, and the URLs outside /api/ that an app uses: upload, download, and response URLs."""

import mimetypes

from aiohttp import web
from msgspec.structs import replace

from daemon.local_slack.faults import Tier
from daemon.local_slack.interactions import ResponseUrl
from daemon.local_slack.model import File, Json, WorkspaceMessage
from daemon.local_slack.slack_json import file_json
from daemon.local_slack.web_api.call import TEXT, Call, SlackError, method
from daemon.local_slack.workspace import Workspace


@method("files.getUploadURLExternal", "files:write", tier=Tier.FOUR)
def get_upload_url(call: Call) -> Json:
    """Reserve a file."""
    name = call.needed("filename")
    call.number("length", 1, 1_000_000_000)
    file = File(
        call.state.new_id("F"),
        name,
        name,
        mimetypes.guess_type(name)[0] or "application/octet-stream",
        b"",
        call.state.app.user,
        int(call.workspace.clock.now()),
    )
    call.state.files[file.id] = file
    return {"upload_url": f"{call.state.url}/upload/{file.id}", "file_id": file.id}


@method("files.completeUploadExternal", "files:write", tier=Tier.FOUR)
def complete_upload(call: Call) -> Json:
    """Share uploaded files in channels, with an optional comment and thread."""
    wanted = call.objects("files", "invalid_arguments") or ()
    found = [(call.state.files.get(str(item.get("id"))), item) for item in wanted]
    if not found or any(file is None or not file.content for file, _ in found):
        raise SlackError("file_not_found")
    files = [replace(file, title=str(item.get("title") or file.name), shared=True) for file, item in found if file]
    channels = [name for name in (call.text("channel_id") or call.text("channels")).split(",") if name]
    rooms = [replace(call, args=call.args | {"channel": name}).joined_channel() for name in channels]
    threads = [call.thread(room) for room in rooms]
    call.state.files.update((file.id, file) for file in files)
    for room, thread in zip(rooms, threads, strict=True):
        ids = tuple(file.id for file in files)
        words = call.text("initial_comment")
        call.workspace.post(
            WorkspaceMessage(room.id, call.state.app.user, words, thread_ts=thread, subtype="file_share", files=ids)
        )
    return {"files": [file_json(call.state, file) for file in files]}


@method("files.info", "files:read", tier=Tier.FOUR)
def file_info(call: Call) -> Json:
    file = call.state.files.get(call.text("file"))
    if file is None:
        raise SlackError("file_not_found")
    return {"file": file_json(call.state, file), "comments": []}


@method("files.delete", "files:write")
def delete_file(call: Call) -> Json:
    """Delete one of the app's own files, with messages that show nothing else."""
    file = call.state.files.get(call.needed("file"))
    if file is None:
        raise SlackError("file_not_found")
    if file.owner != call.state.app.user:
        raise SlackError("cant_delete_file")
    del call.state.files[file.id]
    for room in tuple(call.state.channels):
        for message in [one for one in call.state.timeline(room).everything() if file.id in one.files]:
            left = tuple(one for one in message.files if one != file.id)
            if left or message.text:
                call.workspace.revise(replace(message, files=left))
            else:
                call.workspace.withdraw(message)
    return {}


_SIGN_IN = "<!DOCTYPE html><html><head><title>Sign in | Local workspace</title></head><body>Sign in</body></html>"


class AppUrls:
    """The handlers of POST /upload/{file}, GET /files-pri/{key}/{name} and POST /response/{key}."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def upload(self, request: web.Request) -> web.Response:
        """Store the bytes of a reserved file, sent raw or as the first part of a form."""
        state = self._workspace.state
        file = state.files.get(request.match_info["file"])
        if file is None or file.shared:
            return web.Response(status=404, text="no such upload")
        content = await _content(request)
        state.files[file.id] = replace(file, content=content)
        self._workspace.record_call("(upload)", {"file": file.id, "bytes": len(content)}, self._now(), 200, {})
        return web.Response(text=f"OK - {len(content)}")

    async def download(self, request: web.Request) -> web.Response:
        """Return a file for the bot token and its scope. All others get Slack's sign-in page with status 200."""
        state = self._workspace.state
        known = request.headers.get("Authorization", "") == f"Bearer {state.app.bot_token}"
        if not known or "files:read" not in self._workspace.scopes:
            return web.Response(text=_SIGN_IN, content_type="text/html")
        file = state.files.get(request.match_info["key"].partition("-")[2])
        if file is None:
            return web.Response(status=404, text="no such file")
        return web.Response(body=file.content, content_type=file.mimetype)

    async def respond(self, request: web.Request) -> web.Response:
        """Reply to a click or a command through its response_url (five times within thirty minutes)."""
        responses = self._workspace.interactions.responses
        key = request.match_info["key"]
        grant = responses.get(key)
        if grant is None or grant.until <= self._now():
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        if not grant.uses:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        try:
            body = await request.json()
            answer = self._answer(Call("(response_url)", dict(body), self._workspace), grant)
        except (ValueError, TypeError):
            answer = {"ok": False, "error": "invalid_payload"}
        except SlackError as error:
            answer = {"ok": False, "error": error.code}
        else:
            responses[key] = replace(grant, uses=grant.uses - 1)
        args, status = (dict(body), 200) if answer["ok"] else ({}, 400)
        self._workspace.record_call("(response_url)", args, self._now(), status, answer)
        return web.json_response(answer, status=status)

    def _answer(self, call: Call, grant: ResponseUrl) -> Json:
        workspace = self._workspace
        message = workspace.state.message(grant.channel, grant.ts) if grant.ts else None
        if message is not None and call.flag("delete_original"):
            workspace.withdraw(message)
            return {"ok": True}
        blocks = call.blocks() or ()
        words = call.text("text")[:TEXT]
        if not words and not blocks:
            raise SlackError("no_text")
        if message is not None and call.flag("replace_original"):
            workspace.revise(replace(message, text=words, blocks=blocks))
            return {"ok": True}
        thread = call.text("thread_ts")
        draft = WorkspaceMessage(grant.channel, workspace.state.app.user, words, thread_ts=thread, blocks=blocks)
        workspace.respond(grant.person, draft, in_channel=call.text("response_type") == "in_channel")
        return {"ok": True}

    def _now(self) -> float:
        return self._workspace.clock.now()


async def _content(request: web.Request) -> bytes:
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    for value in (await request.post()).values():
        if isinstance(value, web.FileField):
            return value.file.read()
    return b""
