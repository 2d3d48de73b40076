"""What is stored privately with a reply, without what a model wrote freely."""

from typing import Final

_FREE_WORDS: Final = "'$.monologue', '$.monologue_verb', '$.stimulus_verb', '$.reply_verb', '$.made_piece', '$.in_full'"

WITHOUT_FREE_WORDS: Final = f"CASE WHEN json_valid(thought) THEN json_remove(thought, {_FREE_WORDS}) ELSE '{{}}' END"
"""In SQL, of a row of `turns`: the rest are words of closed lists. What can't be read goes as a whole."""
