"""One spelling for what looks the same: Unicode form, white space, control characters."""

import unicodedata
from typing import Literal

# Category Cc without those that count as white space, which become a space instead.
_CONTROLS = {
    code: None for code in range(0xA0) if unicodedata.category(chr(code)) == "Cc" and not chr(code).isspace()
}


def normalize(text: str, *, form: Literal["nfc", "nfkc", "none"]) -> str:
    """The text in a Unicode form, without control characters, white space joined to single spaces and stripped.

    Source: Unicode Standard Annex 15 for the forms.
    """
    is_plain = text.isprintable()  # so its only white space is the space
    if not is_plain:
        text = text.translate(_CONTROLS)
    if form != "none" and not text.isascii():
        text = unicodedata.normalize("NFC" if form == "nfc" else "NFKC", text)
    if is_plain and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())
