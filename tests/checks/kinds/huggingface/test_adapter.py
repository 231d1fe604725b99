from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.huggingface.adapter import adapter_concepts, lora_init

LORA = load_table("peft_lora")


def test_what_is_not_written_has_pefts_default():
    told = words(adapter_concepts(written(table=LORA), "lora"))
    assert (told["adapter"], told["lora_rank"], told["lora_alpha"], told["rslora"]) == ("lora", 8, 8.0, False)
    assert told["frozen_embeddings"] is True


def test_without_a_whole_configuration_nothing_is_claimed():
    told = words(adapter_concepts(written(table=LORA, is_whole=False, r=4), "lora"))
    assert (
        told == {"adapter": "lora", "lora_rank": 4, "trainable_token_indices": False}
        or "lora_alpha" not in told
    )
    assert "frozen_embeddings" not in told


def test_hidden_targets_leave_the_embeddings_open():
    assert "frozen_embeddings" not in adapter_concepts(written(table=LORA, hidden=["target_modules"]), "lora")


def test_other_methods_have_no_rank():
    assert words(adapter_concepts(written(r=4, modules_to_save=["x"]), "oft")) == {
        "adapter": "oft",
        "modules_to_save": ["x"],
    }


@for_each(
    ("value", "word"),
    [(True, "default"), (False, "random"), ("PiSSA", "pissa"), ("loftq", "loftq"), (None, None)],
)
def test_ways_to_begin_have_words(value, word):
    assert lora_init(value) == word
