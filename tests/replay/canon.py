"""The behaviours of the original Open Souls: each has a test here or elsewhere, or stands in the differences."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One behaviour of the original: `upstream` describes it in a sentence.

    `name` is the name of its test in this folder or of its difference; `shown_in` is the file of a test elsewhere.
    """

    name: str
    upstream: str
    shown_in: str = ""


MEMORY_TESTS = "tests/unit/test_working_memory.py"
INVARIANTS_TESTS = "tests/unit/test_invariants.py"
MIND_TESTS = "tests/unit/test_cognition.py"
STEP_TESTS = "tests/unit/test_steps.py"
STATES_TESTS = "tests/unit/test_state_machine.py"
JOURNEYS_TESTS = "tests/journeys/test_states.py"
ROUTER_TESTS = "tests/llm/test_router.py"

WORKING_MEMORY = (
    Row("at_counts_from_the_end_when_negative", "`at(i)` takes negative places.", MEMORY_TESTS),
    Row("slice_follows_lists", "`slice(a, b)` works as on lists, on a clone.", MEMORY_TESTS),
    Row("splice_takes_out_and_puts_in", "`splice` takes memories out at a place and puts others in, on a clone."),
    Row("filter_keeps_what_fits", "`filter(f)` keeps what fits, on a clone.", MEMORY_TESTS),
    Row("map_changes_each", "`map(f)` changes each memory, on a clone.", MEMORY_TESTS),
    Row("async_map_waits_for_each_and_keeps_the_order", "`asyncMap(f)` waits for each and keeps the order."),
    Row("concat_takes_a_memory_or_a_list", "`concat` takes another working memory or a list.", MEMORY_TESTS),
    Row("prepend_puts_a_list_in_front", "`prepend` puts a list in front."),
    Row("replace_swaps_the_whole_list", "`replace(list)` swaps the whole list, not one place in it.", MEMORY_TESTS),
    Row("find_gives_the_first_that_fits_and_some_a_truth", "`find(f)` gives a memory, `some(f)` a boolean."),
    Row("with_memory_appends", "`withMemory` appends.", MEMORY_TESTS),
    Row("with_memory_appends_into_its_region", "A memory with a region is appended into that region.", MEMORY_TESTS),
    Row("with_monologue_appends_a_thought_of_the_assistant", "`withMonologue` appends an assistant's thought."),
    Row("with_region_replaces_what_the_region_held", "`withRegion` replaces a region's contents.", MEMORY_TESTS),
    Row(
        "a_new_region_goes_behind_regions_and_before_the_first_memory_without_one",
        "A new region goes after existing regions, before the first memory without a region.",
        MEMORY_TESTS,
    ),
    Row(
        "with_region_applies_the_persistent_order", "After `withRegion` the persistent order is applied.", MEMORY_TESTS
    ),
    Row(
        "with_regional_order_only_stores_the_order",
        "`withRegionalOrder` stores an order and sorts nothing yet.",
        MEMORY_TESTS,
    ),
    Row("the_regional_order_takes_names_one_by_one", "`withRegionalOrder` and its kin are variadic."),
    Row("the_regional_order_stays_with_every_clone", "The stored order goes over to every clone.", MEMORY_TESTS),
    Row(
        "default_names_the_memories_without_a_region",
        "In an order, `default` names the memories without a region.",
        MEMORY_TESTS,
    ),
    Row(
        "unlisted_regions_end_up_last_in_their_own_order",
        "Regions not in the order go last, as they stood.",
        MEMORY_TESTS,
    ),
    Row("without_regions_drops_regions", "`withoutRegions` drops regions.", MEMORY_TESTS),
    Row("only_regions_keeps_regions", "`withOnlyRegions` keeps regions and drops all else."),
    Row(
        "every_operation_gives_a_new_instance",
        "Everything is immutable; each call returns a new instance.",
        INVARIANTS_TESTS,
    ),
    Row("a_snapshot_can_be_read_back", "A working memory can be written as a snapshot and read back.", MEMORY_TESTS),
    Row("usage_and_processor_belong_to_a_working_memory", "A working memory has `usage` and a `processor`."),
    Row("a_memory_has_an_id_a_time_parts_and_four_roles", "A memory has an id, a time, parts of content, four roles."),
    Row("transform_runs_a_step", "`memory.transform(step)` runs a step."),
    Row("clone_can_be_extended", "`clone` and `postCloneTransformation` can be overridden."),
)

