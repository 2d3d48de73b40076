"""The sources of a problem's conversation: the folders with their documents, and the tools of MCP servers."""

from collections.abc import Iterator, Mapping

from daemon.core.ports.library import Tool
from daemon.core.sentences import Words
from daemon.core.text import one_line, shortened
from daemon.core.value import Value
from daemon.mind.process import ProcessContext

_MOST_NAMED = 24  # tools that are named one by one
_NAME = 60  # characters of a folder's name


class Sources(Value):
    """The number of documents of each folder, by name, and the tools that may be used."""

    folders: Mapping[str, int]
    tools: tuple[Tool, ...]

    def __bool__(self) -> bool:
        return bool(self.folders or self.tools)

    @property
    def described(self) -> str:
        folders = (f"the folder {name} ({_count(many, 'document')})" for name, many in self._named_folders())
        return _listed([*folders, *self._servers(), "earlier talk"])

    def named(self, words: Words) -> str:
        servers = dict.fromkeys(tool.name.partition("/")[0] for tool in self.tools)
        return ", ".join([*(name for name, _ in self._named_folders()), *servers, words.say("earlier_talk")])

    def _named_folders(self) -> Iterator[tuple[str, int]]:
        for name, many in self.folders.items():
            yield shortened(one_line(name), _NAME), many

    def _servers(self) -> Iterator[str]:
        """Yield the servers and the names of their tools. Their descriptions are foreign text."""
        servers: dict[str, list[str]] = {}
        for tool in self.tools:
            server, _, name = tool.name.partition("/")
            servers.setdefault(server, []).append(name)
        left = _MOST_NAMED
        for server, names in servers.items():
            shown, left = names[:left], max(0, left - len(names))
            more = ", …" if len(names) > len(shown) else ""
            yield f"{server} ({_count(len(names), 'tool')}{': ' if shown else ''}{', '.join(shown)}{more})"


async def sources_of(context: ProcessContext) -> Sources:
    """Return the sources that the readers of a conversation may see, after waiting for servers that start."""
    library = context.capabilities.library
    return Sources(library.folders if library is not None else {}, await tools_of(context))


async def tools_of(context: ProcessContext) -> tuple[Tool, ...]:
    """Return the tools that may be used. Work that only reads gets those that need no permission."""
    toolbox, limits = context.capabilities.toolbox, context.cycle.limits
    tools = await toolbox.tools() if toolbox is not None else ()
    reads_only = limits is None or limits.reads_only
    return tuple(tool for tool in tools if not (reads_only and tool.writes))


def _count(many: int, what: str) -> str:
    return f"{many} {what}{'' if many == 1 else 's'}"


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
