"""M113 vocabulary-not-multiple-of-eight"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M113",
    name="vocabulary-not-multiple-of-eight",
    severity="note",
    message="{what} is no multiple of 8, in a model that is {trained} in 16 bits",
    why="Tensor cores work on blocks of 8 numbers of 16 bits, and the largest product of a small model is "
    "the one with the vocabulary. Rows that no token has must be masked where labels are smoothed.",
    evidence=(
        Folklore(
            "NVIDIA's guide asks for multiples of 8, less urgently since cuBLAS 11; nanoGPT gained about 25% "
            "from 50,257 to 50,304 (both cited from memory)."
        ),
    ),
    fix=Fix("{way}, or to a multiple of 64"),
    bad=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nmodel_dtype: fp16\nvocab_size_multiple: 5\ntrain_steps: "
        "100000\noptim: adam\nlearning_rate: 2\ndecay_method: noam\nparam_init: 0\nparam_init_glorot: true\n",
    ),
    good=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nmodel_dtype: fp16\nvocab_size_multiple: 8\ntrain_steps: "
        "100000\noptim: adam\nlearning_rate: 2\ndecay_method: noam\nparam_init: 0\nparam_init_glorot: true\n",
    ),
    aliases=("SHAPE001",),
    tips=("S0-99",),
    symptoms=("slow",),
)

BLOCK = 8
SMALL = 256
"""Alphabets of bytes and characters are too small to matter."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the size is written in a run from scratch, or OpenNMT rounds it to something else."""
    if run.value("autocast") not in ("bf16", "fp16"):
        return
    for call in calls_of(run, "resize_token_embeddings"):
        entry = call.arguments.get("new_num_tokens")
        given: Any = entry.value if entry is not None else call.positional[0] if call.positional else None
        if (
            type(given) is int
            and _is_odd(given)
            and "pad_to_multiple_of" not in call.arguments
            and not call.has_rest
        ):
            way = "give `pad_to_multiple_of=8`"
            yield RULE.at(call.place, what=f"the table resized to {given:,} rows", trained="trained", way=way)
            return
    size, multiple = run.setting("vocab_size"), run.written("vocab_size_multiple")
    if size is not None and size.is_written and run.value("from_scratch") is True and _is_odd(size.value):
        padded = -(-size.value // BLOCK) * BLOCK
        yield RULE.at(
            size,
            what=f"the vocabulary of {size.value:,}",
            trained="trained from scratch",
            way=f"pad it to {padded:,}",
        )
    elif multiple is not None and isinstance(multiple.value, int) and multiple.value % BLOCK:
        yield RULE.at(
            multiple,
            what=f"`{multiple.key}: {multiple.value}`",
            trained="trained from scratch",
            way="set it to 8",
        )


def _is_odd(size: int) -> bool:
    return size > SMALL and size % BLOCK != 0
