"""M304 rms-norm-in-tiny-translator"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Measured, Paper
from trimtab.checks.model_size import is_tiny_translator, translator_size
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\nlayers: 6\nheads: 8\nposition_encoding: true\nlayer_norm: {norm}\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M304",
    name="rms-norm-in-tiny-translator",
    severity="note",
    message="RMSNorm in a translator of about {size} million parameters trained from scratch",
    why="Sources differ, and the condition decides. In large language models it is as good as LayerNorm and "
    "faster; one practitioner found it slightly worse in translators of 100 million parameters, and models "
    "with relative positions to diverge sooner. We measured no difference that five seeds could show, and at most "
    "0.06 nats. At this size there is little speed to gain: if training is unstable, try LayerNorm first.",
    evidence=(
        Measured(
            "rms_norm",
            "8 million parameters, English to German, 5 seeds: RMSNorm is 0.028 nats a token worse (0.059 worse to "
            "0.004 better, p 0.07): undecided, and small if there is anything.",
        ),
        Paper(
            "https://arxiv.org/abs/1910.07467",
            "RMSNorm 'achieves comparable performance against LayerNorm but reduces the running time by 7% "
            "to 64%'.",
        ),
        Folklore("Slightly worse than LayerNorm at 100 million parameters (practitioner's notes)."),
    ),
    fix=Fix("compare with LayerNorm once, with the same seed and data"),
    bad=Example("opennmt.yaml", _YAML.format(norm="rms")),
    good=Example("opennmt.yaml", _YAML.format(norm="standard")),
    tips=("S0-79", "S4-08"),
    symptoms=("diverged", "loss spikes"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for small encoder-decoders from scratch that ask for it."""
    norm, size = run.setting("norm"), translator_size(run)
    if norm is None or size is None or not norm.is_written or not is_tiny_translator(run):
        return
    if norm.value == "rms_norm":
        yield RULE.at(norm, size=f"{size / 1e6:.0f}")
