"""Stands in for `soul run` under a real service manager: the daemon's notifications without the rest."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from daemon.core.ports.services import SystemClock
from daemon.core.secrecy import close_process
from daemon.core.systemd import ExitCode, ServiceManager, Watchdog

DATA = Path(os.environ["SOUL_HOME"])


def tell(**facts: object) -> None:
    """Append a line to the log in the data folder."""
    with (DATA / "log").open("a", encoding="utf-8") as log:
        log.write(json.dumps(facts) + "\n")


def writable(folder: str) -> bool:
    """Whether a file can be made in a folder."""
    try:
        (Path(folder) / f"soul-probe-{os.getpid()}").touch()
    except OSError:
        return False
    return True


def surroundings() -> dict[str, object]:
    """The part of the machine that the process can reach."""
    credentials = Path(os.environ["CREDENTIALS_DIRECTORY"])
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    return {
        "uid": os.getuid(),
        "credentials": {path.name: path.read_text() for path in credentials.iterdir()},
        "writable": [folder for folder in ("/", "/etc", "/usr", "/var") if writable(folder)],
        "homes": [str(path) for home in ("/home", "/root") for path in Path(home).iterdir()],
        "manager_reachable": (runtime / "systemd/private").exists() or (runtime / "bus").exists(),
    }


async def vectors() -> dict[str, object]:
    """Embed a text, and ask Chroma for it."""
    from daemon.core.ports.vectors import View
    from daemon.llm.embedder import MODEL
    from daemon.llm.embedder.endpoint import LocalEmbedder
    from daemon.memory.retrieval.chroma import Chroma
    from daemon.memory.retrieval.keeper import owned
    from daemon.memory.retrieval.shelves import unpacked
    from daemon.memory.retrieval.vector_file import Shelf, StoredVector

    (vector,) = await LocalEmbedder(MODEL).embed(["the boiler leaks"])
    shelf, folder = Shelf("abc", View.OWN), DATA / "index"
    with owned(folder) as lock:
        assert lock is not None
        chroma = Chroma(folder / "chroma", lock)
        chroma.add(shelf, [7], unpacked([StoredVector(7, "TU_7", vector.astype("float16").tobytes())]))
        [found] = chroma.query(shelf, [vector], 1)
        chroma.close()
    return {"length": len(vector), "found": list(found)}


async def main() -> ExitCode:
    """Report ready, feed the watchdog unless the file `sick` exists, and end on SIGTERM."""
    if (DATA / "misconfigured").exists():
        return ExitCode.CONFIGURATION
    manager = ServiceManager(os.environ["NOTIFY_SOCKET"])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    tell(**surroundings(), closed=close_process())
    if (DATA / "vectors").exists():
        tell(**await vectors())
    manager.ready("connected")
    feeding = asyncio.ensure_future(
        Watchdog(manager, int(os.environ["WATCHDOG_USEC"])).feed(lambda: not (DATA / "sick").exists(), SystemClock())
    )
    await stop.wait()
    manager.stopping("draining")
    feeding.cancel()
    tell(stopped=True)
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
