from tests.config.tasks.recipes import load, refused
from tests.for_each import for_each
from trimtab.config.load import parse_recipe
from trimtab.config.render import render_recipe

LABELS = {
    "data.train": "[{pairs: a.tsv, source: 1, target: 2}]",
    "data.valid": "{pairs: b.tsv, source: 1, target: 2}",
    "model": "{kind: encoder, preset: tiny}",
    "task": "classification",
}


def test_it_has_defaults_of_its_own_and_loads_again_as_it_is_rendered():
    recipe = load(LABELS).recipe
    assert recipe.evaluate.metrics == ("accuracy", "macro_f1")
    assert recipe.evaluate.best.metric == "accuracy"
    assert (recipe.step.tokens_per_step, recipe.loss.label_smoothing) == (256, 0.0)
    assert not recipe.translates
    assert parse_recipe(render_recipe(recipe)).recipe == recipe


def test_a_step_may_have_fewer_examples_than_a_text_has_tokens():
    assert load(LABELS, **{"step.tokens_per_step": 8}).recipe.step.micro_batch_tokens == 8


@for_each(
    ("changes", "path", "what"),
    [
        ({"model": "{kind: decoder, preset: tiny}"}, "model.kind", "an encoder alone"),
        ({"data.train": "[{text: a.txt}]"}, "data.train.0.text", "no labels"),
        ({"data.valid": "{text: b.txt}"}, "data.valid.text", "no labels"),
        (
            {"data.train": "[{source: a, target: b, both_directions: true, reverse_tags: [<r>]}]"},
            "data.train.0.both_directions",
            "cannot be read",
        ),
        (
            {"data.train": "[{source: a, target: b, tags: [<ui>]}]"},
            "data.train.0.tags",
            "without tags",
        ),
        ({"data.source_tokenizer": "{vocabulary_size: 500}"}, "data.source_tokenizer", "labels are not text"),
        ({"data.tokenizer": "{kind: bytes}"}, "data.tokenizer.kind", "language models"),
        (
            {"data.tokenizer": "{sampling: {kind: subword_regularization, alpha: 0.1}}"},
            "data.tokenizer.sampling",
            "with one segmentation",
        ),
        ({"data.transforms": "[{kind: length, unit: words, max: 5}]"}, "data.transforms.0", "pairs of texts"),
        ({"evaluate.metrics": "[accuracy, bleu]"}, "evaluate.metrics.1", "of translations"),
        ({"export": "[hf]"}, "export", "no export target supports classifiers"),
    ],
)
def test_what_is_for_another_task_is_refused_with_its_place(changes, path, what):
    refused(LABELS, changes, path, what)


def test_its_metrics_are_refused_elsewhere():
    pairs = {**LABELS, "task": "translation", "model": "{preset: tiny}"}
    refused(pairs, {"evaluate.metrics": "[bleu, chrf, accuracy]"}, "evaluate.metrics.2", "of classifiers")
