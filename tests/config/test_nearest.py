from tests.for_each import for_each
from trimtab.config.nearest import (
    MOST,
    WORDS_OF_OTHERS,
    did_you_mean,
    likeness,
    nearest_keys,
    nearest_words,
)
from trimtab.config.places import keys_of, known_keys
from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig


def test_the_words_of_other_tools_lead_to_keys_that_exist():
    unknown = [key for key in WORDS_OF_OTHERS.values() if key not in known_keys()]
    assert unknown == []


@for_each(
    ("path", "suggested"),
    [
        ("lenght", ["length"]),
        ("learning_rate", ["step.optimizer.learning_rate"]),
        ("Learning-Rate", ["step.optimizer.learning_rate"]),
        ("lr", ["step.optimizer.learning_rate"]),
        ("vocab_size", ["data.tokenizer.vocabulary_size"]),
        ("vocabulary_sizes", ["data.tokenizer.vocabulary_size", "data.source_tokenizer.vocabulary_size"]),
        ("every", ["evaluate.every", "checkpoint.every", "step.ema.every"]),
        ("kind", []),
        ("xyzzy", []),
        ("optimizer", ["step.optimizer"]),
    ],
)
def test_an_unknown_key_of_the_whole_recipe_finds_its_place(path, suggested):
    assert nearest_keys(path, keys_of(Recipe)) == suggested


@for_each(
    ("name", "suggested"),
    [
        ("tokens_per_microbatch", "step.tokens_per_micro_batch"),
        ("token_per_step", "step.tokens_per_step"),
        ("schedul", "step.schedule"),
        ("prec", "step.precision"),
        ("batch_size", "step.tokens_per_step"),
        ("metrics", "evaluate.metrics"),
    ],
)
def test_an_unknown_key_of_a_group_prefers_a_sibling(name, suggested):
    assert nearest_keys(f"step.{name}", keys_of(StepConfig))[:1] == [suggested]


def test_suggestions_are_few():
    for word in ["source", "min", "max", "kind", "name", "path", "warmup"]:
        assert len(nearest_keys(word, keys_of(Recipe))) <= MOST


def test_words_are_ordered_by_likeness_and_cut_off():
    assert nearest_words("bf16", ["auto", "fp32", "bf16_mixed", "fp16_mixed"], cutoff=0.5)[0] == "bf16_mixed"
    assert nearest_words("zzz", ["auto", "fp32"]) == []


def test_likeness_ignores_case_and_hyphens_and_knows_beginnings():
    assert likeness("Label-Smoothing", "label_smoothing") == 1
    assert likeness("vocab", "vocabulary_size") >= 0.8
    assert likeness("smoothing", "label_smoothing") >= 0.8
    assert likeness("a", "b") == 0
    assert likeness("a" * 201, "a" * 202) == 0  # a million letters against some hundred keys took minutes


def test_the_question_names_each_suggestion():
    assert did_you_mean([]) == ""
    assert did_you_mean(["a"]) == "did you mean `a`?"
    assert did_you_mean(["a", "b"]) == "did you mean `a` or `b`?"
