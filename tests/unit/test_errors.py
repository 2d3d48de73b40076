"""Which errors are nobody's fault."""

import errno

from daemon.core.errors import ModelUnavailable, StoreError, of_machine


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
