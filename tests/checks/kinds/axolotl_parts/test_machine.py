from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.axolotl import KIND

HEAD = "base_model: a\ndatasets: [{path: b}]\nlearning_rate: 1e-4\n"


def run(more=""):
    return told(KIND, HEAD + more)


@for_each(
    ("more", "autocast", "weights"),
    [
        ("", None, None),
        ("bf16: true\n", "bf16", "bf16"),
        ("bf16: full\n", "none", "bf16"),
        ("bf16: true\nfp16: true\n", "bf16", "bf16"),
        ("fp16: true\n", "fp16", "fp16"),
        ("bf16: false\n", "none", "fp32"),
        ("bf16: true\nadapter: lora\n", "bf16", "fp32"),
        ("bf16: true\nadapter: lora\npeft_autocast_adapter_dtype: false\n", "bf16", "bf16"),
    ],
)
def test_bf16_is_also_the_dtype_of_the_weights_unless_an_adapter_is_trained(more, autocast, weights):
    assert values(run(more), "autocast", "weights_dtype") == (autocast, weights)


@for_each(
    ("more", "is_on", "is_reentrant"),
    [
        ("", False, None),
        ("gradient_checkpointing: true\n", True, True),
        ("gradient_checkpointing: offload\n", True, True),
        (
            "gradient_checkpointing: true\ngradient_checkpointing_kwargs: {use_reentrant: false}\n",
            True,
            False,
        ),
        ("gradient_checkpointing: true\nrl: dpo\n", True, False),
        ("gradient_checkpointing: true\nunfrozen_parameters: [lm_head]\n", True, False),
    ],
)
def test_recomputation_is_reentrant_by_its_own_default(more, is_on, is_reentrant):
    assert values(run(more), "gradient_checkpointing", "use_reentrant") == (is_on, is_reentrant)


def test_old_switches_name_the_attention():
    assert run("flash_attention: true\n").value("attention_kernel") == "flash_attention_2"
    assert run("attn_implementation: eager\n").value("attention_kernel") == "eager"


def test_a_plugin_turns_cut_cross_entropy_on():
    plugin = "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n"
    assert run(plugin).value("fused_loss") == "cut_cross_entropy"
    assert run(plugin + "cut_cross_entropy: false\n").value("fused_loss") is None


def test_the_name_of_a_deepspeed_file_tells_its_stage():
    assert values(
        run("deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json\n"), "zero_stage", "offload"
    ) == (
        3,
        True,
    )


def test_fsdp_is_the_first_one_unless_a_version_is_written():
    assert run("fsdp_config: {offload_params: true}\n").value("fsdp") == 1
    assert run("fsdp_version: 2\nfsdp_config: {offload_params: true}\n").value("fsdp") == 2


def test_four_bits_are_told():
    assert run("load_in_4bit: true\nadapter: qlora\n").value("quantization_bits") == 4
