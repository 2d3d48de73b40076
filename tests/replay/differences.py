"""Deliberate differences from Open Souls and their reasons; run it to print the table of docs/OPEN_SOULS.md."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.replay.canon import CANON

DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "find_gives_the_first_that_fits_and_some_a_truth": (
            "A working memory is iterable: Python's `next()` and `any()` do both."
        ),
        "splice_takes_out_and_puts_in": "`replace` takes any list, so that Python's own slices do it.",
        "async_map_waits_for_each_and_keeps_the_order": "No change to a memory waits for anything; `map` is enough.",
        "prepend_puts_a_list_in_front": "The regional order decides what stands in front.",
        "only_regions_keeps_regions": "`region` gives the memories of one region, `filter` any selection.",
        "chained_steps_wait_for_the_memory_to_be_finished": (
            "A thought gives its memory only through `finished()`: no step can begin on an unfinished one."
        ),
        "adding_to_an_unfinished_memory_leaves_it_unfinished": (
            "There is no unfinished memory: `finished()` gives it when the answer has been read."
        ),
        "usage_and_processor_belong_to_a_working_memory": (
            "A working memory holds memories only. Token counts are rows of `llm_calls`; the step's role selects "
            "the model."
        ),
        "a_memory_has_an_id_a_time_parts_and_four_roles": (
            "A memory is a value: equal ones are equal. Ids and times belong to the turns in `memory.db`; content "
            "is text; steps call no functions, so there is no fourth role."
        ),
        "transform_runs_a_step": (
            "`Mind.run(memory, step)` and `Mind.stream(memory, step)`: a step is a value, and one place calls models."
        ),
        "clone_can_be_extended": "Working memory has no subclasses; functions such as `with_mode` extend it.",
        "finished_resolves_even_after_an_error": "`finished()` raises: no process goes on with half a thought.",
        "a_process_asks_the_model_before_it_moves": (
            "The answer begins with what the message calls for, and is cut off there: ordinary talk costs one call. "
            "Queries remain for models that answer without elements."
        ),
        "the_schema_is_written_into_the_command": (
            "The schema uses the provider's structured output; the command shows the form once."
        ),
        "a_call_may_choose_its_model": (
            "A step names a role, persona or thinking; souls and settings name the models, so that cost is "
            "decided in one place."
        ),
        "a_call_may_set_its_temperature": (
            "A step has a creativity, which souls may change, and apart from it an effort. Models that think take the "
            "effort and refuse a temperature, so they are sent the effort alone; the others get the temperature."
        ),
        "notes_are_rewritten_as_one_text": (
            "`visitor_notes` answers with changes only, and a change that would lose too many lines is refused."
        ),
        "a_long_conversation_keeps_its_first_and_last_four": (
            "Turns are never dropped. Those beyond the token budget are folded into a summary; the rest is shown "
            "word for word."
        ),
        "found_answers_are_put_into_memory_at_index_one": (
            "Search results stand in a region of their own, as data with their source."
        ),
        "what_a_process_returns_is_checked_when_it_runs": (
            "`Stay` and `Transition` are types, checked before anything runs. An unknown or forbidden process is "
            "refused, and the refusal is recorded."
        ),
        "a_subprocess_may_hand_over_to_another_process": (
            "Subprocesses learn and never transition: the cycle decides the state, with a reason that can be traced."
        ),
        "perceptions_are_taken_one_by_one": (
            "One reply answers all pending messages of a conversation, so that a burst of five does not get five "
            "replies."
        ),
        "words_are_integrated_as_name_action_content": (
            "A message is fenced as data with a random code; a name in a sentence could be forged."
        ),
        "an_integrator_that_returns_nothing_drops_the_perception": (
            "Integration is one pure function. The gate decides which messages are admitted and records those it "
            "rejects."
        ),
        "subprocesses_run_in_the_order_of_their_files": "They run one by one in the order that `soul.toml` gives.",
        "a_subprocess_returns_the_next_working_memory": (
            "It writes to the store first; the next turn recalls from there. A crash in between loses nothing."
        ),
        "an_interrupted_subprocess_fails_at_its_next_side_effect": (
            "It is cancelled at once, even inside a model call, and runs later: it is a durable job."
        ),
        "cancelling_an_unknown_event_is_an_error": (
            "Cancelling an unknown slot changes nothing, since a cycle may run twice after a crash."
        ),
        "hooks_are_called_by_position": (
            "There are no hooks: a process receives a context, and its process memory has named keys."
        ),
        "dispatch_emit_ephemeral_expire_and_log": (
            "Users see speech and task cards; everything else is a named event in the log."
        ),
        "wait_sleeps_inside_a_process": (
            "A waiting process would block its conversation; it schedules a perception instead, which outlives a "
            "restart."
        ),
        "soul_memory_is_any_named_value": (
            "Stored knowledge has a kind, a version and an audience, so that nothing private is disclosed to others."
        ),
        "the_soul_store_is_open_to_every_process": (
            "Processes search by `recollect` and the library, within the audience; only the commit writes."
        ),
        "tools_are_called_on_the_client": (
            "Tools are those of MCP servers that the admin configured, and one that the admin does not list as reading "
            "needs a click; speech "
            "is an endpoint of the HTTP API."
        ),
        "a_shared_context_is_a_live_document": (
            "A process works on a value that does not change meanwhile; others' changes are recalled next time."
        ),
        "a_stale_stream_stops_silently": (
            "A draft whose answer is discarded is found and replaced by the new answer: no half sentence remains."
        ),
    }
)


def section() -> str:
    lines = ["| Open Souls | Soul Daemon |", "|---|---|"]
    for rows in CANON.values():
        lines += [f"| {row.upstream} | {DIFFERENCES[row.name]} |" for row in rows if row.name in DIFFERENCES]
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"## Deliberate differences\n\n{section()}")
