from tests.checks.rules.exchange import swap
from tests.checks.rules.findings import findings as said
from tests.checks.rules.findings import severities
from trimtab.checks.rules import (
    s301_updates_round_away as s301,
)
from trimtab.checks.rules import (
    s302_second_moment_rounds_away as s302,
)
from trimtab.checks.rules import (
    s303_epsilon_below_fp16 as s303,
)
from trimtab.checks.rules import (
    s304_torchao_without_stochastic_rounding as s304,
)
from trimtab.checks.rules import (
    s306_large_epsilon as s306,
)
from trimtab.checks.rules import (
    s308_fp16_weights_under_scaler as s308,
)
from trimtab.checks.rules import (
    s309_bf16_and_fp16_together as s309,
)
from trimtab.checks.rules import (
    s312_nan_filter_hides_nan as s312,
)

NEW = "transformers=5.24.0 peft=0.20.0"
PURE = s301.RULE.bad
SCRIPT = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, learning_rate=1e-5, bf16=True)
Trainer(model=model, args=args).train()
"""


def test_the_share_of_lost_updates_stands_in_the_message():
    (found,) = said(s301, PURE.file, PURE.text)
    assert "85% of the weights" in found.finding.message


def test_a_learning_rate_that_arrives_is_left_alone():
    assert not said(s301, *swap(PURE, ("1.0e-5", "3.0e-4")))


def test_an_adapter_or_deepspeed_keeps_its_own_copy():
    assert not said(s301, *swap(PURE, ("finetuning_type: full", "finetuning_type: lora")))
    assert not said(s301, PURE.file, PURE.text + "deepspeed: ds_z2_config.json\n")


def test_the_default_dtype_of_version_five_is_a_note_as_the_checkpoint_is_not_here():
    assert severities(s301, "train.py", SCRIPT, versions=NEW) == ["note"]
    assert not said(s301, "train.py", SCRIPT, versions="transformers=4.46.0")
    assert not said(s301, "train.py", SCRIPT)


def test_another_optimizer_than_adam_is_left_alone():
    text = SCRIPT.replace("args=args)", "args=args, optimizers=(mine, None))")
    assert not said(s301, "train.py", text, versions=NEW)


def test_a_second_moment_in_fp32_or_eight_bits_is_left_alone():
    assert said(s302, s302.RULE.bad.file, s302.RULE.bad.text)
    assert not said(s302, s302.RULE.bad.file, s302.RULE.bad.text + "optim: adamw_bnb_8bit\n")


def test_a_fused_kernel_calculates_in_fp32():
    assert said(s303, s303.RULE.bad.file, s303.RULE.bad.text)
    assert not said(s303, *swap(s303.RULE.bad, ("adamw_torch", "adamw_torch_fused")))


def test_torchao_says_what_is_lost():
    (found,) = said(s304, s304.RULE.bad.file, s304.RULE.bad.text)
    assert "70% of the weights" in found.finding.message


def test_adafactors_epsilon_is_another_thing():
    text = '{"output_dir": "o", "per_device_train_batch_size": 8, "adam_epsilon": 1e-4, "optim": "adafactor"}'
    assert not said(s306, "args.json", text)


def test_fp16_weights_of_a_frozen_base_do_not_meet_the_scaler():
    text = s308.RULE.bad.text.replace(
        "args = ",
        "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=8))\nargs = ",
    )
    assert said(s308, s308.RULE.bad.file, s308.RULE.bad.text)
    assert not said(s308, "train.py", text)


def test_deepspeed_may_decide_later():
    assert not said(s309, *swap(s309.RULE.bad, ('"fp16": {"enabled": true}', '"fp16": {"enabled": "auto"}')))


def test_the_nan_filter_is_of_no_matter_in_fp16_where_nothing_overflows():
    assert not said(s312, *swap(s312.RULE.bad, ("google/flan-t5-base", "gpt2")))
    assert not said(
        s312, "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "fp16": true}'
    )


def test_the_nan_filter_matters_in_fp16_and_under_a_watchdog_alone():
    assert not said(s312, *swap(s312.RULE.bad, ("fp16", "bf16")))
    assert said(s312, "fft.yaml", s304.RULE.bad.text + "loss_watchdog_threshold: 5.0\n")
