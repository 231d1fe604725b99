"""How BLEU may cut words; apart from the settings, so that the command line knows it without loading them."""

from typing import Literal

BleuTokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"]
"""sacreBLEU's: `13a` and `intl` where spaces stand between words; `zh`, `ja-mecab`, `ko-mecab`; `char` for any."""
