"""The step that composes a poem in a register, with images from one domain (seed 000, creativity 0.9)."""

from msgspec.structs import replace

from daemon.core.step import Step
from daemon.mind.prompts import prompt
from daemon.mind.steps.external_dialog import external_dialog
from daemon.soul import Soul

_PLACEHOLDER = "I'm only a placeholder so far:\nno language model hums in here,\nso this is all the song there is."


def poetic_composition(
    soul: Soul, request: str, *, register: str = "", image_domain: str = "", verb: str = "recited"
) -> Step[str]:
    """Build the step for a spoken poem. `request` says in a sentence what to do.

    `register` and `image_domain` are words from the soul's poetic mode, empty to leave them open. All three texts must
    be the daemon's own words. The answer streams and is refused as in `external_dialog`.
    """
    form = (
        f"Its register: {register}." if register else "",
        f"Its images come from: {image_domain}." if image_domain else "",
    )
    command = prompt("poetic_composition", request=request, form="".join(f"{line}\n" for line in form if line))
    return replace(
        external_dialog(soul, request, verb=verb),
        name="poetic_composition",
        placeholder=_PLACEHOLDER,
        command=command,
        creativity=0.9,
        max_output_tokens=1024,
    )
