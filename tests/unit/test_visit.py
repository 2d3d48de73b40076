"""Visits: new and returning users, and the count of exchanges."""

from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import Speaks, Turn, VisitState
from daemon.mind.recall.visit import Visit, visit_of

HOUR = 3_600_000
SILENCE = 4 * HOUR
NOW = 1_750_000_000_000
NO_TURNS = Transcript("", 0, ())
TALKED = Transcript("", 0, (Turn(Speaks.PERSON, "U1", "Ada", "1.0", "hello"),))


def model(*, seen_ms: int, visits: int = 1, interactions: int = 1, kind: AudienceKind = AudienceKind.DM) -> UserModel:
    audience = Audience(kind, "D1")
    return UserModel("minoan", "U1", audience, 0, "Ada", (), "", visits, interactions, seen_ms, 0, 0)


def visit(visit_state: VisitState, *models: UserModel, transcript: Transcript = NO_TURNS) -> Visit:
    return visit_of(visit_state, models, transcript, NOW, SILENCE)


def test_a_new_user_begins_the_first_visit_and_silence_ends_one() -> None:
    assert visit(VisitState()) == Visit(number=1, exchanges=0, silence=0.0, met=False, fresh=True)
    assert visit(VisitState()).begins
    found = visit(VisitState(), model(seen_ms=NOW - 60_000))
    assert (found.begins, found.fresh, found.met, found.number) == (True, False, True, 1)
    assert not visit(VisitState(), model(seen_ms=NOW, interactions=0)).met
    assert visit(VisitState(), transcript=TALKED).met
    assert visit(VisitState(), transcript=replace(NO_TURNS, summary="They spoke of tin.")).met
    here = model(seen_ms=NOW - 9 * HOUR, visits=5)
    everywhere = model(seen_ms=NOW - HOUR, visits=2, kind=AudienceKind.WORKSPACE)
    found = visit(VisitState(), here, everywhere)
    assert (found.number, found.fresh) == (5, False)
    visit_state = VisitState(visit=1, exchanges=3, spoken_ms=NOW - HOUR)
    found = visit(visit_state, model(seen_ms=NOW - HOUR), transcript=TALKED)
    assert found == Visit(number=1, exchanges=3, silence=3600.0, met=True, fresh=False, away=3600.0)
    assert not found.begins
    for silent, over in ((SILENCE, False), (SILENCE + 1, True)):
        visit_state = VisitState(visit=1, exchanges=3, spoken_ms=NOW - silent)
        found = visit(visit_state, model(seen_ms=NOW - silent), transcript=TALKED)
        assert (found.begins, found.fresh, found.number) == (over, over, 1 + over)
