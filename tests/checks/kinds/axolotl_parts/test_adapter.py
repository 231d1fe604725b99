from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.axolotl import KIND

HEAD = "base_model: a\ndatasets: [{path: b}]\nlearning_rate: 1e-4\n"


def run(more=""):
    return told(KIND, HEAD + more)


def test_without_an_adapter_everything_is_trained():
    assert values(run(), "adapter", "frozen_embeddings", "lora_rank") == ("none", False, None)


def test_the_options_of_lora_are_told():
    more = "adapter: lora\nlora_r: 8\nlora_alpha: 16\npeft_use_rslora: true\nlora_target_modules: [q_proj, v_proj]\n"
    assert values(run(more), "lora_rank", "lora_alpha", "lora_dropout", "rslora") == (8, 16.0, 0.0, True)
    assert run(more).value("lora_targets") == ["q_proj", "v_proj"]


@for_each(
    ("more", "is_frozen"),
    [
        ("lora_target_linear: true\n", True),
        ("lora_target_modules: [q_proj]\n", True),
        ("lora_target_modules: [q_proj, embed_tokens]\n", False),
        ("lora_target_modules: [q_proj]\nlora_modules_to_save: [embed_tokens, lm_head]\n", False),
        ("lora_target_modules: [q_proj]\npeft_trainable_token_indices: [5]\n", False),
        ("lora_target_modules: model.layers.*q_proj\n", None),
    ],
)
def test_embeddings_are_frozen_unless_something_trains_them(more, is_frozen):
    assert run("adapter: lora\n" + more).value("frozen_embeddings") is is_frozen


@for_each(
    ("more", "word"),
    [
        ("", "default"),
        ("peft_init_lora_weights: pissa_niter_16\n", "pissa"),
        ("peft_init_lora_weights: false\n", "random"),
        ("peft: {loftq_config: {loftq_bits: 4}}\n", "loftq"),
    ],
)
def test_the_first_weights_of_an_adapter_have_a_word(more, word):
    assert run("adapter: lora\n" + more).value("lora_init") == word


def test_partly_frozen_models_say_whether_their_embeddings_are():
    assert run("unfrozen_parameters: ['^lm_head.weight$']\n").value("frozen_embeddings") is True
    assert run("unfrozen_parameters: ['^model.embed_tokens.weight$']\n").value("frozen_embeddings") is None
