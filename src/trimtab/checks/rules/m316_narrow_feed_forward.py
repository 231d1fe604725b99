"""M316 narrow-feed-forward"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: 1024\nword_vec_size: 1024\nlayers: 6\nheads: 16\ntransformer_ff: {inner}\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M316",
    name="narrow-feed-forward",
    severity="warning",
    message="the feed-forward layers are narrower ({inner}{default}) than the model ({width})",
    why="Four times the width is usual: most of a layer's parameters are there. A narrower one is a "
    "bottleneck that each layer's input has to pass; mostly the width was raised and this was left "
    "behind.",
    evidence=(
        Arithmetic(
            "A layer has 4 d^2 parameters in attention and 2 d f in the feed-forward part: with f = 4 d that "
            "is two thirds of the layer, with f = d / 2 a fifth; and the rank of its map is at most f."
        ),
    ),
    fix=Fix("set it to {good}"),
    bad=Example("opennmt.yaml", _YAML.format(inner=512)),
    good=Example("opennmt.yaml", _YAML.format(inner=4096)),
    symptoms=("loss stays high", "worse than expected of its size"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for models that start from scratch, where both sizes are known."""
    inner, width = run.setting("feed_forward"), run.setting("hidden_size")
    if inner is None or width is None or run.value("from_scratch") is not True:
        return
    if 0 < inner.value < width.value and (inner.is_written or width.is_written):
        default = "" if inner.is_written else ", the default"
        where = inner if inner.is_written else width
        yield RULE.at(where, inner=inner.value, default=default, width=width.value, good=4 * width.value)
