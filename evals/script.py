"""A scripted model that plays a scenario's own sample answers: `right`, or `wrong` where a turn has one."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from bench.model_server import model_server
from bench.thinker import tagged
from daemon.core.ports.services import SystemClock
from daemon.core.working_memory import estimate_tokens
from evals.environment import Model
from evals.scenario import Answer, Scenario

_PERSONA, _THINKING = "openai/persona", "openai/thinking"
_SILENT: Final = Answer(reply="Nothing is to be said here.")
_THOUGHT: Final = "They want the plain thing first."
_TOOL: Final = 'Answer with JSON: {"tool"'  # its arguments have no schema, so that the request has none either
_LAST_WORD: Final = re.compile(r"\S+$")


@dataclass(slots=True)
class Script:
    """Answers requests in the Chat Completions protocol; `begin` says which turn is being played."""

    scenario: Scenario
    wrong: bool = False
    _answer: Answer = _SILENT
    _choices: int = 0

    def begin(self, number: int) -> None:
        """Turn to the samples of a turn, counted from 0; one without samples keeps those before it."""
        turn = self.scenario.turns[number]
        self._answer = (turn.wrong if self.wrong else None) or turn.right or self._answer
        self._choices = 0

    def answer(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text of the answer, and the usage to be reported."""
        asked = "\n\n".join(str(one["content"]) for one in body["messages"])
        system = "\n\n".join(str(one["content"]) for one in body["messages"] if one["role"] == "system")
        form = (body.get("response_format") or {}).get("json_schema") or {}
        if form:
            text = json.dumps(self._structured(str(form["name"]), form["schema"]), ensure_ascii=False)
        elif _TOOL in asked:
            text = json.dumps(self._structured("use_tool", {}), ensure_ascii=False)
        elif "<stimulus_verb" in system:
            text = self._elements(calls_for="<calls_for>" in system)
        else:
            text = self._answer.reply if str(body["model"]) == _PERSONA.partition("/")[2] else _THOUGHT
        used = {"prompt_tokens": estimate_tokens(asked), "completion_tokens": estimate_tokens(text)}
        return text, {**used, "total_tokens": sum(used.values())}

    def _elements(self, *, calls_for: bool) -> str:
        if not self._answer.keeps_form:
            return _LAST_WORD.sub("", f'<internal_monologue verb="thought">{self._answer.thought}')
        return tagged(self._answer.reply, self._answer.thought, wish=self._answer.wish if calls_for else "")

    def _structured(self, step: str, schema: Mapping[str, Any]) -> object:
        """The answer of a step that asks for JSON: what the sample says of it, else the emptiest that fits."""
        answer, empty = self._answer, _emptiest(schema)
        if step == "choose_actions":
            self._choices += 1
            first = bool(answer.searches) and self._choices == 1
            name, given = ("Research", answer.searches) if first else ("Respond", "what was asked")
            return {**empty, "actions": [{"name": name, "input": given}]}
        if step == "use_tool":
            return {**empty, "tool": answer.tool or "none", "arguments": dict(answer.arguments)}
        if step == "intend":
            when = answer.when.due(SystemClock().now_ms()).isoformat() if answer.when else ""
            return {**empty, "when": when, "what": answer.what}
        return empty


@asynccontextmanager
async def scripted(scenario: Scenario, model: Model, *, wrong: bool = False) -> AsyncIterator[tuple[Model, Script]]:
    """The model of a scenario's samples, served on loopback, and its script."""
    script = Script(scenario, wrong)
    async with model_server() as server:
        server.thinker = script
        settings = {  # nothing of the configured model's: no key of its vendor may be used
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "sk-loopback",
            "SOUL_PERSONA_MODEL": _PERSONA,
            "SOUL_THINKING_MODEL": _THINKING,
        }
        yield replace(model, persona=_PERSONA, thinking=_THINKING, settings=settings, paid=False), script


def _emptiest(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The emptiest object that fits a schema: no to every question, the first of every choice, nothing else."""
    found = _empty(schema, schema.get("$defs", {}))
    return found if isinstance(found, dict) else {}


def _empty(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> object:
    while "$ref" in part or "anyOf" in part:
        part = definitions[str(part["$ref"]).rpartition("/")[2]] if "$ref" in part else part["anyOf"][0]
    if "enum" in part:
        return part["enum"][0]
    if part.get("type") == "object":
        return {name: _empty(one, definitions) for name, one in part.get("properties", {}).items()}
    plain = {"array": [], "boolean": False, "integer": part.get("minimum", 0), "null": None}
    return plain.get(str(part.get("type")), "")
