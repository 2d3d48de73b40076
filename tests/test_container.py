"""The container: what its file must and must not do, and (where a builder is named) that it is built and works."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILDER = os.environ.get("CONTAINER_BUILDER", "")
_BUILD_S = 1_800


def instructions() -> list[tuple[str, str]]:
    """The instructions of the file, comments and breaks of lines taken out."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    pairs = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in pairs]


def last_stage() -> dict[str, str]:
    """The last stage's instructions by name; of several the last."""
    found = instructions()
    begin = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return dict(found[begin:])


def test_it_runs_without_rights_on_a_volume_holds_no_secret_and_takes_nothing_unpinned() -> None:
    stage = last_stage()
    assert int(stage["USER"]) > 0
    assert stage["VOLUME"] == "/data"
    assert "SOUL_HOME=/data" in stage["ENV"]
    assert (stage["ENTRYPOINT"], stage["CMD"]) == ('["soul"]', '["run"]')
    assert 'CMD ["soul", "status", "--healthy"]' in stage["HEALTHCHECK"]
    for name, rest in instructions():
        assert name not in {"ADD", "ARG"}
        if name == "ENV":
            assert not re.search(r"TOKEN|KEY|SECRET|PASSWORD", rest, re.IGNORECASE)
        if name == "FROM":
            assert re.match(r"docker\.io/library/python:3\.\d+-slim\b", rest)
        if name == "RUN" and "pip install" in rest:
            assert "--require-hashes" in rest or "--no-index" in rest


def test_what_it_copies_is_there_and_what_is_private_never_gets_into_the_build() -> None:
    allowed = (ROOT / ".dockerignore").read_text().split()
    assert allowed[0] == "*"
    assert {"**/.env", "**/*.db", "**/*.db-*"} <= set(allowed)
    copied = [
        word for name, rest in instructions() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]
    ]
    assert copied
    for path in copied:
        assert (ROOT / path).exists()
        assert f"!{path.split('/')[0]}" in allowed


@contextmanager
def running(image: str) -> Iterator[str]:
    """A container of an image; gives its id."""
    started = subprocess.run([BUILDER, "run", "-d", image], capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield started
    finally:
        subprocess.run([BUILDER, "rm", "-f", "-v", started], capture_output=True, check=True)


@pytest.mark.skipif(not BUILDER, reason="CONTAINER_BUILDER=docker (or podman) builds and runs the container")
def test_it_is_built_and_works() -> None:
    image = "soul-daemon-test"
    subprocess.run([BUILDER, "build", "-t", image, "-f", "Containerfile", "."], cwd=ROOT, timeout=_BUILD_S, check=True)
    with running(image) as container:
        log = subprocess.Popen([BUILDER, "logs", "-f", container], stdout=subprocess.PIPE, text=True)
        assert log.stdout is not None
        assert any("Connected." in line for line in log.stdout)
        log.terminate()
        log.communicate()
        for command in (["status", "--healthy"], ["doctor", "--offline"]):
            asked = [BUILDER, "exec", container, "soul", *command]
            assert subprocess.run(asked, capture_output=True, check=False).returncode == 0
        who = subprocess.run([BUILDER, "exec", container, "id", "-u"], capture_output=True, text=True, check=True)
        assert who.stdout.strip() == last_stage()["USER"]
