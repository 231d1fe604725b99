"""L118 prior-not-divided"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_FILE = (
    "save_model: run/model\ndata:\n  corpus: {{path_src: a.en, path_tgt: a.de}}\nsrc_vocab: v.src\ntgt_vocab: v.tgt\n"
    "normalization: tokens\naccum_count: [{count}]\naccum_steps: [0]\noptim: adam\nlearning_rate: 2\n"
    "decay_method: noam\ntrain_steps: 100000\nlm_prior_model: lm.pt\nlm_prior_lambda: 0.5\n"
)

RULE = Rule(
    code="L118",
    name="prior-not-divided",
    severity="warning",
    message="the loss of `lm_prior_model` is not divided as the main loss is: with an accumulation of {count} it "
    "weighs more",
    why="OpenNMT-py divides the sum of the main loss by the tokens of all accumulated batches; the prior's term "
    "is normalised "
    "by its own batch and added for each of them.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/pull/2209",
            "Auxiliary losses and their normalisation with accumulation.",
            opened=False,
        ),
        Arithmetic(
            "Four micro-batches of n tokens: the main loss is divided by 4n, four terms of the prior by n each."
        ),
    ),
    fix=Fix("divide `lm_prior_lambda` by {count}, or set `accum_count: [1]`"),
    bad=Example("onmt.yaml", _FILE.format(count=4)),
    good=Example("onmt.yaml", _FILE.format(count=1)),
    symptoms=("loss grows with gradient accumulation", "loss is too high with accumulation"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for OpenNMT-py with a prior and more than one batch a step."""
    prior, count = run.written("lm_prior_model"), run.value("accumulation")
    if run.tool == "opennmt" and prior is not None and prior.value and count is not None and count > 1:
        yield RULE.at(prior, count=count)
