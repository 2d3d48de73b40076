"""One request to the control API: its fields, read with care."""

import base64
import binascii
import mimetypes
from dataclasses import dataclass

from daemon.local_slack.model import File, Json
from daemon.local_slack.people_acting import NotPossible
from daemon.local_slack.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Ask:
    """Fields of a request. Every reader raises NotPossible for a field of the wrong kind."""

    fields: Json

    def has(self, name: str) -> bool:
        """Whether a field was given."""
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """A text, empty when not given."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str | int | float):
            raise NotPossible("invalid_arguments", f"{name} has to be text")
        return "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        """A boolean, false when not given."""
        return self.fields.get(name) in (True, "true", "1", 1)

    def number(self, name: str, default: float) -> float:
        """A number that is not negative."""
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError as fault:
            raise NotPossible("invalid_arguments", f"{name} has to be a number") from fault
        if not 0 <= number < float("inf"):
            raise NotPossible("invalid_arguments", f"{name} has to be zero or more")
        return number

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty when not given."""
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise NotPossible("invalid_arguments", f"{name} has to be a list of texts")
        return value

    def object(self, name: str) -> Json:
        """An object."""
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise NotPossible("invalid_arguments", f"{name} has to be an object")
        return value

    def items(self, name: str) -> list[Json]:
        """A list of objects, empty when not given."""
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise NotPossible("invalid_arguments", f"{name} has to be a list of objects")
        return value

    def file(self, item: Json, workspace: Workspace, owner: str) -> File:
        """A file that somebody attaches: `name` and either `text` or `base64`."""
        name = str(item.get("name") or "file.txt").replace("/", "_")
        try:
            content = (
                base64.b64decode(item["base64"], validate=True) if "base64" in item else str(item["text"]).encode()
            )
        except (KeyError, TypeError, binascii.Error, ValueError) as fault:
            raise NotPossible("invalid_arguments", "a file needs `text` or valid `base64`") from fault
        mimetype = str(item.get("mimetype") or mimetypes.guess_type(name)[0] or "application/octet-stream")
        created = int(workspace.clock.now())
        return File(workspace.state.new_id("F"), name, name, mimetype, content, owner, created, shared=True)
