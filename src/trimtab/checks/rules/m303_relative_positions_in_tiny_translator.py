"""M303 relative-positions-in-tiny-translator"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Measured, Paper
from trimtab.checks.model_size import is_tiny_translator, translator_size
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\nlayers: 6\nheads: 8\n{positions}"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M303",
    name="relative-positions-in-tiny-translator",
    severity="note",
    message="{positions} positions alone in a translator of about {size} million parameters trained from "
    "scratch",
    why="Sources differ, and the condition decides. Practitioners saw such models of 50 to 200 million "
    "parameters collapse to one phrase, mostly between languages of other word order; above 1 billion, in "
    "papers with base models, and in our own small models between English and German and English and Japanese, "
    "relative positions alone train well, rotary ones better than sines. In cross-attention the decoder sees "
    "no positions but what the encoder's output holds. If it collapses, absolute positions, alone or beside "
    "them, are the first thing to try.",
    evidence=(
        Measured(
            "positions",
            "8 million parameters, English to German, 1,000 steps, 5 seeds: no scheme collapses. Rotary positions "
            "alone are 0.190 nats a token better than sines (0.165 to 0.214), T5's bias is 0.219 worse (0.166 to "
            "0.271).",
        ),
        Measured(
            "relative_positions_collapse",
            "English to Japanese, 5 seeds: neither collapses. Rotary positions are 5.9 points of chrF better than "
            "sines (4.6 to 7.3), T5's bias is 3.3 worse (2.2 to 4.4).",
        ),
        Paper(
            "https://arxiv.org/abs/2212.05830",
            "'the vanishing of absolute position information in encoder output causes the training failure' "
            "of document translation; both kinds together fix it.",
        ),
        Paper(
            "https://arxiv.org/abs/2408.11382",
            "Against: translators changed from sinusoidal positions to RoPE or ALiBi keep their quality "
            "after light tuning.",
        ),
        Folklore(
            "50 to 200 million parameters, Chinese and Japanese to English: collapses with relative "
            "positions only (practitioner's notes)."
        ),
    ),
    fix=Fix(
        "watch translations of a few fixed sentences; if they become one phrase, switch to sinusoidal "
        "positions"
    ),
    bad=Example("opennmt.yaml", _YAML.format(positions="max_relative_positions: -1\n")),
    good=Example("opennmt.yaml", _YAML.format(positions="position_encoding: true\n")),
    tips=("S0-01", "S0-04", "S0-07", "S0-11", "S0-12", "S1-11"),
    symptoms=("one phrase for every input", "repeats the same words", "collapses"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for small encoder-decoders from scratch whose only positions are relative ones."""
    positions, size = run.setting("positions"), translator_size(run)
    # In Mammoth rotary positions are the only ones that work, by its own documentation.
    if positions is None or size is None or not positions.is_written or run.tool == "mammoth":
        return
    if positions.value in ("relative", "rotary", "rotary_qkv", "shaw", "alibi") and is_tiny_translator(run):
        yield RULE.at(positions, positions=positions.value, size=f"{size / 1e6:.0f}")
