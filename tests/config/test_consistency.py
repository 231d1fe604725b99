import pytest

from tests.for_each import for_each
from trimtab.config.consistency import contradictions
from trimtab.config.run import Recipe

PAIR = {"source": "a", "target": "b"}


def found(**changes):
    data = {"train": [PAIR], **changes.pop("data", {})}
    tree = {"data": data, "model": {"preset": "tiny"}, "length": "1000 steps", **changes}
    return [
        (complaint.path, complaint.got, complaint.allowed)
        for complaint in contradictions(Recipe.model_validate(tree))
    ]


def test_defaults_contradict_nothing():
    assert found() == []


@for_each(
    ("step", "complaint"),
    [
        ({"tokens_per_step": 256}, None),
        ({"tokens_per_step": 255}, ("step.tokens_per_step", "255", "at least 256, which is data.max_tokens")),
        ({"tokens_per_micro_batch": 256}, None),
        ({"tokens_per_micro_batch": 255},
         ("step.tokens_per_micro_batch", "255", "at least 256, which is data.max_tokens")),
        ({"batch_warmup": {"start": 256}}, None),
        ({"batch_warmup": {"start": 255}},
         ("step.batch_warmup.start", "255", "at least 256, which is data.max_tokens")),
    ],
)  # fmt: skip
def test_the_longest_example_fits_in_a_step_and_in_a_micro_batch(step, complaint):
    assert found(step=step) == ([complaint] if complaint else [])


def test_the_default_micro_batch_counts_as_well():
    assert found(data={"max_tokens": 9000}) == [
        ("step.tokens_per_micro_batch", "8192", "at least 9000, which is data.max_tokens")
    ]


@for_each(
    ("warmup", "length", "is_wrong"),
    [
        ("1000 steps", "1000 steps", False), ("1001 steps", "1000 steps", True), ("2 epochs", "1 epochs", True),
        ("2000 steps", "1 epochs", False), ("3M tokens", "2M tokens", True), ("1 minutes", "2 minutes", False),
    ],
)  # fmt: skip
def test_a_warmup_ends_before_the_run_where_both_have_one_unit(warmup, length, is_wrong):
    paths = [path for path, _, _ in found(length=length, step={"schedule": {"warmup": warmup}})]
    assert paths == (["step.schedule.warmup"] if is_wrong else [])


def test_a_warmup_that_nobody_wrote_is_said_to_be_the_default():
    assert found(length="100 steps") == [
        ("step.schedule.warmup", "500 steps, the default", "at most 100 steps, which is `length`")
    ]


def test_a_constant_rate_needs_no_warmup():
    assert found(length="10 steps", step={"schedule": {"kind": "constant"}}) == []


def test_the_best_set_is_one_of_the_validation_sets():
    assert found(data={"valid": PAIR}, evaluate={"best": {"set": "valid"}}) == []
    assert found(data={"valid": {"a": PAIR, "b": PAIR}}, evaluate={"best": {"set": "c"}}) == [
        ("evaluate.best.set", "'c'", "a or b")
    ]
    assert found(evaluate={"best": {"set": "c"}}) == [
        ("evaluate.best.set", "'c'", "none, because `data.valid` is empty")
    ]


def test_the_best_metric_is_one_that_is_measured():
    assert found(evaluate={"metrics": ["bleu"], "best": {"metric": "bleu"}}) == []
    assert found(evaluate={"metrics": [], "best": {"metric": "loss"}}) == []
    assert found(evaluate={"metrics": ["bleu"], "best": {"metric": "chrf"}}) == [
        ("evaluate.best.metric", "chrf", "bleu or loss")
    ]
    assert found(evaluate={"metrics": ["bleu"]}) == [
        ("evaluate.best.metric", "chrf, the default", "bleu or loss")
    ]


def test_the_same_files_twice_are_a_mistake_and_different_columns_are_not():
    assert [path for path, _, _ in found(data={"train": [PAIR, {**PAIR, "weight": 2}]})] == ["data.train.1"]
    columns = [{"pairs": "p.tsv", "source": 1, "target": 2}, {"pairs": "p.tsv", "source": 1, "target": 3}]
    assert found(data={"train": columns}) == []


