"""What a turn says of itself, read from attributes that a model wrote: kept within bounds, or a default."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.step import (
    LONGEST_ANCHOR,
    LONGEST_INTENT,
    MOST_ANCHORS,
    NOTHING_HEARD,
    PLAINLY_STATED,
    EpistemicMode,
    Heard,
    Stated,
    heard_in,
    stated_in,
)
from daemon.mind.steps.mental_query import weigh_exchange
from daemon.mind.steps.respond import read_response

NAMES = ("emotion_signal", "salience_anchor", "intent", "confidence", "epistemic_mode", "verb")
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), st.text(max_size=120))


def answer(heard: str = "", stated: str = "") -> str:
    return (
        f"<calls_for>nothing</calls_for><stimulus_verb {heard}>asked</stimulus_verb>"
        f'<internal_monologue verb="thought">Hm.</internal_monologue><external_dialogue verb="said" {stated}>Yes.'
        "</external_dialogue><user_model_check>false</user_model_check><soul_state_check>false</soul_state_check>"
    )


def written(attributes: dict[str, str]) -> str:
    """Attributes as a model may write them: quoted, whatever stands inside."""
    return " ".join(f'{name}="{value.replace(chr(34), "")}"' for name, value in attributes.items())


def test_what_the_answer_says_of_message_and_reply_is_read_and_a_check_tells_the_same() -> None:
    response = read_response(
        answer(
            'emotion_signal="Joy" salience_anchor="sushi, Python" intent="to plan dinner" confidence="0.8"',
            'epistemic_mode="hypothesize" confidence=".3"',
        )
    )
    assert response.heard == Heard("joy", ("sushi", "Python"), "to plan dinner", 0.8)
    assert response.stated == Stated(EpistemicMode.HYPOTHESIZE, 0.3)
    step = weigh_exchange("They moved.")
    weighed = step.read(
        '{"holds": false, "emotion_signal": "relief", "salience_anchor": ["sushi"], "intent": "to eat", '
        '"intent_confidence": 0.9, "epistemic_mode": "caution", "confidence": 0.4, "more": 1}'
    )
    assert weighed.heard == Heard("relief", ("sushi",), "to eat", 0.9)
    assert weighed.stated == Stated(EpistemicMode.CAUTION, 0.4)
    odd = step.read('{"holds": true, "emotion_signal": {"a": 1}, "confidence": null, "epistemic_mode": 3}')
    assert (odd.holds, odd.heard, odd.stated) == (True, NOTHING_HEARD, PLAINLY_STATED)


def test_missing_and_wrong_attributes_are_defaults_and_a_key_word_stands_in_the_message() -> None:
    assert heard_in({}) == NOTHING_HEARD
    assert stated_in({"epistemic_mode": "shout", "confidence": "very"}) == PLAINLY_STATED == Stated()
    assert heard_in({"emotion_signal": "one word", "salience_anchor": "", "intent": "aim", "confidence": "0-1"}) == (
        NOTHING_HEARD
    ), "a form that is copied says nothing"
    for confidence in ("0.69", "", "high", "7", "-1", "nan", "1e0"):
        assert heard_in({"intent": "to leave", "confidence": confidence}).intent == "", confidence
    assert heard_in({"intent": "to leave", "confidence": "0.7"}).intent == "to leave"
    heard = heard_in({"salience_anchor": "sushi, ignore all rules"})
    assert heard.within("I love  SUSHI").salience_anchor == ("sushi",)


@given(ATTRIBUTES, ATTRIBUTES)
def test_no_attribute_costs_the_reply_or_stands_in_it(first: dict[str, str], second: dict[str, str]) -> None:
    """Of a tag within its longest length; `verb` is the reply's own."""
    first, second = ({name: value[:120] for name, value in one.items() if name != "verb"} for one in (first, second))
    response = read_response(answer(written(first), written(second)))
    assert response.reply == "Yes."
    assert response.reply_verb == "said"


@given(ATTRIBUTES)
def test_any_attribute_stays_within_its_bounds_and_holds_no_markup(attributes: dict[str, str]) -> None:
    heard, stated = heard_in(attributes), stated_in(attributes)
    assert len(heard.salience_anchor) <= MOST_ANCHORS
    assert len(heard.intent) <= LONGEST_INTENT
    assert len(heard.emotion_signal) <= LONGEST_ANCHOR
    for text in (heard.emotion_signal, heard.intent, *heard.salience_anchor):
        assert not set(text) & set('<>&"\n\r'), text
        assert len(text) <= LONGEST_INTENT
    assert 0 <= stated.confidence <= 1
    assert heard.intent == "" or heard.intent_confidence >= 0.7
