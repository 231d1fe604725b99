"""S112 sgd-with-transformer"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import tokens_per_step

RULE = Rule(
    code="S112",
    name="sgd-with-transformer",
    severity="note",
    message="plain SGD trains this transformer at {rate:g}{batch}",
    why="SGD has one rate for all weights, and the gradients of a transformer differ by orders of magnitude. "
    "At the small rates that suit Adam it hardly moves. It works with small batches of a few sequences, so "
    "the batch decides; with large ones Adam or AdamW is needed.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2507.07101",
            "Marek et al. 2025: small batch sizes enable stable language model training with vanilla SGD, "
            "even without momentum.",
        ),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/examples",
            "An example configuration trains by sgd at 3e-5.",
            opened=False,
        ),
    ),
    fix=Fix("use AdamW, or a batch of a few sequences and a rate of 0.1 to 1"),
    bad=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\nbatch_type: tokens\nbatch_size: 4096\noptim: sgd\nlearning_rate: 0.00003\n",
    ),
    good=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\nbatch_type: tokens\nbatch_size: 4096\noptim: adamw\nlearning_rate: "
        "0.00003\ndecay_method: linear_warmup\nwarmup_steps: 1000\n",
    ),
    aliases=("OPT003",),
    tips=("S3-04", "S3-05", "S2-03", "S2-04"),
    symptoms=("loss falls slowly", "loss flat", "model learns nothing"),
)

LOW = 0.01
"""Below this a rate was probably meant for Adam."""
SMALL = 2048
"""Tokens of a batch that counts as a few sequences."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A written rate in Adam's range; a known small batch is left in peace."""
    optimizer, rate, tokens = run.setting("optimizer"), run.setting("learning_rate"), tokens_per_step(run)
    if optimizer is None or optimizer.value != "sgd" or rate is None or not rate.is_written:
        return
    if run.document.syntax == "python" and not _is_of_transformer(run):
        return
    if 0 < rate.value <= LOW and (tokens is None or tokens > SMALL):
        batch = "" if tokens is None else f", {tokens:,} tokens a step"
        yield RULE.at(optimizer if optimizer.is_written else rate, rate=rate.value, batch=batch)


def _is_of_transformer(run: Description) -> bool:
    """Whether the model of a script is seen to be one: loaded by transformers, or made of torch's layers."""
    return run.value("model_name") is not None or any(calls_of(run, *_LAYERS))


_LAYERS = (
    "Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer", "TransformerDecoderLayer",
    "MultiheadAttention", "scaled_dot_product_attention",
)  # fmt: skip
