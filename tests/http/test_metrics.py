"""Metrics count events, hold no private text, and stay bounded."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.telemetry.metrics import Metrics, fanout

COST = {"tokens_in": 10, "tokens_cached": 4, "tokens_out": 5, "cost_usd": 0.25, "duration_ms": 1500}
CALL = COST | {"step": "respond", "role": "persona", "model": "scripted/test", "outcome": "ok"}


def _text(metrics: Metrics) -> str:
    return metrics.expose({}).decode()


def test_a_model_call_is_counted_with_its_tokens_cost_and_duration() -> None:
    metrics = Metrics()
    metrics("step.completed", **CALL, prompt="SECRET", response="SECRET", trace="SECRET")
    metrics("step.completed", **(CALL | {"cost_usd": None}))
    text = _text(metrics)
    labels = 'model="scripted/test",role="persona",step="respond"'
    assert f'soul_model_calls_total{{model="scripted/test",outcome="ok",{labels.split(",", 1)[1]}}} 2.0' in text
    assert 'soul_model_tokens_total{kind="in",' in text
    assert f"soul_model_cost_usd_total{{{labels}}} 0.25" in text
    assert f"soul_model_latency_seconds_sum{{{labels}}} 3.0" in text
    assert 'soul_events_total{event="step.completed"} 2.0' in text
    assert "SECRET" not in text
    metrics("thought.kept", occasion="due", degraded=False, spoke=False)
    metrics("thought.kept", occasion="words", degraded=True, spoke=True)
    metrics("tick.skipped", why="budget")
    text = _text(metrics)
    assert 'soul_thoughts_total{degraded="no",occasion="due"} 1.0' in text
    assert 'soul_thoughts_total{degraded="yes",occasion="words"} 1.0' in text
    assert 'soul_ticks_skipped_total{why="budget"} 1.0' in text
    metrics = Metrics()
    for number in range(2000):
        metrics(f"event.{number}")
        metrics.requested(f"/{number}", "GET", 200)
    text = _text(metrics)
    assert text.count("soul_events_total{") + text.count("soul_http_requests_total{") <= 502
    assert 'event="other"' in text
    assert 'route="other"' in text


@given(
    fields=st.dictionaries(
        st.sampled_from(sorted(CALL)), st.none() | st.floats() | st.integers() | st.text() | st.booleans()
    )
)
def test_counting_never_raises(fields: dict[str, object]) -> None:
    metrics = Metrics()
    metrics("step.completed", **fields)
    assert "soul_events_total" in _text(metrics)


class Unspeakable:
    """A value without a text form."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_a_field_that_can_not_be_read_is_counted_as_lost() -> None:
    metrics = Metrics()
    metrics("step.completed", step=Unspeakable())
    assert 'event="metrics.lost"} 1.0' in _text(metrics)


def test_every_sink_gets_every_event_in_order() -> None:
    received: list[tuple[str, str, object]] = []
    emit = fanout(
        lambda event, /, **fields: received.append(("first", event, fields)),
        lambda event, /, **fields: received.append(("second", event, fields)),
    )
    emit("cycle.committed", parts=1)
    assert received == [("first", "cycle.committed", {"parts": 1}), ("second", "cycle.committed", {"parts": 1})]
