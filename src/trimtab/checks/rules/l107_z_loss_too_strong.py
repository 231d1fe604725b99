"""L107 z-loss-too-strong"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Paper
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_STRONG = 0.01
_KEYS = ("loss.z_loss", "router_z_loss_coef")
_RECIPE = (
    "task: translation\ndata:\n  train: [{{source: train.en, target: train.de}}]\n  valid: {{source: dev.en, "
    "target: dev.de}}\nmodel: {{kind: encoder_decoder, preset: tiny}}\n"
    "loss: {{kind: cross_entropy, z_loss: {value}}}\nlength: 4000 steps\n"
)

RULE = Rule(
    code="L107",
    name="z-loss-too-strong",
    severity="warning",
    message="`{key}` is {value}, {times} times what the papers use (1e-4 on outputs, 1e-3 on routers)",
    why="A z-loss is there to keep the logarithm of the normaliser from drifting off. At this weight it is a "
    "term of its own: log Z of 10 adds {added} nats to the loss, and the model spends its capacity on small "
    "logits.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2309.14322",
            "Uses an auxiliary z-loss with coefficient 1e-4, as PaLM did, which mitigates the divergence of "
            "output logits.",
        ),
        Arithmetic(
            "The term is w * (log Z)^2; with log Z = 10 and w = 0.01 it is 1 nat, with w = 1e-4 it is 0.01."
        ),
    ),
    fix=Fix("set it to 1.0e-4 (router: 1.0e-3)"),
    bad=Example("recipe.yaml", _RECIPE.format(value=0.1)),
    good=Example("recipe.yaml", _RECIPE.format(value="1.0e-4")),
    tips=("S4-07",),
    symptoms=("loss flat", "loss stays high"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires a hundred times above the usual value."""
    for key in _KEYS:
        setting = own(run, key)
        if setting is not None and type(setting.value) in (int, float) and setting.value >= _STRONG:
            usual = 1e-3 if key.startswith("router") else 1e-4
            value = float(setting.value)
            yield RULE.at(
                setting, value=f"{value:g}", times=f"{value / usual:,.0f}", added=f"{100 * value:g}"
            )
