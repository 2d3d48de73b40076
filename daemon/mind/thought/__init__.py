"""One whole structured thought (seed 002): what it is given, what it holds, and how it is read out of an answer."""

from daemon.mind.thought.cognitive_input import CognitiveInput
from daemon.mind.thought.cognitive_output import CognitiveOutput
from daemon.mind.thought.reading import NoThought, Refused, ThoughtRead, read_input, read_thought, read_thought_cut
from daemon.mind.thought.speech import SpeechInThought
from daemon.mind.thought.wire import WIRE_SCHEMA, bare_thought
from daemon.mind.thought.withholding import in_effect, without

__all__ = [
    "WIRE_SCHEMA",
    "CognitiveInput",
    "CognitiveOutput",
    "NoThought",
    "Refused",
    "SpeechInThought",
    "ThoughtRead",
    "bare_thought",
    "in_effect",
    "read_input",
    "read_thought",
    "read_thought_cut",
    "without",
]
