from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.own_options import is_slip, with_own

TABLE = load_table("transformers")


@for_each(
    ("name", "slip"),
    [
        ("learnig_rate", True),
        ("warmup_step", True),
        ("per_device_train_batchsize", True),
        ("lr_schedular_type", True),
        ("train_batch_size", False),
        ("model_name_or_path", False),
        ("max_source_length", False),
        ("num_epochs", False),
        ("x", False),
    ],
)
def test_a_slip_is_nearly_a_known_name_with_as_many_words(name, slip):
    assert is_slip(name, TABLE) is slip


def test_names_of_a_scripts_own_are_known_and_slips_are_not():
    table = with_own(TABLE, ["learnig_rate", "model_name_or_path", "seed", "a.b"])
    assert table.unknown_keys == "kept"
    assert "model_name_or_path" in table.keys
    assert "learnig_rate" not in table.keys
    assert "a.b" not in table.keys
