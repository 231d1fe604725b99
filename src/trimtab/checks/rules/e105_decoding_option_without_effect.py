"""E105 decoding-option-without-effect"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RemoveKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_JSON = '{{"num_beams": {beams}, "length_penalty": 1.5, "eos_token_id": 2, "decoder_start_token_id": 2}}'

RULE = Rule(
    code="E105",
    name="decoding-option-without-effect",
    severity="warning",
    message="`{key}: {value}` has no effect without {needs}",
    why="Each way of decoding reads its own options. Whoever tunes this one compares a setting with itself.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/generation/"
            "configuration_utils.py",
            "`validate` names `early_stopping` and `length_penalty` as 'only used in beam-based generation "
            "modes', and `temperature`, `top_p`, `top_k` and others as 'only used in sample-based "
            "generation modes'.",
        ),
    ),
    fix=Fix("set {needs}, or remove `{key}`", safety="same training"),
    bad=Example("generation_config.json", _JSON.format(beams=1)),
    good=Example("generation_config.json", _JSON.format(beams=4)),
    symptoms=("a setting has no effect",),
)
_OF_BEAMS: dict[str, object] = {"length_penalty": 1.0, "early_stopping": False}
_OF_SAMPLING: dict[str, object] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 50,
    "typical_p": 1.0,
    "min_p": None,
}
"""Options with the value at which they do nothing."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a `generation_config.json`, which holds all that decodes."""
    if run.kind != "generation-config":
        return
    beams, sampling = run.written("num_beams"), run.written("do_sample")
    if beams is None or beams.value in (None, 1):
        yield from _idle(run, _OF_BEAMS, "`num_beams` above 1")
    if sampling is None or sampling.value in (None, False):
        yield from _idle(run, _OF_SAMPLING, "`do_sample: true`")


def _idle(run: Description, options: dict[str, object], needs: str) -> Iterator[Diagnosis]:
    for key, neutral in options.items():
        setting = run.written(key)
        if setting is not None and setting.value is not None and setting.value != neutral:
            value = str(setting.value).lower()
            yield RULE.at(setting, edits=(RemoveKey(setting.key),), value=value, needs=needs)