STEPS = (
    Row(
        "a_step_gives_a_new_memory_and_a_value", "A step called on a memory gives a new memory and a value.", MIND_TESTS
    ),
    Row(
        "a_streamed_step_gives_text_at_once_and_the_value_later", "With `stream`, text comes at once, the value later."
    ),
    Row("a_command_may_be_a_function_of_the_memory", "`command` may be a function of the working memory."),
    Row("a_stream_processor_decides_what_comes_out", "`streamProcessor` changes what streams out.", MIND_TESTS),
    Row("chained_steps_wait_for_the_memory_to_be_finished", "A step first awaits the incoming memory's `finished`."),
    Row("the_command_is_not_kept", "The command is not kept in memory.", MIND_TESTS),
    Row("only_what_the_step_remembers_is_appended", "Only what `postProcess` returns is appended.", MIND_TESTS),
    Row("a_reply_with_a_schema_is_parsed_and_validated", "A reply with a schema is parsed and validated.", STEP_TESTS),
    Row("finished_comes_after_the_reply_was_read", "`finished` resolves after `postProcess`."),
    Row("a_prefix_is_stripped_from_a_whole_reply", '`Name verb: "…"` is removed from a whole reply.', STEP_TESTS),
    Row(
        "a_prefix_is_stripped_from_a_stream", '`Name verb: "…"` is removed from a stream, by holding back.', STEP_TESTS
    ),
    Row("external_dialog_says", "`externalDialog` answers as what was said.", STEP_TESTS),
    Row("internal_monologue_thinks", "`internalMonologue` answers as what was thought.", STEP_TESTS),
    Row("mental_query_gives_a_boolean", "`mentalQuery` gives a boolean.", STEP_TESTS),
    Row("decision_gives_one_of_the_choices", "`decision` gives one of the choices.", STEP_TESTS),
    Row("brainstorm_gives_a_list", "`brainstorm` gives a list.", STEP_TESTS),
    Row("instruction_keeps_its_result", "`instruction` keeps its result in memory."),
    Row("summarize_gives_a_summary", "`summarize` gives a summary of the conversation.", STEP_TESTS),
    Row("finished_resolves_even_after_an_error", "After an error `finished` resolves as if all were well."),
    Row("the_schema_is_written_into_the_command", "A schema's text is appended to the command."),
    Row("a_call_may_choose_its_model", "Each call of a step may name its model and processor."),
    Row("a_call_may_set_its_temperature", "A call's options may set its temperature."),
    Row("notes_are_rewritten_as_one_text", "`conversationNotes` and `userNotes` rewrite a text of notes."),
    Row("a_long_conversation_keeps_its_first_and_last_four", "Over nine memories: first, summary, last four are kept."),
    Row("found_answers_are_put_into_memory_at_index_one", "RAG puts answers to three questions at index 1."),
)

PROCESSES = (
    Row("returning_a_memory_stays", "A process that returns a memory stays the current one."),
    Row(
        "returning_a_process_hands_over_for_the_next_perception", "`[memory, process]` is in force from the next turn."
    ),
    Row(
        "execute_now_runs_the_target_with_the_same_perception", "`executeNow` runs the target with the same perception."
    ),
    Row("the_memory_goes_over_to_the_next_process", "The memory returned is what the target begins with."),
    Row("ten_hops_are_run_and_an_eleventh_is_an_error", "`executeNow` makes at most ten hops, then an error."),
    Row("returning_the_same_process_is_no_transition", "Returning the current process is no transition."),
    Row("the_previous_process_is_recorded", "A transition records the previous process."),
    Row("process_memory_outlives_a_run_and_is_cleared_by_a_transition", "Process memory is cleared by a transition."),
    Row("the_invocation_count_rises_and_begins_anew_after_a_transition", "A transition resets `invocationCount`."),
    Row("params_are_stored_until_the_next_transition", "A transition's params are stored and handed to each run."),
    Row("what_a_process_returns_is_checked_when_it_runs", "What a process returns is checked at run time."),
    Row("a_process_asks_the_model_before_it_moves", "A process asks a `mentalQuery` or `decision`, then moves."),
    Row("a_subprocess_may_hand_over_to_another_process", "A subprocess may transition, but not `executeNow`."),
)

