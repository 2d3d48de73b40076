"""files.*: upload in three steps, file info, and deletion."""

import mimetypes
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import File, Json, WorkspaceMessage
from daemon.local_slack.slack_json import file_json
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.workspace import Tier


def get_upload_url(call: Call) -> Json:
    """Answer files.getUploadURLExternal: reserve a file, and return its id and upload URL."""
    state = call.workspace.state
    name = call.needed("filename")
    call.number("length", 1, 1_000_000_000)
    file = File(
        state.new_id("F"),
        name,
        name,
        mimetypes.guess_type(name)[0] or "application/octet-stream",
        b"",
        state.app.user,
        int(call.workspace.clock.now()),
    )
    state.files[file.id] = file
    return {"upload_url": f"{call.workspace.url}/upload/{file.id}", "file_id": file.id}


def complete_upload(call: Call) -> Json:
    """Answer files.completeUploadExternal: share uploaded files in channels, with an optional comment and thread."""
    state = call.workspace.state
    wanted = call.objects("files", "invalid_arguments") or ()
    found = [(state.files.get(str(item.get("id"))), item) for item in wanted]
    if not found or any(file is None or not file.content for file, _ in found):
        raise SlackError("file_not_found")
    files = [replace(file, title=str(item.get("title") or file.name), shared=True) for file, item in found if file]
    channels = [name for name in (call.text("channel_id") or call.text("channels")).split(",") if name]
    rooms = [replace(call, args=call.args | {"channel": name}).joined_channel() for name in channels]
    threads = [call.thread(room) for room in rooms]
    state.files.update((file.id, file) for file in files)
    for room, thread in zip(rooms, threads, strict=True):
        ids = tuple(file.id for file in files)
        words = call.text("initial_comment")
        call.workspace.post(
            WorkspaceMessage(room.id, state.app.user, words, thread_ts=thread, subtype="file_share", files=ids)
        )
    return {"files": [file_json(state, file, call.workspace.url) for file in files]}


def file_info(call: Call) -> Json:
    file = call.workspace.state.files.get(call.text("file"))
    if file is None:
        raise SlackError("file_not_found")
    return {"file": file_json(call.workspace.state, file, call.workspace.url), "comments": []}


def delete_file(call: Call) -> Json:
    """Answer files.delete: only the app's own files, with messages that show nothing else."""
    state = call.workspace.state
    file = state.files.get(call.needed("file"))
    if file is None:
        raise SlackError("file_not_found")
    if file.owner != state.app.user:
        raise SlackError("cant_delete_file")
    del state.files[file.id]
    for room in tuple(state.channels):
        for message in [one for one in state.timeline(room).everything() if file.id in one.files]:
            left = tuple(one for one in message.files if one != file.id)
            if left or message.text:
                call.workspace.revise(replace(message, files=left))
            else:
                call.workspace.withdraw(message)
    return {}


METHODS: Final = MappingProxyType(
    {
        "files.getUploadURLExternal": WebApiMethod(get_upload_url, ("files:write",), Tier.FOUR),
        "files.completeUploadExternal": WebApiMethod(complete_upload, ("files:write",), Tier.FOUR),
        "files.delete": WebApiMethod(delete_file, ("files:write",), Tier.THREE),
        "files.info": WebApiMethod(file_info, ("files:read",), Tier.FOUR),
    }
)
