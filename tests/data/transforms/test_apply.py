import pickle

import numpy as np

from tests.for_each import for_each
from trimtab.config.transforms import CharacterRunFilter, LengthFilter, NormalizeTransform, RatioFilter
from trimtab.data.transforms.apply import Dropped, Pipeline, RandomStep, build_transforms

ALL = (
    NormalizeTransform(),
    LengthFilter(min=2, max=5),
    RatioFilter(max=2.0, min_characters=10),
    CharacterRunFilter(max=4),
)


@for_each(
    ("source", "target", "outcome"),
    [
        ("  a  line ", "eine\tZeile", ("a line", "eine Zeile")),
        ("one", "eine Zeile", Dropped("length")),
        ("a line", "eine Zeile, die viel länger ist", Dropped("length")),
        ("a line", "eine sehr lange Zeile dazu", Dropped("ratio")),
        ("a line -----", "eine Zeile -----", Dropped("character_run")),
        ("", "eine Zeile", Dropped("empty_source")),
        ("a line", " \u3000 ", Dropped("empty_target")),
        (" ", "", Dropped("empty_source")),
        ("\x00 \x01", "eine Zeile", Dropped("empty_source")),
    ],
)
def test_a_pair_comes_out_rewritten_or_with_the_reason_for_dropping_it(source, target, outcome):
    assert build_transforms(ALL).apply(source, target) == outcome


def test_without_transforms_only_empty_sides_are_dropped():
    pipeline = build_transforms(())
    assert pipeline.apply(" a ", "b") == (" a ", "b")
    assert pipeline.apply("a", "\t") == Dropped("empty_target")


def test_transforms_run_in_the_order_of_the_recipe():
    run, normal = CharacterRunFilter(max=4), NormalizeTransform()
    pair = ("a         b", "a b")
    assert build_transforms((normal, run)).apply(*pair) == ("a b", "a b")
    assert build_transforms((run, normal)).apply(*pair) == Dropped("character_run")


def test_a_source_to_translate_is_rewritten_but_never_dropped():
    pipeline = build_transforms(ALL)
    assert pipeline.apply_source("  one ------- ") == "one -------"
    assert pipeline.apply_source("") == ""


def test_configured_transforms_need_no_random_numbers():
    assert not build_transforms(ALL).needs_random


def test_a_random_step_draws_from_the_generator_it_is_given():
    def toss(source, target, rng):
        return Dropped("tails") if rng.random() < 0.5 else (source.upper(), target)

    pipeline = Pipeline((*build_transforms(ALL).steps, RandomStep(toss)))
    assert pipeline.needs_random

    def outcomes(seed):
        rng = np.random.default_rng(seed)
        return [pipeline.apply("a line", "eine Zeile", rng) for _ in range(20)]

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert {str(outcome) for outcome in outcomes(1)} == {str(Dropped("tails")), str(("A LINE", "eine Zeile"))}
    assert pipeline.apply_source("a  line") == "a line"


def test_a_random_step_may_leave_a_side_empty_and_the_pair_is_dropped():
    pipeline = Pipeline((RandomStep(lambda source, target, rng: (source, "")),))
    assert pipeline.apply("a", "b", np.random.default_rng(0)) == Dropped("empty_target")


def test_a_pipeline_can_be_handed_to_workers():
    pipeline = pickle.loads(pickle.dumps(build_transforms(ALL)))
    assert pipeline.apply(" a  line", "eine Zeile") == ("a line", "eine Zeile")