def test_two_corpora_have_two_names():
    train = [{**PAIR, "name": "x"}, {"source": "c", "target": "d", "name": "x"}]
    assert found(data={"train": train}) == [("data.train.1.name", "'x'", "")]


def test_a_vocabulary_has_room_beside_the_bytes():
    assert found(data={"tokenizer": {"vocabulary_size": 261}}) == []
    assert found(data={"tokenizer": {"vocabulary_size": 260, "byte_fallback": False}}) == []
    assert found(data={"tokenizer": {"vocabulary_size": 260, "path": "spm.model"}}) == []
    assert [path for path, _, _ in found(data={"tokenizer": {"vocabulary_size": 260}})] == [
        "data.tokenizer.vocabulary_size"
    ]


def test_all_contradictions_come_at_once():
    paths = [
        path
        for path, _, _ in found(length="10 steps", step={"tokens_per_step": 10}, evaluate={"metrics": []})
    ]
    assert paths == ["step.tokens_per_step", "step.schedule.warmup", "evaluate.best.metric"]


@pytest.mark.parametrize(
    ("tags", "complaint"),
    [
        (["<2b>"], None),
        (["<2a>"], None),
        (["<2c>"], ("data.valid.tags", "<2c>", "<2a> or <2b>")),
    ],
)
def test_a_validation_set_has_tags_that_are_trained_with(tags, complaint):
    both = {**PAIR, "tags": ["<2b>"], "both_directions": True, "reverse_tags": ["<2a>"]}
    data = {"train": [both], "valid": {"source": "c", "target": "d", "tags": tags}}
    assert found(data=data) == ([complaint] if complaint else [])


def test_the_sources_own_vocabulary_needs_a_matrix_of_its_own():
    own = {"source_tokenizer": {"vocabulary_size": 300}}
    path, got, allowed = found(data=own)[0]
    assert path == "model.tie_embeddings"
    assert got == "all, the default, beside `data.source_tokenizer`"
    assert allowed.startswith("decoder")
    assert found(data=own, model={"preset": "tiny", "tie_embeddings": "all"})[0][1].startswith("all, beside")
    for tied in ("decoder", "none"):
        assert found(data=own, model={"preset": "tiny", "tie_embeddings": tied}) == []


def test_both_directions_need_one_vocabulary():
    both = {**PAIR, "tags": ["<2b>"], "both_directions": True, "reverse_tags": ["<2a>"]}
    model = {"preset": "tiny", "tie_embeddings": "decoder"}
    data = {"train": [both], "source_tokenizer": {"vocabulary_size": 300}}
    assert [path for path, _, _ in found(data=data, model=model)] == ["data.train.0.both_directions"]


def test_each_vocabulary_has_room_for_bytes():
    data = {"source_tokenizer": {"vocabulary_size": 200}}
    paths = [path for path, _, _ in found(data=data, model={"preset": "tiny", "tie_embeddings": "none"})]
    assert paths == ["data.source_tokenizer.vocabulary_size"]


def test_an_average_that_is_evaluated_is_kept():
    assert found(evaluate={"weights": "ema"}) == [
        ("evaluate.weights", "ema, without `step.ema`", "raw, or ema with `step.ema`")
    ]
    assert found(evaluate={"weights": "ema"}, step={"ema": {}}) == []


@for_each(
    ("ema", "refreshes"),
    [
        ({"warmup": False}, 1000),
        ({"warmup": False, "every": 10}, 100),
        ({"warmup": False, "decay": 0.99}, None),
        ({"warmup": True}, None),
    ],
)
def test_an_average_forgets_the_first_weights_before_the_run_ends(ema, refreshes):
    complaints = found(step={"ema": ema})
    assert [path for path, _, _ in complaints] == (["step.ema.decay"] if refreshes else [])
    assert all(f"for {refreshes} refreshes" in got for _, got, _ in complaints)
    assert found(step={"ema": ema}, length="3 epochs") == []
    start = {"preset": "tiny", "warm_start": "run"}
    assert found(step={"ema": ema}, model=start) == [], "those of a warm start are worth something"


