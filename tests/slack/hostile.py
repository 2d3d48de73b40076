"""Values that no payload of Slack's holds, made of its words and fields."""

from hypothesis import strategies as st

from tests.slack.parts import TS

WORDS = "message app_mention message_changed message_deleted C1 D1 U1 <@U0SOUL> < im &lt; soul_approval_yes approve:a-1"
FIELDS = (
    "type subtype channel channel_type user bot_id ts thread_ts text files message previous_message deleted_ts edited "
    "hidden event event_id actions container action_id action_ts value id"
)
TEXT = st.text(st.characters(codec=None), max_size=60) | st.sampled_from([TS, *WORDS.split()])
NAMES = st.sampled_from(FIELDS.split())
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXT, inner, max_size=10),
    max_leaves=30,
)
