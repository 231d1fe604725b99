"""How BLEU may cut words; apart from the settings, so that the command line knows it without loading them."""

from typing import Literal

BleuTokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"]
"""Of sacreBLEU: `13a` and `intl` where words have spaces between them, `zh`, `ja-mecab`, `ko-mecab`, or `char` for any."""
