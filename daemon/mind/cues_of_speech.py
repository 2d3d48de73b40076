"""Plain signs, in several languages, that words were meant as a joke, a supposition or an order, or deny something.

They only ever keep a line from being noted: a sign too many costs a note, which is better than a false one.
"""

import re
from typing import Final

from daemon.core.words import words_of


def is_joke(text: str) -> bool:
    """Whether a text laughs at itself."""
    return bool(_JOKES.search(text))


def is_supposition(text: str) -> bool:
    """Whether a text supposes something, or leaves it open."""
    return bool(_SUPPOSES.search(text))


def is_order(text: str) -> bool:
    """Whether a text would change the rules of whoever reads it."""
    return bool(_ORDERS.search(text))


def is_request(text: str) -> bool:
    """Whether a text asks for something to be done or told, and says nothing of who asks."""
    return bool(_ASKING.match(text.strip())) or bool(_PLEASE.search(text) and not _MYSELF.search(text))


def denies(text: str) -> bool:
    """Whether a text holds a negation; two of them are one."""
    plain = text.casefold().replace("n't", " not").replace("n\u2019t", " not")
    return not _NEGATIONS.isdisjoint(words_of(plain)) or any(sign in plain for sign in _NEGATIONS_WITHIN)


def _any(*phrases: str) -> re.Pattern[str]:
    """Any of the phrases, lines of alternatives in the syntax of regular expressions, as whole words."""
    return re.compile("|".join(rf"(?<!\w)(?:{phrase})(?!\w)" for phrase in phrases), re.IGNORECASE)


_JOKES: Final = _any(
    r"(?:just )?(?:kidding|joking)|jk|lol|rofl|lmao|(?:ha){2,}h?|(?:he){2,}|/s|[;:]-?[)pP]",
    r"scherz|spaß|spass|witz|kleiner scherz|blague|je rigole|broma|(?:ja){2,}|scherzo|brincadeira|(?:k){3,}",
    r"шут\w+|\w*冗談\w*|\w*开玩笑\w*|\w*(?:哈哈|笑|ㅋㅋ|\u110f\u110f)\w*",
    "[\U0001f602\U0001f923\U0001f61c\U0001f61d\U0001f609\U0001f643\U0001f606]",
)
_SUPPOSES: Final = _any(
    r"if|suppose|supposing|imagine|hypothetically|assuming|pretend|let'?s say|maybe|perhaps|might be|could be|may be",
    r"wenn|falls|angenommen|stell dir vor|vielleicht|hypothetisch|womöglich|eventuell",
    r"si|supposons|imaginons|peut-être|supongamos|imagina|quizás?|tal vez|talvez|forse|magari",
    r"если|допустим|представь|может быть|бы",
    r"\w*(?:もし|かもしれ|仮に|如果|假如|要是|也许|만약|아마)\w*",
)
_ASKING: Final = re.compile(
    r"(?:can|could|will|would) (?:you|we|somebody|someone)\b|do you\b"
    r"|(?:what|where|who|whom|how|why|when|which) (?:is|are|was|were|do|does|did|to|can|should|would)\b"
    r"|(?:kannst|könntest|würdest|könnt) (?:du|ihr)\b"
    r"|(?:was|wo|wer|wie|warum|wann) (?:ist|sind|war|geht|kann|macht|soll)\b"
    r"|peux[- ]tu\b|pouvez[- ]vous\b|puedes\b|podrías\b|puoi\b|potresti\b|você pode\b",
    re.IGNORECASE,
)
_PLEASE: Final = _any(r"please|bitte|s'il (?:te|vous) pla[iî]t|por favor|per favore|пожалуйста")
_MYSELF: Final = _any(
    r"i|i'm|i've|i'd|i'll|me|my|mine|we|our|us|ich|mir|mich|mein\w*|wir|uns\w*",
    r"je|j'\w+|moi|mon|ma|mes|nous|yo|mi|mis|me|io|mio|mia|eu|meu|minha|я|мне|меня|мой|моя",
)
_RULES_EN: Final = r"instructions?|rules?|prompts?|guidelines?"
_RULES_DE: Final = r"anweisung\w*|regeln?|vorgaben?"
_RULES_FR: Final = r"instructions?|règles?|consignes?"
_ORDERS: Final = _any(
    rf"(?:ignore|disregard|forget|override|bypass)\b.{{0,40}}\b(?:{_RULES_EN})",
    r"(?:system|developer|assistant)(?:| ?(?:prompt|message|note)):|(?:system|developer) ?(?:prompt|message|note)",
    r"you (?:must|shall|are now|have to|will now)",
    r"(?:note|remember|store|memori[sz]e|record|save)\b.{0,30}\b(?:as a (?:rule|fact)|permanently|for everyone)",
    rf"(?:ignorier\w*|vergiss|missachte)\b.{{0,40}}\b(?:{_RULES_DE})|du (?:musst|bist ab jetzt|hast zu)",
    rf"(?:ignore[rz]?|oublie[rz]?)\b.{{0,40}}\b(?:{_RULES_FR})|tu dois",
    r"(?:ignora|olvida)\b.{0,40}\b(?:instrucciones|reglas)|debes",
    r"(?:игнорируй|забудь)\b.{0,40}\b(?:инструкц\w+|правил\w*)",
    r"\w*(?:忽略|无视).{0,20}(?:指令|规则|说明)\w*|\w*(?:指示|ルール).{0,10}無視\w*",
)
_NEGATIONS: Final = frozenset(
    words_of("""
        not no never none neither nor without cannot nothing nobody stopped quit ceased nt dont doesnt didnt isnt arent
        wasnt werent cant couldnt wont wouldnt havent hasnt hadnt shouldnt aint
        nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder aufgehört
        pas jamais aucun aucune rien sans personne non ne nunca ningún ninguna ninguno nada nadie sin jamás
        não nenhum nenhuma sem mai nessun nessuno nessuna senza niente niet geen nooit niets zonder
        inte aldrig ingen inget ikke aldri ingenting utan uten nigdy żaden bez не нет никогда никто ничего без ні немає
        ніколи لا ليس لم لن غير بدون אין לא בלי değil yok asla hiç
    """)
)
_NEGATIONS_WITHIN: Final = (
    *("ない", "なかった", "ません", "不", "没", "沒", "无", "無"),
    *("안 ", "않", "없", "못", "नहीं", "ไม่"),
)
