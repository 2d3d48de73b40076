"""Notes which tools a cycle used with success, since something may have been expected of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from daemon.core.ports.library import Passage
from daemon.core.ports.tools import Tool, Toolbox
from daemon.mind.mental_process import Capabilities


def noting_tools(capabilities: Capabilities, note: Callable[[str], None]) -> Capabilities:
    """The same capabilities; `note` is given the name of each tool that was used."""
    toolbox = capabilities.toolbox
    return capabilities if toolbox is None else replace(capabilities, toolbox=_NotingToolbox(toolbox, note))


@dataclass(frozen=True, slots=True)
class _NotingToolbox:
    toolbox: Toolbox
    note: Callable[[str], None]

    @property
    def known(self) -> tuple[Tool, ...]:
        return self.toolbox.known

    async def tools(self) -> tuple[Tool, ...]:
        return await self.toolbox.tools()

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        passage = await self.toolbox.use(name, arguments, fingerprint)
        self.note(name)
        return passage
