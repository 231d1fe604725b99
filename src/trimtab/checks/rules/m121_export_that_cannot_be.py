"""M121 export-that-cannot-be"""

from collections.abc import Iterator
from pathlib import Path

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_RECIPE = (
    "task: translation\ndata:\n  train: [{{source: train.en, target: train.de}}]\n"
    "  valid: {{source: dev.en, target: dev.de}}\nmodel: {{preset: small, norm: rms, activation: swiglu}}\n"
    "length: 4000 steps\nexport: [{target}]\n"
)

RULE = Rule(
    code="M121",
    name="export-that-cannot-be",
    severity="error",
    message="an export for {target} is wanted, and it cannot express `{key}`: {got}",
    why="A library computes only what its classes have. Nothing can be changed after training, so that the "
    "model could not be exported; `trimtab train` refuses the recipe too.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/pegasus/modeling_pegasus.py",
            "The class with the norm before each sub-layer has nn.LayerNorm, one activation from the "
            "configuration and no gate; positions are a table that is added.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/CTranslate2/blob/0d8bcd36/python/ctranslate2/specs/transformer_spec.py",
            "The specification has RMSNorm, gated feed-forward blocks, rotary positions and shared heads of keys; a "
            "translator takes pieces, and knows nothing of what was done to the text before.",
        ),
    ),
    fix=Fix("{fix}; it could be exported with {allowed}"),
    bad=Example("recipe.yaml", _RECIPE.format(target="hf")),
    good=Example("recipe.yaml", _RECIPE.format(target="ctranslate2")),
    symptoms=("cannot be exported", "export is refused"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for recipes of our own that say what the model is meant for; one finding for each key and target."""
    wanted = run.written("export")
    if run.tool != "trimtab" or wanted is None:
        return
    from trimtab.config.export_targets import obstacles
    from trimtab.config.load import parse_recipe

    recipe = parse_recipe(run.document.text, path=Path(run.document.path)).recipe
    for target in recipe.export:
        for problem in obstacles(
            target, model=recipe.model, transforms=recipe.data.transforms, factors=recipe.data.source_factors
        ):
            key = problem.what.partition(":")[0]
            yield RULE.at(
                run.written(key) or wanted,
                target=target,
                key=key,
                got=problem.got,
                allowed=problem.allowed,
                fix=problem.fix,
            )
