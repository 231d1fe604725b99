from trimtab.config.load import parse_recipe
from trimtab.config.starter import init_recipe
from trimtab.config.starter_text import CLASSIFICATION, LANGUAGE_MODEL


def test_the_starter_of_language_models_loads_without_a_problem():
    recipe = parse_recipe(init_recipe("language_model")).recipe
    assert recipe.facts.continues_texts
    assert recipe.data.train[0].text == "train.txt"
    assert not recipe.translates


def test_it_shows_the_keys_a_beginner_should_know_each_with_a_comment_near():
    positions, lines = parse_recipe(LANGUAGE_MODEL).positions, LANGUAGE_MODEL.splitlines()
    for key in [
        "data.train", "data.valid", "data.tokenizer", "data.max_tokens", "model", "loss", "step.tokens_per_step",
        "step.tokens_per_micro_batch", "step.optimizer", "step.schedule", "step.clip", "length", "evaluate.every",
        "evaluate.best", "evaluate.patience", "checkpoint.every", "export", "seed",
    ]:  # fmt: skip
        assert lines[positions[key].line - 2].lstrip().startswith("#"), key


def test_its_lines_fit_a_screen():
    assert max(len(line) for line in LANGUAGE_MODEL.splitlines()) <= 120


def test_the_starter_of_classifiers_loads_without_a_problem_and_fits_a_screen():
    recipe = parse_recipe(init_recipe("classification")).recipe
    assert (recipe.task, recipe.model.kind) == ("classification", "encoder")
    assert max(len(line) for line in CLASSIFICATION.splitlines()) <= 120