@for_each(
    ("ema", "length", "refreshes"),
    [
        ({"every": 2000}, 1000, 0),
        ({"every": 300, "decay": 0.9}, 1000, 3),
        ({"every": 100}, 1000, None),
        ({"every": 500, "decay": 0.5, "warmup": False}, 1000, 2),
        ({"every": 1, "decay": 0.5, "warmup": False}, 1000, None),
    ],
)
def test_an_average_that_is_refreshed_too_seldom_is_told_by_how_often(ema, length, refreshes):
    complaints = found(step={"ema": ema}, length=f"{length} steps")
    assert [path for path, _, _ in complaints] == ([] if refreshes is None else ["step.ema.every"])
    assert all(f"so {refreshes} refreshes in {length} steps" in got for _, got, _ in complaints)


@for_each(
    ("tied", "output", "got"),
    [
        ({}, 1.0, None),
        ({}, 0.5, "0.5, with `model.tie_embeddings: all`, the default"),
        ({"tie_embeddings": "decoder"}, 0.5, "0.5, with `model.tie_embeddings: decoder`"),
        ({"tie_embeddings": "none"}, 0.5, None),
    ],
)
def test_a_tied_output_has_no_rate_of_its_own(tied, output, got):
    optimizer = {"kind": "adamw", "learning_rate_multipliers": {"output": output, "hidden": 0.5}}
    complaints = found(model={"preset": "tiny", **tied}, step={"optimizer": optimizer})
    path = "step.optimizer.learning_rate_multipliers.output"
    assert complaints == ([(path, got, "1, or `model.tie_embeddings: none`")] if got else [])


@pytest.mark.parametrize("tied", [True, False])
def test_nor_has_that_of_a_language_model(tied):
    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "a"}]},
        "model": {"kind": "decoder", "preset": "tiny", "tie_embeddings": tied},
        "step": {"optimizer": {"kind": "sgd", "learning_rate_multipliers": {"output": 2}}},
        "length": "1000 steps",
    }
    complaints = contradictions(Recipe.model_validate(tree))
    assert [(each.got, each.allowed) for each in complaints] == (
        [("2, with `model.tie_embeddings: true`", "1, or `model.tie_embeddings: false`")] if tied else []
    )


@pytest.mark.parametrize(
    ("evaluate", "complaint"),
    [
        ({"patience": 3, "stop_on": {"all": ["chrf", "loss"]}}, None),
        ({"stop_on": {"any": ["loss"]}}, ("evaluate.stop_on", "no patience", "beside `evaluate.patience`")),
        (
            {"patience": 3, "stop_on": {"any": ["ter"]}},
            ("evaluate.stop_on.any", "ter", "bleu or chrf or loss"),
        ),
    ],
)
def test_early_stopping_watches_metrics_that_are_measured(evaluate, complaint):
    assert found(evaluate=evaluate) == ([complaint] if complaint else [])


@for_each(
    ("step", "is_wrong"),
    [
        ({"gradients": "released", "tokens_per_step": 8192}, True),
        ({"recompute": "block"}, True),
        ({"recompute": "feed_forward"}, False),
        ({}, False),
    ],
)
def test_steps_are_not_to_be_recorded_where_they_cannot_be(step, is_wrong):
    paths = [path for path, *_ in found(step={**step, "cuda_graph": "on"})]
    assert paths == (["step.cuda_graph"] if is_wrong else [])
    assert found(step={**step, "cuda_graph": "auto"}) == []


def test_layers_that_skip_by_chance_are_not_recorded_where_they_are_computed_again():
    step = {"recompute": "block", "stochastic_depth": 0.2, "cuda_graph": "on"}
    model = {"kind": "encoder_decoder", "preset": "tiny", "dropout": 0.0}
    assert [path for path, *_ in found(model=model, step=step)] == ["step.cuda_graph"]
    assert found(model=model, step={**step, "recompute": "none"}) == []
