"""What is compared is equally large, and reads the same."""

from argparse import Namespace

import pytest

from tests.benchmarks.open_benchmark import open_benchmark
from trimtab.config.load import load_recipe
from trimtab.model.kinds import model_of

VOCABULARY = 16000


def recipes(script):
    args = Namespace(data=".", vocabulary="vocabulary", tokens=60e6, overrides=[])
    return {
        kind: load_recipe(script.RECIPES / recipe, script.changes(args, kind, 1)).recipe
        for kind, (recipe, _) in script.ARMS.items()
    }


@pytest.mark.slow
def test_all_models_are_equally_large_within_a_hundredth(monkeypatch):
    script = open_benchmark("decoder_only_translation", monkeypatch)
    sizes = {}
    for kind, recipe in recipes(script).items():
        ids = {"num_ids": VOCABULARY, "num_source_ids": VOCABULARY, "max_positions": recipe.data.max_tokens}
        model = model_of(recipe.model, seed=1, **ids)
        sizes[kind] = sum(each.numel() for each in model.parameters())
    assert sizes == pytest.approx(dict.fromkeys(sizes, sizes["encoder_decoder"]), rel=0.01)


def test_all_models_train_alike_on_the_same_pairs(monkeypatch):
    script = open_benchmark("decoder_only_translation", monkeypatch)
    first, *others = recipes(script).values()
    for each in others:
        assert (each.seed, each.length, each.loss) == (first.seed, first.length, first.loss)
        assert (each.step, each.model.dropout) == (first.step, first.model.dropout)
        assert (each.data.train, each.data.valid) == (first.data.train, first.data.valid)
        assert each.data.tokenizer.path == first.data.tokenizer.path
        assert each.data.max_tokens == 2 * first.data.max_tokens == 2 * script.LONGEST
    assert [each.model.prefix for each in others] == ["bidirectional", "causal"]


def test_arms_are_compared_with_the_first(monkeypatch):
    against = open_benchmark("decoder_only_translation", monkeypatch).against_the_first
    arms = {"a": {"parameters": 100, "tokens": 10}, "b": {"parameters": 101, "tokens": 10}}
    assert against(arms) == {"b": {"parameters": pytest.approx(0.01), "tokens": 0.0}}
    assert against({}) == {}
