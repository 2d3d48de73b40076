"""Tools: what the MCP servers of the admin offer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from daemon.core.ports.library import Passage


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an MCP server; `name` is unique (`server/tool`), `parameters` is a JSON schema.

    `writes` says that it may change or disclose something outside, so that a user has to approve each call; `destroys`
    that it says so of itself. `approvers` may approve it, by platform id; without any, those of the settings may.
    `fingerprint` stands for all that the tool says of itself; it changes with any of it.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    writes: bool
    fingerprint: str
    destroys: bool = False
    approvers: tuple[str, ...] = ()


class Toolbox(Protocol):
    """The tools of the admin's MCP servers."""

    @property
    def known(self) -> tuple[Tool, ...]:
        """The tools that the connected servers listed last; asks no server."""

    async def tools(self) -> tuple[Tool, ...]:
        """The tools that are available now; an unreachable server is left out and logged."""

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Call a tool once, if it still has the fingerprint with which it was chosen or allowed.

        Raises ToolFailed; `uncertain` when it may have taken effect nevertheless.
        """


class ToolRecords(Protocol):
    """What each tool said of itself when the admin came to trust it."""

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        """Record what a server offers; gives the names of the tools that say something else than before.

        A tool seen for the first time counts as known. Raises StoreError.
        """
