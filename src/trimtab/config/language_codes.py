"""Codes of languages, as far as two spellings of one can be told: ISO 639 has up to three for a language."""

THREE_LETTERS = {
    "ar": ("ara",), "bg": ("bul",), "bn": ("ben",), "ca": ("cat",), "cs": ("ces", "cze"), "cy": ("cym", "wel"),
    "da": ("dan",), "de": ("deu", "ger"), "el": ("ell", "gre"), "en": ("eng",), "es": ("spa",), "et": ("est",),
    "eu": ("eus", "baq"), "fa": ("fas", "per"), "fi": ("fin",), "fr": ("fra", "fre"), "ga": ("gle",), "gl": ("glg",),
    "he": ("heb", "iw"), "hi": ("hin",), "hr": ("hrv",), "hu": ("hun",), "hy": ("hye", "arm"), "id": ("ind", "in"),
    "is": ("isl", "ice"), "it": ("ita",), "ja": ("jpn", "jp"), "ka": ("kat", "geo"), "ko": ("kor", "kr"),
    "lt": ("lit",), "lv": ("lav",), "mk": ("mkd", "mac"), "ms": ("msa", "may"), "mt": ("mlt",), "nl": ("nld", "dut"),
    "nb": ("nob",), "nn": ("nno",), "no": ("nor",), "pl": ("pol",), "pt": ("por",), "ro": ("ron", "rum"),
    "ru": ("rus",), "sk": ("slk", "slo"), "sl": ("slv",), "sq": ("sqi", "alb"), "sr": ("srp",), "sv": ("swe",),
    "sw": ("swa",), "ta": ("tam",), "te": ("tel",), "th": ("tha",), "tr": ("tur",), "uk": ("ukr",), "ur": ("urd",),
    "vi": ("vie",), "zh": ("zho", "chi", "cn"),
}  # fmt: skip
"""Two-letter codes of ISO 639-1, each with its codes in ISO 639-2 and others that are often written for it."""
_PLAIN = {other: code for code, others in THREE_LETTERS.items() for other in others}


def plain_code(language: str) -> str:
    """A spelling that codes of the same language share: `ger`, `DEU` and `de` give `de`, `pt_BR` and `pt-br` one."""
    code, *rest = language.lower().replace("_", "-").split("-")
    return "-".join([_PLAIN.get(code, code), *rest])
