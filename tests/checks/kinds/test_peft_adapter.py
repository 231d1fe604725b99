import json

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import NEW, check, describe, document, values
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.peft_adapter import KIND

MODEL = {"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "tie_word_embeddings": True}


def told(beside=(), **settings):
    text = json.dumps(
        {"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-2-7b-hf", **settings}
    )
    return describe(KIND, text, file="adapter_config.json", versions=NEW, beside=beside)


def test_defaults_are_pefts():
    run = told()
    assert values(run, "adapter", "lora_rank", "lora_alpha", "lora_dropout") == ("lora", 8, 8.0, 0.0)
    assert values(run, "rslora", "dora", "lora_init", "ensure_weight_tying") == (
        False,
        False,
        "default",
        False,
    )
    assert values(run, "model_name", "parameters_billion") == ("meta-llama/Llama-2-7b-hf", 7.0)


@for_each(
    ("written", "word"),
    [(True, "default"), (False, "random"), ("pissa_niter_16", "pissa"), ("gaussian", "gaussian"), (3, None)],
)
def test_ways_to_begin_have_one_word_each(written, word):
    assert told(init_lora_weights=written).value("lora_init") == word


@for_each(
    ("settings", "frozen"),
    [
        ({"target_modules": ["q_proj", "v_proj"]}, True),
        ({"target_modules": "all-linear"}, True),
        ({"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens", "lm_head"]}, False),
        ({"target_modules": ["q_proj"], "trainable_token_indices": [5, 6]}, False),
        ({"target_modules": ["model.embed_tokens"]}, False),
        ({"target_modules": ".*proj"}, None),
    ],
)
def test_embeddings_are_frozen_unless_something_trains_them(settings, frozen):
    assert told(**settings).value("frozen_embeddings") is frozen


def test_targets_by_name_are_a_list_and_a_pattern_is_none():
    assert told(target_modules="all-linear").value("lora_targets") == ["all-linear"]
    assert told(target_modules=["q_proj"]).value("lora_targets") == ["q_proj"]
    assert told(target_modules=r".*\.q_proj").value("lora_targets") is None


def test_the_models_and_the_tokenizers_files_beside_it_are_read():
    run = told(
        beside=[
            ("config.json", json.dumps(MODEL)),
            (
                "tokenizer_config.json",
                '{"tokenizer_class": "X", "model_max_length": 5, "pad_token": "<pad>"}',
            ),
        ]
    )
    assert values(run, "vocab_size", "tied_embeddings", "pad_token") == (100, True, "<pad>")
    assert run.setting("vocab_size").origin == "beside"
    assert [other.kind for other in run.nearby] == ["model-config", "tokenizer-config"]


def test_methods_without_a_table_are_named_and_no_more():
    run = told(peft_type="IA3")
    assert run.table is None
    assert values(run, "adapter", "lora_rank") == ("ia3", None)


@given(
    st.dictionaries(
        st.sampled_from(sorted(load_table("peft_lora").keys)),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2)
        ),
        max_size=8,
    )
)
def test_values_of_any_type_never_raise(settings):
    read = document("adapter_config.json", json.dumps({"peft_type": "LORA", **settings}))
    for run in KIND.describe(read, Surroundings()):
        check(run)
