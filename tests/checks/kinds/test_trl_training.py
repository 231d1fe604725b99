from tests.checks.kinds.describing import NEW, OLD, describe, document, values
from tests.for_each import for_each
from trimtab.checks.kinds.trl_training import KIND, trainer_of

SFT = """model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: trl-lib/Capybara
output_dir: out
per_device_train_batch_size: 2
packing: true
learning_rate: 1e-4
use_peft: true
lora_r: 32
"""


def test_a_file_for_trl_has_trls_own_defaults():
    run = describe(KIND, SFT.replace("learning_rate: 1e-4\n", ""), file="sft.yaml", versions=NEW)
    assert values(run, "learning_rate", "sequence_length", "autocast") == (2e-5, 1024, "bf16")
    assert values(run, "gradient_checkpointing", "use_reentrant", "task") == (True, False, "language_model")
    assert values(run, "weights_dtype", "fused_loss") == ("fp32", None)


def test_text_becomes_a_number_because_the_command_line_reads_it():
    setting = describe(KIND, SFT, file="sft.yaml", versions=NEW).setting("learning_rate")
    assert (setting.value, setting.parsed, setting.raw) == (1e-4, "1e-4", "1e-4")


def test_the_adapter_has_the_commands_defaults_and_not_pefts():
    run = describe(KIND, SFT, file="sft.yaml", versions=NEW)
    assert values(run, "adapter", "lora_rank", "lora_alpha", "lora_dropout") == ("lora", 32, 32.0, 0.05)
    assert not run.is_written("lora_alpha")
    quantised = describe(KIND, SFT + "load_in_4bit: true\n", file="sft.yaml", versions=NEW)
    assert values(quantised, "adapter", "quantization_bits") == ("qlora", 4)


@for_each(
    ("more", "versions", "isolated"),
    [
        ("packing_strategy: wrapped\n", NEW, False),
        ("attn_implementation: flash_attention_2\n", NEW, True),
        ("", NEW, None),
        ("", OLD, False),
    ],
)
def test_packing_isolates_by_strategy_kernel_and_version(more, versions, isolated):
    run = describe(KIND, SFT + more, file="sft.yaml", versions=versions)
    assert values(run, "packing", "packing_isolated") == (True, isolated)


def test_defaults_that_trainers_disagree_on_are_unknown_where_the_trainer_is():
    run = describe(
        KIND, "output_dir: x\nlora_r: 8\nuse_peft: true\nnum_train_epochs: 1\n", file="a.yaml", versions=NEW
    )
    assert run.value("learning_rate") is None
    assert run.value("seed") == 42


@for_each(
    ("names", "trainer"),
    [
        ({"packing"}, "sft"),
        ({"rpo_alpha"}, "dpo"),
        ({"num_generations"}, "grpo"),
        ({"lora_r"}, ""),
        (set(), ""),
    ],
)
def test_keys_point_to_their_trainer(names, trainer):
    assert trainer_of(frozenset(names)) == trainer


def test_plain_arguments_of_a_trainer_are_not_trls():
    assert not KIND.recognises(document("a.json", '{"output_dir": "x", "per_device_train_batch_size": 1}'))
