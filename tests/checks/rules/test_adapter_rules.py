import pytest

from tests.checks.rules.exchange import swap
from tests.checks.rules.findings import findings as said
from tests.checks.rules.findings import severities
from trimtab.checks.rules import m101_new_tokens_not_trained as m101
from trimtab.checks.rules import m102_tied_embeddings_trained_apart as m102
from trimtab.checks.rules import m103_adapter_on_attention_only as m103
from trimtab.checks.rules import m104_adapter_scale_extreme as m104
from trimtab.checks.rules import m108_dropout_on_target_parameters as m108
from trimtab.checks.rules import m112_neftune_noise_drowns_embeddings as m112

SCRIPT = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.add_tokens(["<source>", "<target>"])
model = AutoModelForCausalLM.from_pretrained("gpt2")
model.resize_token_embeddings(len(tokenizer))
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=8, target_modules=["c_attn", "c_fc"]))
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)
Trainer(model=model, args=args).train()
"""
LLAMA_FACTORY = (
    "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: all\n"
    "template: qwen\ndataset: alpaca_en_demo\noutput_dir: out\nadd_tokens: '<a>,<b>'\nresize_vocab: true\n"
)


def adapter(rank, alpha, more=""):
    return (
        f'{{"peft_type": "LORA", "r": {rank}, "lora_alpha": {alpha}, "target_modules": "all-linear"{more}}}'
    )


def test_new_tokens_in_a_script_without_trained_embeddings_are_told():
    (found,) = said(m101, "train.py", SCRIPT)
    assert "2 tokens are added (<source>)" in found.finding.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("r=8,", 'r=8, modules_to_save=["wte", "lm_head"],'),
        ("r=8,", "r=8, trainable_token_indices=[50257, 50258],"),
        ('["<source>", "<target>"]', '["[PAD]"]'),
        ("model.resize_token_embeddings(len(tokenizer))\n", ""),
    ],
)
def test_trained_rows_padding_and_a_table_that_is_not_enlarged_are_not(old, new):
    assert not said(m101, "train.py", SCRIPT.replace(old, new))


def test_axolotl_wants_both_embeddings_for_tokens():
    both, one = "[embed_tokens, lm_head]", "[embed_tokens]"
    good = m101.RULE.good
    assert severities(m101, *swap(good, (both, one))) == ["error"]


def test_special_tokens_that_may_be_known_already_are_left_alone():
    text = m101.RULE.bad.text.replace(
        'tokens: ["<source>", "<target>"]', 'special_tokens:\n  pad_token: "<|end|>"'
    )
    assert not said(m101, "lora.yaml", text)
    chatml = 'special_tokens:\n  additional_special_tokens: ["<|im_start|>", "<|im_end|>"]'
    text = m101.RULE.bad.text.replace('tokens: ["<source>", "<target>"]', chatml)
    assert severities(m101, "lora.yaml", text) == ["warning"]
    assert not said(m101, "lora.yaml", text.replace("meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B"))


def test_llama_factory_adds_the_embeddings_itself_unless_other_modules_are_named():
    assert not said(m101, "lora.yaml", LLAMA_FACTORY)
    assert said(m101, "lora.yaml", LLAMA_FACTORY + "additional_target: norm\n")
    assert not said(m101, "lora.yaml", LLAMA_FACTORY + "additional_target: embed_tokens,lm_head\n")


def test_a_config_beside_says_whether_embeddings_are_tied():
    name, text = swap(m102.RULE.bad, ("Qwen/Qwen2.5-0.5B", "./base"))
    model = '{"model_type": "llama", "hidden_size": 64, "tie_word_embeddings": %s}'
    assert said(m102, name, text, beside=[("config.json", model % "true")])
    assert not said(m102, name, text, beside=[("config.json", model % "false")])
    assert not said(m102, name, text)


def test_one_module_outside_attention_is_enough():
    assert not said(m103, *swap(m103.RULE.bad, ('"v_proj"', '"down_proj"')))


def test_parameters_of_experts_count_as_targets_too():
    assert not said(m103, *swap(m103.RULE.bad, ('"r": 16', '"r": 16, "target_parameters": ["experts.up"]')))


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (adapter(16, 16), []),
        (adapter(16, 64), []),
        (adapter(64, 16), []),
        (adapter(8, 64), ["note"]),
        (adapter(8, 256), ["warning"]),
        (adapter(256, 16, ', "use_rslora": true'), []),
        (adapter(256, 256, ', "use_rslora": true'), ["warning"]),
        (adapter(8, 256, ', "alpha_pattern": {"q_proj": 8}'), []),
    ],
)
def test_the_scale_of_an_adapter_is_judged_by_its_distance_from_what_is_usual(text, severity):
    assert severities(m104, "adapter_config.json", text) == severity


def test_dropout_alone_is_no_mistake():
    name, text = swap(m108.RULE.bad, (', "target_parameters": ["mlp.experts.gate_up_proj"]', ""))
    assert not said(m108, name, text)


def test_noise_is_judged_by_the_longest_sequence_only():
    bad = m112.RULE.bad
    assert not said(m112, *swap(bad, ("sequence_len: 24", "sequence_len: 512")))
    assert not said(m112, *swap(bad, ("sequence_len: 24", "sequence_len: 24\nsample_packing: true")))
    assert not said(m112, *swap(bad, ("meta-llama/Llama-3.1-8B", "google/gemma-2-2b")))