TURN = (
    Row(
        "the_perception_is_integrated_before_the_process_runs", "A perception is merged into memory before the process."
    ),
    Row("the_main_process_is_not_interrupted_but_may_look", "The main process may watch for pending perceptions."),
    Row("the_integrator_may_choose_the_process", "The integrator may choose the process that runs.", STATES_TESTS),
    Row("perceptions_are_taken_one_by_one", "The first pending perception is taken, each in a turn of its own."),
    Row("words_are_integrated_as_name_action_content", 'A perception is merged as `name action: "content"`.'),
    Row("an_integrator_that_returns_nothing_drops_the_perception", "An integrator that returns nothing drops it."),
    Row("subprocesses_run_in_the_order_of_their_files", "Subprocesses run one by one, in the order of their files."),
    Row("a_subprocess_returns_the_next_working_memory", "What a subprocess returns replaces the working memory."),
    Row("an_interrupted_subprocess_fails_at_its_next_side_effect", "A stale subprocess fails at its next side effect."),
)

HOOKS = (
    Row("speak_takes_a_stream", "`speak` takes a text or a stream."),
    Row("an_event_is_scheduled_in_or_at_with_a_process_and_params", "`scheduleEvent({in or when, process, params})`."),
    Row("a_scheduled_event_can_be_cancelled", "`cancelScheduledEvent(id)` cancels."),
    Row("pending_events_are_listed_the_next_first", "`pendingScheduledEvents` lists what waits, sorted."),
    Row("the_invoking_perception_cannot_be_changed", "`invokingPerception` is frozen."),
    Row("pending_perceptions_are_seen_while_they_arrive", "`pendingPerceptions` is live."),
    Row("cancelling_an_unknown_event_is_an_error", "Cancelling an unknown event throws."),
    Row("hooks_are_called_by_position", "Process memory is kept by the order in which hooks are called."),
    Row("dispatch_emit_ephemeral_expire_and_log", "`dispatch`, `emitEphemeral`, `expire` and `log` send events."),
    Row("wait_sleeps_inside_a_process", "`wait(ms)` sleeps inside a process."),
    Row("soul_memory_is_any_named_value", "`useSoulMemory(name)` keeps any value for the whole soul."),
    Row("the_soul_store_is_open_to_every_process", "`useSoulStore`, `useRag` search and write from any process."),
    Row("tools_are_called_on_the_client", "`useTool` calls the client; `useTTS` speaks."),
    Row("a_shared_context_is_a_live_document", "`useSharedContext` gives a live document."),
)

SCHEDULE = (
    Row(
        "a_scheduled_perception_visits_its_process_and_comes_back", "A scheduled perception runs its own process once."
    ),
    Row(
        "a_visit_is_given_its_own_params_and_restores_those_of_the_home",
        "Params are restored after a visit.",
        STATES_TESTS,
    ),
    Row("a_transition_of_a_visited_process_wins_over_the_way_back", "The visited process may transition for good."),
    Row("a_stale_stream_stops_silently", "A spoken stream that has gone stale stops without a word."),
)

DEFECTS = (
    Row("a_memory_derived_from_a_streaming_thought_keeps_its_text", "A memory derived while streaming loses the text."),
    Row(
        "adding_to_an_unfinished_memory_leaves_it_unfinished", "Adding a memory while streaming makes it look finished."
    ),
    Row("a_streamed_reply_is_remembered_whole", "A streamed reply is remembered as an empty text."),
    Row("a_souls_name_is_no_pattern", "The soul's name goes into a pattern unescaped."),
    Row(
        "a_visit_loses_neither_process_memory_nor_the_count",
        "A visit loses process memory and invocation count.",
        STATES_TESTS,
    ),
    Row("a_refused_transition_resets_nothing", "A subprocess that returns the current process resets it."),
    Row(
        "processes_that_return_each_other_without_end_are_stopped",
        "Processes may return each other without end.",
        JOURNEYS_TESTS,
    ),
    Row("the_table_of_entries_is_enforced", "The table of transitions is checked in development alone.", STATES_TESTS),
    Row("the_path_names_the_process", "The log of a commit names a method instead of the process.", STATES_TESTS),
    Row("the_personality_stands_in_memory_once", "The personality is added again with each turn."),
    Row("every_prefix_of_a_model_is_routed", "The prefix `qwen/` is documented and not known.", ROUTER_TESTS),
)
"""Faults of the original that must not occur here: each `upstream` is the fault."""

CANON = {
    "Working memory": WORKING_MEMORY,
    "Cognitive steps": STEPS,
    "Mental processes": PROCESSES,
    "One turn": TURN,
    "Hooks": HOOKS,
    "Scheduled perceptions and streams": SCHEDULE,
    "Faults not inherited": DEFECTS,
}
