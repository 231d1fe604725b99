"""The words of a question and of the pages, brought to the same form: stems, words of one meaning, what is denied."""

import re
from functools import cache
from typing import Final

_SMALL_WORDS: Final = (
    "a an the is are was were be been my our your its it this that of in on at to for with and or by as from i we you "
    "model models training train trained run after before when while does do did have has had get gets got go goes "
    "becomes become there all every then than so just some any again step steps hour hours keep keeps kept itself "
    "very too only even although though if why how what which who but can could should would will me they them "
    "always still also both about into out up using used use s t m re ve said says since time epoch epochs finetune "
    "finetuning fine tuning tune tuned"
)
_DENYING: Final = (
    "no not never without nothing none cannot cant dont doesnt didnt isnt arent wasnt wont hasnt havent neither nor "
    "couldnt wouldnt shouldnt"
)
_PASSED_OVER: Final = frozenset(_SMALL_WORDS.split())
_DENIALS: Final = frozenset(_DENYING.split())
_MEANS_THE_SAME: Final = (
    "nan inf infinite overflow finite",
    "oom memory fit kill killed vram ram",
    "repeat repetition loop degenerate",
    "same identical one alike constant collapse collapsed",
    "diverge explode spike blow unstable divergence",
    "flat stuck plateau stay stagnate stagnant constant fall decrease drop improve learn down lower move change "
    "converge convergence",
    "zero 0 0.0 null",
    "slow slowly slower speed idle utilisation utilization util bottleneck",
    "resume restart resumption checkpoint",
    "merge merged fuse unload",
    "ignore ignored effect unused dropped",
    "output generation generate text translation prediction write answer response emit produce predict print say",
    "word token phrase sentence",
    "nonsense gibberish garbage hallucinate hallucination unrelated rubbish",
    "lr rate",
    "score bleu chrf comet accuracy metric",
    "lora adapter qlora dora peft",
    "gradient grad grads",
    "crash fail error typeerror exception abort refuse",
    "stop end eos finish eot ramble rambles endless continue",
    "forget forgetting catastrophic",
    "overfit memorise memorize overfitting",
    "validation eval evaluation evaluate dev val test inference",
    "input source",
    "bad worse worst poor wrong worsen",
    "accumulation accumulate accumulating accum",
    "unknown unk missing",
    "gpu device rank cuda card",
    "double twice duplicate doubled two",
    "label labels target",
    "prompt instruction question",
    "mask masked ignore_index",
    "pad padding padded",
    "embedding embeddings embed_tokens wte",
    "scheduler schedule",
    "quantize quantise quantized quantised 4bit 8bit bitsandbytes bnb nf4 int8",
    "warmup warm",
    "upgrade update version newer",
    "seed random nondeterministic reproducible",
    "vocabulary vocab",
    "long longer length",
    "short shorter truncated cut",
    "big bigger large huge high higher enormous",
    "small smaller tiny low lower",
    "bf16 bfloat16",
    "fp16 half float16",
    "disk space storage",
    "stream streaming iterabledataset",
    "rise rises rising up increase increases grow grows",
    "earlystoppingcallback early stopping",
    "squash squashed squeeze squeezed aspect",
    "shift shifted shifts",
    "process processes worker workers multigpu ddp distributed",
    "smoothing smooth",
    "bos begin",
    "compile recompile recompilation",
    "freeze frozen requires_grad",
    "misspell misspelled misspelt typo",
    "replace replaced swap swapped exchange exchanged",
    "order shuffle shuffled",
    "hang hangs deadlock waits forever",
)
_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*|[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?[a-z]*")
_NOISE: Final = re.compile(
    r"https?://\S+|file \"[^\"]*\"|\bline \d+|0x[0-9a-f]+|(?:[a-z]:)?(?:[\\/][\w.\-]+){2,}|\bat index \d+",
    re.IGNORECASE,
)
"""What a pasted message has of one machine alone."""
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]+|[a-z0-9]+")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")

Words = dict[str, bool]
"""Stems, each with whether it is denied."""


def words_of(text: str) -> Words:
    """The telling words of a text: `the loss does not fall` is loss, and that it is flat, denied."""
    found: Words = {}
    is_denied, since = False, 0
    for word in _split(_NOISE.sub(" ", text).replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")):
        if word in _DENIALS:
            is_denied, since = True, 0
            continue
        if word in _PASSED_OVER or (_NUMBER.fullmatch(word) and word not in ("0", "0.0")):
            continue
        found.setdefault(idea(word), is_denied)
        since += 1
        is_denied = is_denied and since < 2
    return found


def _split(text: str) -> list[str]:
    words: list[str] = []
    for piece in text.split():
        lower = piece.lower()
        for word in _WORD.findall(lower):
            words.append(word)
            if "_" in word:
                words += word.split("_")
        if lower != piece and len(parts := _CAMEL.findall(piece)) > 1 and "_" not in piece:
            words += [part.lower() for part in parts if len(part) > 2]
    return words


@cache
def idea(word: str) -> str:
    """The word that stands for all of its meaning; else its stem."""
    stemmed = stem(word)
    ideas = _ideas()
    return ideas.get(word) or ideas.get(stemmed) or stemmed


@cache
def _ideas() -> dict[str, str]:
    ideas: dict[str, str] = {}
    for row in _MEANS_THE_SAME:
        first, *others = row.split()
        for word in (first, *others):
            ideas.setdefault(word, first)
            ideas.setdefault(stem(word), first)
    return ideas


@cache
def known_words() -> tuple[str, ...]:
    """Every word that has a meaning here besides its own letters."""
    return tuple(_ideas())


def stem(word: str) -> str:
    """English endings taken off by hand: enough that `repeats`, `repeated` and `repeating` are one."""
    if "_" in word:
        return word
    for ending in ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
