"""What fails is noted until it works again and becomes an alarm; and which errors are nobody's fault."""

import errno

from daemon.core.errors import ModelUnavailable, StoreError, of_machine
from daemon.core.telemetry.redaction import RecentErrors
from daemon.core.tempo import alarm_name, alarm_post, sentence_of
from tests.fakes import FakeClock


async def test_what_fails_often_is_an_alarm_until_it_works_again() -> None:
    clock = FakeClock(auto=True)
    troubles = RecentErrors(clock)
    for _ in range(2):
        troubles("loop.failed", loop="mirror", reason="OSError")
    assert troubles.alarms() == ()
    troubles("loop.failed", loop="mirror", reason="OSError")
    assert troubles.alarms() == ("loop:mirror",)
    await clock.sleep(3601)
    assert troubles.alarms() == ()
    troubles = RecentErrors(FakeClock())
    troubles("cap.met", paid_by="person", usd=1.0, background=False, soul="minoan")
    troubles("cap.met", paid_by="soul", usd=1.0, background=True, soul="minoan")
    assert troubles.alarms() == ()
    troubles("cap.met", paid_by="soul", usd=1.0, background=False, soul="minoan")
    assert troubles.alarms() == ("budget:minoan",)
    name = alarm_name("model", "<!channel> `x`\n*bold* " + "y" * 500)
    assert len(name) <= 80
    assert not set("<>`*\n") & set(name)
    assert "soul doctor" in sentence_of("other:thing")
    assert alarm_post(["disk"]).startswith("⚠ The disk")
    troubles = RecentErrors(FakeClock())
    troubles("outbox.access_lost", reason="token_revoked")
    for _ in range(3):
        troubles("backup.failed", reason="the disk is full")
    troubles("llm.circuit_opened", model="openai/gpt-6.1-terra")
    troubles("model.stood_in", model="b/b", instead_of="a/a")
    assert troubles.alarms() == ("posting", "backup", "model:openai/gpt-6.1-terra", "model:a/a")
    troubles("outbox.sent", key="k")
    troubles("backup.made")
    troubles("llm.circuit_closed", model="openai/gpt-6.1-terra")
    troubles("step.completed", model="a/a", outcome="failed")
    assert troubles.alarms() == ("model:a/a",)
    troubles("step.completed", model="a/a", outcome="ok")
    assert troubles.now() == {}


def _caused(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


LACKING = OSError(errno.EMFILE, "Too many open files")


def test_what_the_machine_lacks_is_nobodys_fault_and_what_anything_else_lacks_is_one() -> None:
    for error in (
        LACKING,
        OSError(errno.ENFILE, "Too many open files in system"),
        OSError(errno.ENOSPC, "No space left on device"),
        MemoryError(),
        _caused(ImportError("cannot import name 'x'"), LACKING),
        _caused(ModelUnavailable("no answer"), _caused(ConnectionError("failed"), LACKING)),
        ExceptionGroup("several", [ValueError("a bug"), LACKING]),
    ):
        assert of_machine(error), error
    circle = ValueError("a bug")
    circle.__context__ = _caused(KeyError("a bug"), circle)
    for error in (circle, PermissionError(errno.EACCES, "Permission denied"), StoreError("locked"), ConnectionError()):
        assert not of_machine(error), error
