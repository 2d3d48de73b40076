"""The fixed pipeline's one call: what is called for, a private thought, the reply and two checks (seed 000)."""

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from daemon.core.errors import MalformedReply
from daemon.core.fencing import clean_name
from daemon.core.phrases import short_answers_in
from daemon.core.ports.services import Effort, ModelRole
from daemon.core.step import (
    NOTHING_HEARD,
    PLAINLY_STATED,
    AnswerForm,
    EpistemicMode,
    Heard,
    Stated,
    Step,
    heard_in,
    stated_in,
)
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role
from daemon.mind.prompts import prompt
from daemon.mind.steps.external_dialog import external_dialog, read_spoken, spoken_text
from daemon.mind.tagged_output import REPLY_TAG, WISH_TAG, Element, LeadingElement, TaggedOutput
from daemon.soul import Soul

NOTHING = "nothing"
"""The word of the first element where a message calls for a plain reply."""

REPLY = "Reply to what was said last. Promise a reminder only where a line in round brackets says that you have set it."
"""The instruction for a reply in plain speech."""

_REPAIR = "write only the words to be said"
_OWN_TAG = re.compile(rf"<(?=\s*/?\s*(?:{REPLY_TAG}|{WISH_TAG}))", re.IGNORECASE)
_WORD = re.compile(r"[a-z_]{1,40}")
_AROUND = " \t\r\n.,:;!\"'`*"


class Response(Value):
    """The parts of a tagged answer. `user_model` and `soul_state` are None when the model did not answer the check.

    `calls_for` is the word that the answer begins with, None for none. If it `leads` elsewhere, the other parts are
    empty. `stray_wishes` counts such elements further down, which mean nothing. `made_piece` names the register and
    the images of a reply that is a poem. `cut`: the reply met the output limit. `heard` and `stated` describe the
    message and the reply. `answers` are offered as buttons.
    """

    reply: str
    reply_verb: str | None = None
    stimulus_verb: str | None = None
    monologue: str | None = None
    monologue_verb: str | None = None
    user_model: bool | None = None
    soul_state: bool | None = None
    cut: bool = False
    calls_for: str | None = None
    leads: bool = False
    stray_wishes: int = 0
    made_piece: str | None = None
    heard: Heard = NOTHING_HEARD
    stated: Stated = PLAINLY_STATED
    answers: tuple[str, ...] = ()


def respond(
    soul: Soul,
    wishes: Mapping[str, str] | None = None,
    *,
    leads: Callable[[str], bool] = lambda _: False,
    more: str = "",
    opening: Callable[[Mapping[str, str]], str] | None = None,
) -> Step[Response]:
    """Build the step for what is called for, thought and reply in one streamed call. Only the reply is visible.

    `wishes` are the words, apart from `nothing`, that the first element may hold, each with its meaning. They have to
    stay the same from turn to turn. A word that `leads` elsewhere ends the call before a word is shown. `more` is a
    sentence about an element that only this reply may have. `opening` checks the reply's opening tag, see `Step`. A
    malformed answer is repaired in plain speech, for models that can't keep the form.
    """
    verbs = soul.verbs

    def read(answer: str) -> Response:
        return _spoken_response(soul, read_response(answer))

    def read_cut(answer: str) -> Response:
        return _spoken_response(soul, read_response(answer, cut=True))

    def lead(element: str) -> Response | None:
        word = wish_word(element)
        return Response("", calls_for=word, leads=True) if leads(word) else None

    return Step(
        name="respond",
        command=prompt(
            "respond",
            thought=verbs.thought[0],
            speech=verbs.speech[0],
            modes="|".join(EpistemicMode),
            thoughts=", ".join(verbs.named_thought),
            speeches=", ".join(verbs.named_speech),
            wishes=listed_wishes(wishes or {}),
        ),
        read=read,
        remember=lambda response: () if response.leads else (_spoken(soul.display_name, response),),
        role=ModelRole.PERSONA,
        standing=True,
        cue=prompt("respond_cue", more=f" {more}" if more else ""),
        visible=lambda: spoken_text(soul),
        max_output_tokens=4096,
        form=AnswerForm.ELEMENTS,
        read_cut=read_cut,
        repair=lambda: _plain(soul),
        sees=True,
        own_turns=_as_elements,
        lead=lead,
        opening=opening,
    )


