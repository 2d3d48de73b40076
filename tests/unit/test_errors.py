"""Which errors are nobody's fault."""

import errno

import pytest

from daemon.core.errors import ModelUnavailable, StoreError, of_machine


def _caused(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


LACKING = OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    "error",
    [
        LACKING,
        OSError(errno.ENFILE, "Too many open files in system"),
        OSError(errno.ENOSPC, "No space left on device"),
        MemoryError(),
        _caused(ImportError("cannot import name 'x'"), LACKING),
        _caused(ModelUnavailable("no answer"), _caused(ConnectionError("failed"), LACKING)),
        ExceptionGroup("several", [ValueError("a bug"), LACKING]),
    ],
)
def test_what_the_machine_lacks_is_nobodys_fault(error: Exception) -> None:
    assert of_machine(error)


def test_what_anything_else_lacks_is_a_fault() -> None:
    circle = ValueError("a bug")
    circle.__context__ = _caused(KeyError("a bug"), circle)
    for error in (circle, PermissionError(errno.EACCES, "Permission denied"), StoreError("locked"), ConnectionError()):
        assert not of_machine(error), error
