from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.evaluation import put_evaluation, put_saving


@for_each(
    ("settings", "told"),
    [
        ({"eval_strategy": "epoch", "eval_steps": 5}, {"eval_strategy": "epoch"}),
        ({"eval_strategy": "steps", "eval_steps": 5}, {"eval_strategy": "steps", "eval_steps": 5.0}),
        (
            {"eval_strategy": "steps", "eval_steps": None, "logging_steps": 7},
            {"eval_strategy": "steps", "eval_steps": 7.0},
        ),
        ({"eval_strategy": "steps"}, {"eval_strategy": "steps"}),
        ({"evaluation_strategy": "no"}, {"eval_strategy": "no"}),
        (
            {"generation_num_beams": 4, "predict_with_generate": True},
            {"beam": 4, "predict_with_generate": True},
        ),
    ],
)
def test_evaluation_is_told(settings, told):
    found = {}
    put_evaluation(found, written(**settings))
    assert words(found) == told


@for_each(
    ("settings", "told"),
    [
        ({"save_strategy": "steps", "save_steps": 0.1}, {"save_strategy": "steps", "save_steps": 0.1}),
        ({"save_strategy": "epoch", "save_steps": 5}, {"save_strategy": "epoch"}),
        ({"save_total_limit": 2}, {"keep_checkpoints": 2}),
        ({"save_total_limit": 0}, {}),
        ({"save_total_limit": None}, {}),
    ],
)
def test_saving_is_told(settings, told):
    found = {}
    put_saving(found, written(**settings))
    assert words(found) == told
