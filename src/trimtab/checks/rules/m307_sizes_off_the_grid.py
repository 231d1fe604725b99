"""M307 sizes-off-the-grid"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: {width}\nword_vec_size: {width}\nlayers: 6\nheads: 5\nmodel_dtype: fp16\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M307",
    name="sizes-off-the-grid",
    severity="note",
    message="{what} {size} is no multiple of 8",
    why="Tensor cores work on tiles of 8 or more 16-bit numbers. Newer libraries pad by themselves, so that "
    "the loss of speed varies from nothing to a good part; a multiple of 64 is safe and costs nothing when "
    "chosen from the start.",
    evidence=(
        Folklore(
            "NVIDIA's guide asks for multiples of 8 for 16-bit numbers, less urgently since cuBLAS 11 (cited "
            "from memory)."
        ),
    ),
    fix=Fix("choose {near}"),
    bad=Example("opennmt.yaml", _YAML.format(width=500)),
    good=Example("opennmt.yaml", _YAML.format(width=520)),
    tips=("S0-99", "S0-100"),
    symptoms=("training is slow",),
)
_SIZES = {"hidden_size": "a width of", "feed_forward": "a feed-forward width of"}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for models that start from scratch in half precision: only there can the size still be chosen."""
    if run.value("from_scratch") is not True or run.value("autocast") not in ("bf16", "fp16"):
        return
    for concept, what in _SIZES.items():
        size = run.setting(concept)
        if size is not None and size.is_written and size.value > 64 and size.value % 8:
            near = (size.value + 63) // 64 * 64
            yield RULE.at(size, what=what, size=f"{size.value:,}", near=f"{near:,}")
            return
