"""Prompts as files that people read: one file a prompt, with the texts of the soul's folder by name."""

import json
from collections.abc import Iterator
from pathlib import Path

from daemon.core.ports.services import Prompt
from tests.prompts.facts import soul
from tests.prompts.scenes import SCENES

GOLDEN = Path(__file__).with_name("golden")
REGENERATE = "python -m tests.prompts"
_WIDTH = 100


async def all_files(folder: Path) -> dict[str, str]:
    """The golden files by name, from all scenes; `folder` is for what the scenes store."""
    files: dict[str, str] = {}
    for at, (name, scene) in enumerate(SCENES.items()):
        own = folder / str(at)
        own.mkdir()
        prompts = await scene.prompts(own)
        for number, prompt in enumerate(prompts, 1):
            where = f"{name} {number}" if len(prompts) > 1 else name
            files[f"{where.replace(', ', ' - ')} - {prompt.step}.txt"] = as_file(prompt)
    return files


def as_file(prompt: Prompt) -> str:
    return "\n".join((*_figures(prompt), *_parts(prompt)))


def _figures(prompt: Prompt) -> Iterator[str]:
    creativity = "the model's own" if prompt.creativity is None else f"{prompt.creativity}"
    most = f"at most {prompt.max_output_tokens} tokens"
    yield f"{prompt.step}, for the {prompt.role} model; creativity: {creativity}; {most}"
    if prompt.json_schema is not None:
        yield f"schema: {json.dumps(prompt.json_schema, ensure_ascii=False, sort_keys=True)}"
    yield ""


def _parts(prompt: Prompt) -> Iterator[str]:
    for part in prompt.system:
        yield _line("system", marked=part.stable)
        yield f"{_by_name(part.text)}\n"
    for message in prompt.messages:
        yield _line(message.speaker, marked=message.cached)
        yield f"{message.text}\n"


def _line(whose: str, *, marked: bool) -> str:
    return f"{f'==== {whose} ':=<{_WIDTH}}{' cache mark behind this' if marked else ''}"


def _by_name(text: str) -> str:
    """The text with the files of the soul's folder named rather than quoted: they are read where they stand."""
    who = soul()
    files = {"soul.md": who.personality, **{f"{mode.name}/soul.md": mode.personality for mode in who.modes}}
    for name, content in files.items():
        text = text.replace(content, f"[souls/minoan/{name}]")
    return text
