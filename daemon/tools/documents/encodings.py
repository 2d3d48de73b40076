"""The decoding of text in any encoding. Without a mark in the bytes, the encoding is guessed and named."""

import codecs
import re
from contextlib import suppress
from typing import Final

_MARKS: Final = (  # UTF-32 first: its mark begins like that of UTF-16
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
_SAMPLE: Final = 64 * 1024  # bytes for the guess of an encoding
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_FEWEST: Final = 0.1  # least share of ASCII among the letters of Chinese text
_MOST: Final = 0.5  # share of ASCII among the letters that only UTF-16 text reaches
_ASCII: Final = re.compile(rb"[\t\n -~]")  # every text contains a blank, a line's end or a digit
_JAPANESE: Final = "[\0-\x7f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]*"
_MIXED: Final = (
    "(?s:.)*(?:[A-Za-z][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z])"  # an apostrophe in cp1252 looks like this in cp932
)
_SIGNS: Final = (  # sure signs of an encoding: Japanese full-width letters alone, kana, or Hangul without hanzi
    ("cp932", re.compile(f"^(?!{_MIXED}){_JAPANESE}$")),
    ("cp932", re.compile(f"^{_JAPANESE}$")),
    ("euc_jp", re.compile("[\u3041-\u30fa]")),
    ("euc_kr", re.compile("^(?=[^\uac00-\ud7a3]*[\uac00-\ud7a3])[^\u4e00-\u9fff]*$")),
)
_WESTERN: Final = ("cp1252", "cp1250")
_OTHERS: Final = ("koi8_r", "cp1251", "gb18030", "cp932", "big5", "cp1253", "cp1250", "cp1252")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_RUNS: Final = re.compile(rb"[\x80-\xff]{3,}|\x83")  # rare in text that is mostly ASCII


def decoded(data: bytes) -> tuple[str, str] | None:
    """Return the text, and the encoding if it was guessed, or None for data that is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), ""
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        return _guessed_as(order, data) if (order := _utf_16(sample)) else None
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        begun = sample.decode("utf-8", "replace")
    if 4 * begun.count("\ufffd") <= sum(not letter.isascii() for letter in begun):
        return data.decode("utf-8", "replace"), "UTF-8 all the same"
    return _guessed_as(guess, data) if (guess := _guess(sample)) else None


def is_plain(data: bytes) -> bool:
    """Return True for text without unusual control characters."""
    found = decoded(data)
    return bool(data) and found is not None and not _CONTROLS.search(found[0][:_SAMPLE])


def guessed(encoding: str) -> str:
    return f"it isn't UTF-8; its letters are read as {encoding}, and some may be wrong"


def _guessed_as(encoding: str, data: bytes) -> tuple[str, str] | None:
    text = data.decode(encoding, "replace")
    return None if _CONTROLS.search(text[:_SAMPLE]) else (text, encoding)


def _utf_16(sample: bytes) -> str:
    """Return the byte order of UTF-16 without a mark: every second byte of its ASCII letters is zero."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    order, most, least = ("utf-16-be", even, odd) if even > odd else ("utf-16-le", odd, even)
    share = most / len(sample[::2])
    if len(sample) % 2 or least > most / 10 or share < _FEWEST:
        return ""
    with suppress(UnicodeDecodeError):
        sample.decode(order)
        return order if share >= _MOST or not _is_utf_8(sample.replace(b"\0", b"")) else ""
    return ""


def _is_utf_8(data: bytes) -> bool:
    try:
        return not _CONTROLS.search(data.decode())
    except UnicodeDecodeError:
        return False


def _guess(sample: bytes) -> str:
    """Return the likeliest encoding of text that is not UTF-8, of equal ones the commonest, or "" for no text."""
    from charset_normalizer import from_bytes

    whole = sample[: sample.rfind(b"\n") + 1] or sample  # cuts no letter in two
    if not _ASCII.search(whole):
        return ""
    in_runs = sum(map(len, _RUNS.findall(whole)))
    likely = _OTHERS if 2 * in_runs >= len(_HIGH.findall(whole)) else _WESTERN
    for encoding, sign in _SIGNS if likely is _OTHERS else _SIGNS[:1]:
        with suppress(UnicodeDecodeError):
            if sign.search(whole.decode(encoding)):
                return encoding
    found = list(from_bytes(whole, cp_isolation=list(likely)))
    least = min((one.chaos for one in found), default=0)
    equal = {name for one in found if one.chaos <= least for name in one.could_be_from_charset}
    return next((encoding for encoding in likely if encoding in equal), "cp1252" if likely is _WESTERN else "")
