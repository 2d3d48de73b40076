"""Where we differ from Open Souls on purpose, and why; run it to print the section of ARCHITECTURE.md."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.replay.canon import CANON

DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "usage_and_processor_belong_to_a_working_memory": (
            "A working memory is what is in mind and nothing else. What a call used is a row of `llm_calls`; which "
            "model answers is a matter of the step's role."
        ),
        "a_memory_has_an_id_a_time_parts_and_four_roles": (
            "A memory is a value: equal ones are equal. Ids and times belong to the turns in `memory.db`; content is "
            "text; no step calls functions, so there is no fourth role."
        ),
        "transform_runs_a_step": (
            "`Mind.run(memory, step)` and `Mind.stream(memory, step)`: a step is a value, and one place calls models."
        ),
        "clone_can_be_extended": "Working memory is a closed value without subclasses; functions stand beside it.",
        "finished_resolves_even_after_an_error": (
            "`finished()` raises, and so does every step chained on it: nobody goes on with half a thought."
        ),
        "the_schema_is_written_into_the_command": (
            "The schema goes through the provider's own door for structured output; the command shows the form once."
        ),
        "a_call_may_choose_its_model": (
            "A step names a role, persona or thinking; souls and settings name the models, so that cost is decided in "
            "one place."
        ),
        "notes_are_rewritten_as_one_text": (
            "`visitor_notes` answers with changes only, and a change that would lose too many lines is refused."
        ),
        "a_long_conversation_keeps_its_first_and_last_four": (
            "Turns are never dropped. What no longer fits a budget of tokens is folded into a summary; the rest is "
            "shown word for word."
        ),
        "found_answers_are_put_into_memory_at_index_one": (
            "What is looked up stands in a region of its own, as data with its source, for the one who asked for it."
        ),
        "what_a_process_returns_is_checked_when_it_runs": (
            "`Stay` and `Transition` are types, checked before anything runs. An unknown or forbidden process is "
            "refused, and the refusal recorded."
        ),
        "a_subprocess_may_hand_over_to_another_process": (
            "Subprocesses learn and never steer: where a conversation goes is decided in the cycle, with a reason that "
            "can be traced."
        ),
        "perceptions_are_taken_one_by_one": (
            "All that waits in a conversation is answered by one reply, so that a burst of messages isn't answered "
            "five times."
        ),
        "words_are_integrated_as_name_action_content": (
            "Words are fenced as data with a code that nobody can have known; a name in a sentence could be forged."
        ),
        "an_integrator_that_returns_nothing_drops_the_perception": (
            "Integration is one pure function. Who may be heard is for the gate, and what it turned away is recorded."
        ),
        "subprocesses_run_in_the_order_of_their_files": "They run one by one in the order that `soul.toml` gives.",
        "a_subprocess_returns_the_next_working_memory": (
            "It writes to the store first; the next turn recalls from there. A crash in between loses nothing."
        ),
        "an_interrupted_subprocess_fails_at_its_next_side_effect": (
            "It is cut short at once, even inside a model call, and done later: it is a durable job."
        ),
        "cancelling_an_unknown_event_is_an_error": (
            "To cancel what is not there changes nothing: after a crash a cycle is done again, cancelling and all."
        ),
        "hooks_are_called_by_position": (
            "There are no hooks: a process is given a context, and what it keeps has names."
        ),
        "dispatch_emit_ephemeral_expire_and_log": (
            "What people see is speech and task cards; everything else is a named event in the log."
        ),
        "wait_sleeps_inside_a_process": (
            "A process that waits would hold its conversation; it schedules a perception instead, which outlives a "
            "restart."
        ),
        "soul_memory_is_any_named_value": (
            "What lasts has a kind, a version and an audience, so that nothing learned in private is known elsewhere."
        ),
        "the_soul_store_is_open_to_every_process": (
            "Processes search by `recollect` and the library, within the audience; only the commit writes."
        ),
        "tools_are_called_on_the_client": (
            "Tools are those of MCP servers that the admin named, and what writes needs a person's click; speech is "
            "an endpoint of the HTTP door."
        ),
        "a_shared_context_is_a_live_document": (
            "A process thinks on a value that doesn't change under it; what others changed is recalled next time."
        ),
        "a_stale_stream_stops_silently": (
            "A draft whose answer is thrown away is found again and replaced by the new answer: no half sentence stays."
        ),
    }
)


def section() -> str:
    """The table of ARCHITECTURE.md, in markdown."""
    lines = ["| Open Souls | here |", "|---|---|"]
    for rows in CANON.values():
        lines += [f"| {row.upstream} | {DIFFERENCES[row.name]} |" for row in rows if row.name in DIFFERENCES]
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"## Deliberate differences from Open Souls\n\n{section()}")
