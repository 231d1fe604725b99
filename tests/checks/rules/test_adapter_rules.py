import pytest

from tests.checks.examined import diagnosed
from tests.checks.rules.exchange import swap
from tests.checks.rules.findings import findings as said
from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rule import Example
from trimtab.checks.rules import c114_unknown_choice, c118_adapter_refused
from trimtab.checks.rules import m101_new_tokens_not_trained as m101
from trimtab.checks.rules import m102_tied_embeddings_trained_apart as m102
from trimtab.checks.rules import m103_adapter_on_attention_only as m103
from trimtab.checks.rules import m104_adapter_scale_extreme as m104
from trimtab.checks.rules import m106_adapter_starts_random as m106
from trimtab.checks.rules import m108_dropout_on_target_parameters as m108
from trimtab.checks.rules import m112_neftune_noise_drowns_embeddings as m112
from trimtab.checks.rules import m120_quantised_weights_without_adapter as m120

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
    assert "2 tokens are added (<source>, <target>)" in found.finding.message


@for_each(
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


@for_each(
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


@for_each(
    ("rest", "count"),
    [
        ("set_peft_model_state_dict(model, converted)\nmodel.save_pretrained('out')\n", 0),
        ("from transformers import Trainer\nTrainer(model=model).train()\n", 1),
        ("from transformers import TrainingArguments\nargs = TrainingArguments('out')\n", 1),
        ("from trl import SFTConfig\nargs = SFTConfig('out')\n", 1),
        ("for batch in batches:\n    model(**batch).loss.backward()\n", 1),
    ],
)
def test_a_script_that_only_converts_may_start_from_random_numbers(rest, count):
    text = (
        "from peft import LoraConfig, get_peft_model, set_peft_model_state_dict\n"
        "model = get_peft_model(base, LoraConfig(r=8, lora_alpha=8, init_lora_weights=False, "
        "target_modules=['q']))\n"
    )
    found = {(each.place.line, each.key) for each in said(m106, "convert.py", text + rest)}
    assert len(found) == count


def test_a_model_of_reference_may_be_quantised():
    text = (
        "from transformers import AutoModelForCausalLM\nfrom trl import DPOConfig, DPOTrainer\n"
        "model = AutoModelForCausalLM.from_pretrained('gpt2', load_in_8bit=True)\n"
        "trainer = DPOTrainer({}, args=DPOConfig(output_dir='out'))\n"
    )
    assert severities(m120, "dpo.py", text.format("model=model")) == ["error"]
    assert severities(m120, "dpo.py", text.format("'gpt2', ref_model=model")) == []


TOKENS = '{{"tokenizer_class": "a", "model_max_length": 8, "added_tokens_decoder": {{{}}}}}'
MODEL = '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "vocab_size": 512}'


@for_each(
    ("ids", "more", "count"),
    [
        ({511: "<a>"}, "", 0),
        ({512: "<a>"}, "", 1),
        ({512: "<pad>"}, "", 0),
        ({512: "<a>"}, ', "modules_to_save": null', 1),
        ({512: "<a>"}, ', "modules_to_save": ["embed_tokens", "lm_head"]', 0),
        ({512: "<a>"}, ', "trainable_token_indices": {"embed_tokens": [512]}', 0),
    ],
)
def test_tokens_without_a_row_in_the_model_beside_are_trained_by_the_adapter_or_not_at_all(ids, more, count):
    tokens = TOKENS.format(", ".join(f'"{id}": {{"content": "{token}"}}' for id, token in ids.items()))
    text = '{"peft_type": "LORA", "r": 8, "lora_alpha": 8, "target_modules": ["q_proj"]' + more + "}"
    beside = (("config.json", MODEL), ("tokenizer_config.json", tokens))
    example = Example("adapter_config.json", text, beside=beside)
    assert [each.finding.severity for each in diagnosed(m101.check, example)] == ["warning"] * count


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ('["<a>"]', "1 token is added (<a>)"),
        ('["<a>", "<b>"]', "2 tokens are added (<a>, <b>)"),
        ('["<a>", "<b>", "<c>", "<d>", "<e>"]', "5 tokens are added (<a>, <b>, <c>, ...)"),
    ],
)
def test_the_tokens_are_told_by_name(tokens, words):
    (found,) = said(m101, *swap(m101.RULE.bad, ('["<source>", "<target>"]', tokens)))
    assert words in found.finding.message


@for_each(
    ("rank", "alpha", "severity"),
    [(1, 32, ["note"]), (2, 64, ["note"]), (4, 128, ["warning"]), (8, 256, ["warning"]), (8, 32, [])],
)
def test_a_fixed_alpha_over_a_tiny_rank_is_only_worth_knowing(rank, alpha, severity):
    assert severities(m104, "adapter_config.json", adapter(rank, alpha)) == severity


AXOLOTL = (
    "base_model: NousResearch/Meta-Llama-3-8B\ndatasets: [{path: a.jsonl, type: alpaca}]\nmicro_batch_size: 1\n"
    "adapter: lora\nlora_r: 16\nlora_alpha: 16\n"
)


@for_each(
    ("targets", "told"),
    [
        ("[q_proj, 'v.*[']", ["error"]),
        ("['(q|k_proj']", ["error"]),
        ("['*_proj']", ["error"]),
        ("[q_proj, 'layers.(0|1).v_proj', 'v{2,1}']", ["error"]),
        ("['?']", ["error"]),
        ("[q_proj, v_proj]", []),
        ("['.*[qv]_proj']", []),
        ("'v.*['", []),
    ],
)
def test_axolotl_takes_target_modules_for_regular_expressions(targets, told):
    text = f"{AXOLOTL}lora_target_modules: {targets}\n"
    assert severities(c118_adapter_refused, "axolotl.yaml", text, versions="axolotl=0.18.0") == told
    assert severities(c118_adapter_refused, "axolotl.yaml", text, versions="axolotl=0.10.0") == []


@for_each(
    ("kernel", "told"),
    [
        ("flash_attn_9", ["error"]),
        ("flash", ["error"]),
        ("flash-attention-2", ["error"]),
        ("sage_attention", ["error"]),
        ("cudnn", ["error"]),
        ("flash_attention_2", []),
        ("sdpa", []),
        ("kernels-community/flash-attn3", []),
    ],
)
def test_axolotl_knows_its_attention_kernels(kernel, told):
    text = f"{AXOLOTL}attn_implementation: {kernel}\n"
    assert severities(c114_unknown_choice, "axolotl.yaml", text, versions="axolotl=0.18.0") == told
