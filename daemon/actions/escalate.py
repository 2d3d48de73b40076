"""Escalate: hand the problem to the expert process, or with permission to somebody who can act."""

from daemon.fixed_pipeline import tempered
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mental_process import ProcessContext, Stay, Transition
from daemon.solving.permission import CARRY, ask_permission
from daemon.solving.problem import Problem
from daemon.soul import Contact
from daemon.steps.instruction import instruction
from daemon.transitions import against, situation_of


def escalate(context: ProcessContext, problem: Problem) -> Action:
    """Its input names whom to hand over to."""
    soul = context.soul
    called = "; ".join(f"{one.name} ({one.can})" for one in soul.contacts)

    async def handle(use: ActionUse) -> Recurse | Stay | Transition:
        wanted = use.input.casefold()
        contact = next((one for one in soul.contacts if one.name.casefold() in wanted), None)
        if contact is not None:
            return await _to_contact(use, contact)
        refused = against(context.process, soul.ism.expert, situation_of(context))
        if "expert" in wanted and not refused:
            reason = "the problem needs the expert"
            return Transition(use.memory, soul.ism.expert, reason, execute_now=True, decided_by="model")
        return use.recurse(observation=f"There is nobody of that name, but these: {called or 'nobody'}; expert.")

    async def _to_contact(use: ActionUse, contact: Contact) -> Stay:
        _, summary = await context.mind.run(
            use.memory, tempered(soul, instruction(_SUMMARY.format(name=contact.name), name=soul.display_name))
        )
        words = f"I would hand this on to {contact.name} in these words, and nothing else. May I?"
        arguments = {"to": contact.slack, "name": contact.name, "summary": summary}
        asked = (context.perception.source,)  # whoever's words it carries, nobody else
        return ask_permission(
            context, problem, use.memory, tool=CARRY, arguments=arguments, asked=asked, words=words, shown=summary
        )

    return Action(
        "Escalate",
        f"hand the problem on; input: `expert`, or who of these: {called or 'nobody'}",
        handle,
    )


_SUMMARY = (
    "Write to {name}, who hasn't read this conversation, what is needed from them: who asks, the problem, what was "
    "found and tried, and what they are to decide or do. At most 120 words, plain, with nothing said in confidence."
)
