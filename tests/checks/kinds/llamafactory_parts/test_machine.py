import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.llamafactory import KIND

HEAD = "model_name_or_path: a\nstage: sft\ndo_train: true\noutput_dir: out\ndataset: b\n"


def run(more=""):
    return told(KIND, HEAD + more)


@pytest.mark.parametrize(
    ("more", "is_on", "is_reentrant"),
    [
        ("", True, True),
        ("use_reentrant_gc: false\n", True, False),
        ("disable_gradient_checkpointing: true\n", False, None),
    ],
)
def test_activations_are_recomputed_unless_told_not_to(more, is_on, is_reentrant):
    assert values(run(more), "gradient_checkpointing", "use_reentrant") == (is_on, is_reentrant)


@for_each(
    ("more", "autocast", "weights"),
    [
        ("", "none", "fp32"),
        ("bf16: true\n", "bf16", "fp32"),
        ("fp16: true\n", "fp16", "fp32"),
        ("pure_bf16: true\n", "none", "bf16"),
        ("bf16: true\nuse_badam: true\nfinetuning_type: full\n", "bf16", None),
    ],
)
def test_trainable_weights_are_fp32_unless_pure(more, autocast, weights):
    assert values(run(more), "autocast", "weights_dtype") == (autocast, weights)


@pytest.mark.parametrize(
    ("key", "word"), [("use_galore", "galore"), ("use_muon", "muon"), ("use_adam_mini", "adam_mini")]
)
def test_switches_put_another_optimizer_in_place(key, word):
    assert values(run(f"{key}: true\n"), "optimizer", "optimizer_variant") == (word, None)


def test_attention_has_its_own_names():
    assert run("flash_attn: fa2\n").value("attention_kernel") == "flash_attention_2"
    assert run("flash_attn: auto\n").value("attention_kernel") is None


def test_quantised_weights_and_a_fused_loss_are_told():
    assert values(
        run("quantization_bit: 4\nenable_liger_kernel: true\n"), "quantization_bits", "fused_loss"
    ) == (4, "liger")