def listed_wishes(wishes: Mapping[str, str]) -> str:
    lines = (f"- {word}: {meaning}" for word, meaning in wishes.items())
    return "\n".join((prompt("wish_for_nothing"), *lines))


def wish_word(element: str) -> str:
    """Return the word of a `calls_for` element, in lower case and without marks around it, or an empty string."""
    return element.strip(_AROUND).casefold()


def _plain(soul: Soul) -> Step[Response]:
    """Build the step for the reply in plain speech, without thought and checks."""
    plain = external_dialog(soul, REPLY)
    return Step(
        name=plain.name,
        command=plain.command,
        read=lambda answer: Response(plain.read(answer)),
        remember=lambda response: plain.remember(response.reply),
        role=plain.role,
        visible=plain.visible,
        effort=Effort.LOW,  # they have waited for one answer already
        max_output_tokens=plain.max_output_tokens,
        read_cut=lambda answer: Response(plain.read(answer), cut=True),
        sees=True,
    )


def _as_elements(text: str, turn: Mapping[str, str]) -> str:
    wish, verb = turn.get("calls_for", ""), turn.get("verb") or "said"
    word = wish if _WORD.fullmatch(wish) else NOTHING
    reply = f'<{REPLY_TAG} verb="{clean_name(verb)}">{_OWN_TAG.sub("&lt;", text)}</{REPLY_TAG}>'
    return f"<{WISH_TAG}>{word}</{WISH_TAG}>\n{reply}"


def _spoken_response(soul: Soul, response: Response) -> Response:
    return replace(response, reply=read_spoken(soul, response.reply))


def read_response(answer: str, *, cut: bool = False) -> Response:
    """Read the parts of a tagged answer. Raises MalformedReply unless it holds exactly one unambiguous reply.

    The reply of an answer that was `cut` off may be unfinished.
    """
    output = TaggedOutput()
    output.feed(answer)
    output.finish()
    reply = output.begun_reply if cut else output.reply
    if not reply:
        raise MalformedReply("it has no usable external_dialogue element", reply=answer, hint=_REPAIR)
    elements, first = output.elements, LeadingElement.of(answer)
    monologue = elements.get("internal_monologue")
    return Response(
        reply=reply,
        reply_verb=output.reply_verb,
        stimulus_verb=_text(elements, "stimulus_verb"),
        monologue=_text(elements, "internal_monologue"),
        monologue_verb=monologue.attributes.get("verb") or None if monologue else None,
        user_model=_truth(elements, "user_model_check"),
        soul_state=_truth(elements, "soul_state_check"),
        cut=output.reply is None,
        calls_for=None if first.content is None else wish_word(first.content),
        stray_wishes=first.others,
        made_piece=_text(elements, "made_piece"),
        heard=heard_in(elements["stimulus_verb"].attributes) if "stimulus_verb" in elements else NOTHING_HEARD,
        stated=stated_in(output.reply_attributes),
        answers=short_answers_in(_text(elements, "short_answers") or ""),
    )


def _spoken(name: str, response: Response) -> Memory:
    return Memory(Role.ASSISTANT, response.reply, name=name, metadata={"verb": response.reply_verb or "said"})


def _text(elements: Mapping[str, Element], tag: str) -> str | None:
    element = elements.get(tag)
    return element.content or None if element else None


def _truth(elements: Mapping[str, Element], tag: str) -> bool | None:
    return {"true": True, "false": False}.get((_text(elements, tag) or "").strip().lower())
