"""M314 deep-post-norm"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_DEEP = 12
_RECIPE = (
    "task: translation\ndata:\n  train: [{{source: train.en, target: train.de}}]\n"
    "  valid: {{source: dev.en, target: dev.de}}\nmodel: {{kind: encoder_decoder, preset: small, "
    "encoder_layers: 12, decoder_layers: 12, norm_position: {place}}}\nlength: 4000 steps\n"
)

RULE = Rule(
    code="M314",
    name="deep-post-norm",
    severity="warning",
    message="{layers} layers with the norm after each sub-layer, from random weights",
    why="The gradient passes a norm in every layer and fades or explodes towards the lower ones: such stacks "
    "of 12 layers and more often do not converge, whatever the warm-up. With the norm before the sub-layer "
    "they do.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/1911.03179",
            "'Transformer models with more than 12 encoder/decoder layers fail to converge' with the "
            "original order; another order, or a special initialisation, fixes it.",
        ),
        Paper(
            "https://arxiv.org/abs/1906.01787",
            "Proper use of layer normalisation (before the sub-layer) lets encoders of 25 and 30 layers "
            "train, and beat the wide model by 0.4 to 2.4 BLEU.",
        ),
    ),
    fix=Fix("put the norm before the sub-layers, or use fewer layers"),
    bad=Example("recipe.yaml", _RECIPE.format(place="after")),
    good=Example("recipe.yaml", _RECIPE.format(place="before")),
    tips=("S0-06", "S3-02", "S3-03", "S3-06"),
    symptoms=("loss flat", "diverged", "model learns nothing"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for models that start from scratch."""
    layers, placement = run.setting("layers"), run.setting("norm_placement")
    if (
        layers is None
        or placement is None
        or placement.value != "post"
        or run.value("from_scratch") is not True
    ):
        return
    if layers.value >= _DEEP:
        yield RULE.at(placement if placement.is_written else layers, layers=layers.value)
