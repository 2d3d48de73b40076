"""Worker programs in separate processes, which answer requests over a pipe. Their crashes don't end the daemon."""

import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import daemon

_BEGIN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from importlib import import_module; "
    "import_module(sys.argv.pop(1)).main()"
)
_CODE: Final = Path(daemon.__file__).parent.parent
_START_S, _ANSWER_S, _ENDING_S = 60.0, 30.0, 5.0


class WorkerFailed(Exception):
    """Raised when the process has ended, was ended because it hung, or could not be started."""


class WorkerRefused(WorkerFailed):
    """Raised when the process reports that it can't begin, or can't answer."""


class WorkerProcess:
    """The process of the module `program`, whose `main` calls `serve`. It inherits the file handles `fds`.

    It answers one request at a time. The methods block, and any thread may call them.
    """

    def __init__(self, program: str, *arguments: str, env: Mapping[str, str], fds: Sequence[int] = ()) -> None:
        """Start the process. Raises WorkerFailed when that fails."""
        self._turn = threading.Lock()
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                (sys.executable, "-I", "-X", "utf8", "-c", _BEGIN, str(_CODE), program, *arguments),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=env,
                pass_fds=fds,
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise WorkerFailed(f"its process can't be started: {error.strerror}") from error
        finally:
            theirs.close()
        self._pipe = Connection(ours.detach())
        if (why := self._received(_START_S)) is not None:
            self.close()
            raise WorkerRefused(str(why))

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, *request: object) -> object:
        """Return the answer. Raises WorkerFailed once the process was ended, WorkerRefused while it goes on."""
        with self._turn:
            answered = self._received(_ANSWER_S, request)
        if not isinstance(answered, tuple) or not answered[0]:
            raise WorkerRefused(str(answered[-1] if isinstance(answered, tuple) else answered))
        found: object = answered[1]
        return found

    def close(self) -> None:
        """End the process: its input ends, and it is killed if it goes on."""
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
            return
        self.kill()

    def kill(self) -> None:
        if self._process.poll() is None:  # else its pid may belong to another program
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)

    def _received(self, seconds: float, request: object = None) -> object:
        try:
            if request is not None:
                self._pipe.send(request)
            if self._pipe.poll(seconds):
                return self._pipe.recv()
            why = f"it gave no answer for {seconds:g} seconds"
        except (OSError, EOFError, ValueError):
            why = f"its process ended ({self._process.poll()})"
        self.kill()
        raise WorkerFailed(why)


def serve(begin: Callable[[], Callable[..., object]], *, idle_s: float | None = None) -> None:
    """Answer requests with what `begin` returns, until input ends or none comes for `idle_s` seconds."""
    _be_modest()
    pipe = Connection(os.dup(0))
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # the pipe is for requests alone
        os.dup2(nothing.fileno(), 0)
    try:
        answer = begin()
    except Exception as error:  # noqa: BLE001  # of any kind: the daemon hears of it and goes on without
        pipe.send(f"{type(error).__name__}: {error}"[:300])
        return
    pipe.send(None)
    gc.freeze()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while pipe.poll(idle_s):
            request = pipe.recv()
            try:
                answered = True, answer(*request)
            except Exception as error:  # noqa: BLE001  # as above
                answered = False, f"{type(error).__name__}: {error}"[:300]
            pipe.send(answered)


def _be_modest() -> None:
    """Lower the priority, be the first to be killed when memory runs out, and leave no core file."""
    with suppress(OSError):
        os.nice(5)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("900")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    socket.setdefaulttimeout(1.0)  # this process does not use the network
