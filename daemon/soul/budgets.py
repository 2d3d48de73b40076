"""How long each part of a prompt may be."""

from pydantic import Field

from daemon.soul.field_types import SoulSection, Tokens


class Budgets(SoulSection):
    """The most tokens, by our own estimate, of each part of a prompt.

    `message` bounds the message being answered, `turn` any earlier one, `other` a region without a budget of its own.
    All parts together keep to `prompt`, but for what `daemon.soul_engine.allotment` names.
    """

    personality: Tokens = Field(1200, description="The text of soul.md; a longer one is refused.")
    mode: Tokens = Field(1200, description="The text of each mode's soul.md; a longer one is refused.")
    state: Tokens = Field(400, description="Each file in `states/`; a longer one is refused.")
    playbook: Tokens = Field(600, description="The text of playbook.md; a longer one is refused.")
    awakening: Tokens = Field(800, description="The text of awakening.md; a longer one is refused.")
    soul_state: Tokens = Field(500, description="The soul's mood, topic, task and question.")
    person: Tokens = Field(300, description="What the soul knows about the person it speaks with.")
    identity: Tokens = Field(300, description="Its values and its own text about itself, if its mind is `cycle`.")
    self_model: Tokens = Field(200, description="What it holds about itself, if its mind is `cycle`.")
    world_model: Tokens = Field(300, description="What it holds about people and things, if its mind is `cycle`.")
    memories: Tokens = Field(700, description="What surfaced from memory: earlier talk, facts, documents.")
    abilities: Tokens = Field(150, description="What it can do here and now for the person it answers.")
    room: Tokens = Field(220, description="What those who manage a channel ask of it there.")
    shared_context: Tokens = Field(200, description="What souls and people share.")
    at_work: Tokens = Field(150, description="Who is working on what, as sessions of Claude Code say.")
    thoughts: Tokens = Field(150, description="The soul's last two thoughts in the conversation.")
    goals: Tokens = Field(250, description="What the soul means to do, as far as those who read may know.")
    expected: Tokens = Field(200, description="What the soul expects, and what came of it, as far as readers may know.")
    readings: Tokens = Field(250, description="What reached its senses since its last thought, such as a red build.")
    surprises: Tokens = Field(100, description="What came otherwise than it expected.")
    aside: Tokens = Field(300, description="What users said to each other since the soul's last reply.")
    thread: Tokens = Field(500, description="What was said in a thread before the soul was asked in.")
    prompt: Tokens = Field(
        4000,
        description="The whole prompt of a reply: where it is full, memories give way first and the talk last.",
    )
    summary: Tokens = Field(400, description="A short summary of earlier turns.")
    transcript: Tokens = Field(2200, description="Recent turns, word for word.")
    turn: Tokens = Field(700, description="Any single earlier turn.")
    message: Tokens = Field(4000, description="The message being answered.")
    files: Tokens = Field(2000, description="What is in the files that came with the message being answered.")
    actions: Tokens = Field(1000, description="The actions it may choose from when it solves a problem.")
    results: Tokens = Field(4800, description="What its newest actions have brought when it solves a problem.")
    other: Tokens = Field(600, description="Any part without a budget of its own.")

    def of(self, region: str) -> int:
        """The budget of a region."""
        return int(getattr(self, region)) if region in type(self).model_fields else self.other
