from trimtab.checks.conversion.without_effect import PATTERNS, is_without_effect, says_nothing
from trimtab.checks.keys.table import load_table
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


def setting(key, value=1):
    return Setting(key=key, value=value, place=Place("f"))


def test_logs_and_kernels_have_no_effect_and_seeds_have_one():
    assert is_without_effect("axolotl", setting("wandb_name"))
    assert is_without_effect("llamafactory", setting("plot_loss"))
    for key in ("seed", "learning_rate", "sequence_len", "unfrozen_parameters", "max_samples"):
        assert not any(is_without_effect(tool, setting(key)) for tool in PATTERNS)


def test_what_is_empty_or_the_default_says_nothing():
    table = load_table("llamafactory", {})
    assert says_nothing(setting("resize_vocab", False), table)
    assert not says_nothing(setting("resize_vocab", True), table)
    assert all(says_nothing(setting("unknown", value), None) for value in (None, "", [], {}, False))
    assert not says_nothing(setting("unknown", 0.5), None)
