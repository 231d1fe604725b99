"""What the names of optimizers say: the algorithm, the bits of its state, whether it is paged."""

from trimtab.checks.record import record

ADAM_LIKE = frozenset({"adamw", "adam", "ademamix", "lion", "grokadamw"})
"""Kinds that have two decay rates."""


@record
class OptimizerName:
    """A name taken apart."""

    kind: str
    """adamw, adafactor, ...: the word of the concept `optimizer`."""
    bits: int | None = None
    """Of the state, where the name fixes it; else the state has the dtype of the weights."""
    is_paged: bool = False


def take_apart(name: str) -> OptimizerName | None:
    """`paged_adamw_8bit` and its like, of transformers, Axolotl, bitsandbytes, torchao; None for a name unheard of."""
    word = name.strip().lower().replace("-", "_")
    kind = next((kind for part, kind in _KINDS if part in word), None)
    if kind is None:
        return None
    is_paged = "paged" in word
    of_bitsandbytes = is_paged or "bnb" in word or "lion" in word or "ademamix" in word
    return OptimizerName(kind, _bits(word) or (32 if of_bitsandbytes else None), is_paged)


_KINDS = (
    ("schedule_free", "schedule_free"),
    ("schedulefree", "schedule_free"),
    ("galore", "galore"),
    ("apollo", "apollo"),
    ("lomo", "lomo"),
    ("badam", "badam"),
    ("grokadamw", "grokadamw"),
    ("ademamix", "ademamix"),
    ("adafactor", "adafactor"),
    ("adagrad", "adagrad"),
    ("adadelta", "adadelta"),
    ("adamax", "adamax"),
    ("adam_mini", "adam_mini"),
    ("adamw", "adamw"),
    ("deepspeedcpuadam", "adamw"),
    ("adam", "adam"),
    ("lion", "lion"),
    ("muon", "muon"),
    ("dion", "dion"),
    ("came", "came"),
    ("lamb", "lamb"),
    ("lars", "lars"),
    ("rmsprop", "rmsprop"),
    ("sgd", "sgd"),
)


def _bits(word: str) -> int | None:
    for text, bits in (("4bit", 4), ("8bit", 8), ("fp8", 8), ("32bit", 32), ("16bit", 16)):
        if text in word:
            return bits
    return None
