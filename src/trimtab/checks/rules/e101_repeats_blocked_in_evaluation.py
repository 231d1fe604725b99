"""E101 repeats-blocked-in-evaluation"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_HIGH = 1.15
"""Published chat models have penalties up to 1.1; what is above it hides repetition."""
_JSON = '{{"num_beams": 4, "no_repeat_ngram_size": {size}, "eos_token_id": 2, "decoder_start_token_id": 2}}'

RULE = Rule(
    code="E101",
    name="repeats-blocked-in-evaluation",
    severity="note",
    message="`{key}: {value}` keeps repeated words out of what is decoded",
    why="A model that has collapsed to one phrase, or is undertrained, looks better than it is: the first "
    "sign of either is repetition. It also forbids what is right, names and numbers that the source has "
    "twice.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2206.02369",
            "Language models prefer to repeat the previous sentence, and the more often a sentence was "
            "repeated the more likely it is again; training against it fixes more than decoding does.",
        ),
    ),
    fix=Fix(
        "while training, evaluate with `{key}` switched off, or report the rate of repeats without it as well"
    ),
    bad=Example("generation_config.json", _JSON.format(size=3)),
    good=Example("generation_config.json", _JSON.format(size=0)),
    aliases=("GEN001",),
    tips=("S0-46", "S0-47"),
    symptoms=("repeats the same words", "repeats"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is written."""
    size, penalty = run.setting("no_repeat_ngram"), run.setting("repetition_penalty")
    if size is not None and size.value > 0:
        yield from _at(size)
    elif penalty is not None and penalty.value >= _HIGH:
        yield from _at(penalty)


def _at(setting: Setting) -> Iterator[Diagnosis]:
    if setting.is_written:
        yield RULE.at(setting, value=f"{setting.value:g}")
