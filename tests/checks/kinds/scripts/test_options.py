from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.scripts.options import told_options


def told(options):
    script = document("a.sh", f"python train.py {options}\n")
    return {
        name: setting.value
        for name, setting in told_options(script.calls[0], load_table("transformers"), "").items()
    }


@for_each(
    ("options", "values"),
    [
        ("--learning_rate 1e-4", {"learning_rate": 1e-4}),
        ("--seed=7", {"seed": 7}),
        ("--bf16", {"bf16": True}),
        ("--bf16 no", {"bf16": False}),
        ("--output_dir 5", {"output_dir": "5"}),
        ("--label_names a", {"label_names": ["a"]}),
        ("--label_names a b", {"label_names": ["a", "b"]}),
        ("--my_size 5 --my_rate 1e-3 --my_name x --my_nan nan",
         {"my_size": 5, "my_rate": 1e-3, "my_name": "x", "my_nan": "nan"}),
        ("""--lr_scheduler_kwargs '{"a": {"b": 1}}'""",
         {"lr_scheduler_kwargs": {"a": {"b": 1}}, "lr_scheduler_kwargs.a": {"b": 1}, "lr_scheduler_kwargs.a.b": 1}),
        ("--lr_scheduler_kwargs '{broken'", {"lr_scheduler_kwargs": "{broken"}),
        ("--seed $SEED", {}),
    ],
)  # fmt: skip
def test_options_are_read_by_their_types(options, values):
    assert told(options) == values
