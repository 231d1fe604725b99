"""Every fix that a message offers for a recipe leads to one with fewer problems, and none back to where it began."""

import random
import re
from itertools import product

import pytest

from tests.language_run import language_recipe
from tests.small_run import small_recipe
from trimtab.config.export_targets import obstacles
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

ENCODER_DECODER = {
    "model.tie_embeddings": ("all", "decoder", "none"),
    "model.norm_position": ("before", "after"),
    "model.positions": ("sinusoidal", "learned", "rotary"),
    "model.decoder_positions": (None, "none", "alibi"),
    "model.norm": ("layer", "rms"),
    "model.activation": ("relu", "swiglu"),
    "data.source_tokenizer": (None, {"vocabulary_size": 300}),
    "data.train.0.both_directions": (None, True),
    "export": (["hf"], ["ctranslate2"], ["onnx", "hf"]),
}
DECODER = {
    "model.positions": ("rotary", "learned", "alibi"),
    "model.norm": ("rms", "layer"),
    "model.norm_position": ("before", "after"),
    "model.activation": ("swiglu", "relu"),
    "model.bias": (False, True),
    "model.qk_norm": (False, True),
    "export": (["hf"], ["torch_export"], ["hf", "torch_export"]),
}
SETTING = re.compile(r"`([a-z_]+\.[\w.]+): ([^`]+)`")


def recipes(choices, *, count):
    """Some of the combinations, always the same."""
    every = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    return random.Random(1).sample(every, min(count, len(every)))


def problems(text, overrides=()):
    """What is wrong with a recipe, as it is told: contradictions first, and then what its exports cannot express."""
    try:
        recipe = parse_recipe(text, overrides=overrides).recipe
    except InputError as error:
        return list(error.problems)
    transforms = recipe.data.transforms
    found = [
        each for to in recipe.export for each in obstacles(to, model=recipe.model, transforms=transforms)
    ]
    return list(dict.fromkeys(found))


def measure(text, overrides=()):
    """How far a recipe is from one without problems. A contradiction hides what the exports say, so each of them weighs
    more; what always gets less cannot come back."""
    try:
        parse_recipe(text, overrides=overrides)
    except InputError as error:
        return (len(error.problems), 0)
    return (0, len(problems(text, overrides)))


def offered(fix):
    """The overrides that a fix names, an alternative at a time; what names no value is left to the reader."""
    for alternative in re.split(r",? or ", fix):
        if settings := SETTING.findall(alternative):
            yield [f"{key}={value}" for key, value in settings]


@pytest.mark.quick("two")
@pytest.mark.parametrize(
    ("make", "choices"), [(small_recipe, ENCODER_DECODER), (language_recipe, DECODER)], ids=["two", "one"]
)
def test_every_fix_leads_to_fewer_problems(tmp_path, make, choices):
    tried = set()
    for changes in recipes(choices, count=25):
        text = make(tmp_path, **changes).read_text()
        for problem in problems(text):
            for overrides in offered(problem.fix):
                assert measure(text, overrides) < measure(text), (changes, overrides, problem.fix)
                tried |= {*overrides}
    assert len(tried) >= 5


def test_two_vocabularies_for_transformers_are_offered_what_works(tmp_path):
    """`all` was answered by `decoder`, and `decoder` by `all`."""
    changes = {"data.source_tokenizer": {"vocabulary_size": 300}, "export": ["hf"]}
    text = small_recipe(tmp_path, **changes).read_text()
    (problem,) = problems(text)
    overrides = next(offered(problem.fix))
    assert overrides == ["model.tie_embeddings=decoder", "model.norm_position=after"]
    assert problems(text, overrides) == []
