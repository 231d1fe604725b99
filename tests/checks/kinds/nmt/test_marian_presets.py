from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.marian import KIND
from trimtab.checks.kinds.nmt.marian_presets import TASKS, implied


@for_each(
    ("preset", "width", "heads", "placement", "rate"),
    [
        ("transformer-base", 512, 8, "post", 3e-4),
        ("transformer-big", 1024, 16, "post", 2e-4),
        ("transformer-base-prenorm", 512, 8, "pre", 3e-4),
        ("[transformer-big-prenorm]", 1024, 16, "pre", 2e-4),
    ],
)
def test_a_preset_sets_what_is_not_written(preset, width, heads, placement, rate):
    run = told(KIND, f"train-sets: [a, b]\ntask: {preset}\ntransformer-dropout: 0.2\n")
    assert values(run, "hidden_size", "heads", "norm_placement", "learning_rate") == (
        width,
        heads,
        placement,
        rate,
    )
    assert (run.value("dropout"), run.setting("heads").is_written) == (0.2, False)
    assert values(run, "clip", "moving_average", "label_smoothing") == (0.0, 1e-4, 0.1)


def test_presets_are_those_of_the_option_and_set_options_that_there_are():
    keys = load_table("marian").keys
    assert set(TASKS) <= set(keys["task"].choices)
    assert all(set(values) <= set(keys) for values in TASKS.values())
    assert implied({}) == {}
