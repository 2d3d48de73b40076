"""The notes about users in the prompt, newest first, as far as the budget allows."""

from collections.abc import Sequence, Set

from daemon.core.fencing import clean_name
from daemon.core.lineage import model_id, saw
from daemon.core.perception import AudienceKind
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.memory.knowledge.user_models import UserModel
from daemon.soul import Soul
from daemon.soul_engine import PERSON, TURN_OVERHEAD

_HEADINGS = {AudienceKind.WORKSPACE: "noted in the open:", AudienceKind.DM: "noted between the two of you:"}


def person_notes(models: Sequence[UserModel], budget: int, *, whispers: bool = True) -> tuple[str, ...]:
    """Texts about one user, most important first: notes made here, notes for the workspace, whispers.

    All together fit `budget` tokens: the newest lines of the notes, whispers only whole. They are data.
    """
    texts = []
    for model in models:
        text, budget = _lines(model, budget)
        if text:
            texts.append(text)
    for model in models if whispers else ():
        text = f"a feeling of what may go unsaid, no fact:\n{model.whispers}"
        budget -= estimate_tokens(text) + TURN_OVERHEAD
        if model.whispers and budget >= 0:
            texts.append(text)
    return tuple(texts)


def with_people(memory: WorkingMemory, soul: Soul, *people: Sequence[UserModel], workspace: str = "") -> WorkingMemory:
    """Put the notes about each user; `UserModels.known` gives the models of one user, most important first."""
    known = [models for models in people if models]
    share = soul.budgets.person // max(1, len(known))
    return memory.with_region(
        PERSON,
        *(
            Memory(Role.USER, text, name=clean_name(models[0].name), metadata=_seen(models, text, workspace))
            for models in known
            for text in person_notes(models, share, whispers=soul.notes.whispers)
        ),
    )


def facts_shown(memory: WorkingMemory, *people: Sequence[UserModel]) -> tuple[str, ...]:
    """The ids of the facts about users whose lines stand in a prompt that `with_people` made."""
    lines = {line for one in memory.region(PERSON) for line in one.content.splitlines()}
    return tuple(fact for models in people for fact in _facts_in(lines, models))


def _seen(models: Sequence[UserModel], text: str, workspace: str) -> dict[str, str]:
    """The ids of the facts and guesses about one user that a text tells."""
    if not workspace:
        return {}
    guessed = [one for one in models if one.whispers and one.whispers in text]
    guesses = [model_id(one.soul, workspace, one.person, one.audience) for one in guessed]
    return saw(*_facts_in(set(text.splitlines()), models), *guesses)


def _facts_in(lines: Set[str], models: Sequence[UserModel]) -> tuple[str, ...]:
    return tuple(
        fact
        for model in models
        for fact, note in zip(model.facts, model.notes, strict=False)
        if not lines.isdisjoint(f"- {note}".splitlines())
    )


def _lines(model: UserModel, budget: int) -> tuple[str, int]:
    """The newest lines of a model that fit, and the rest of the budget."""
    lines = [_HEADINGS.get(model.audience.kind, "noted among those who read along:")]
    left = budget - estimate_tokens(lines[0]) - TURN_OVERHEAD
    for note in reversed(model.notes):
        cost = estimate_tokens(f"- {note}\n")
        if cost > left:
            break
        left -= cost
        lines.append(f"- {note}")
    return ("\n".join(lines), left) if len(lines) > 1 else ("", budget)
