from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.opennmt import KIND

HEAD = "save_model: a\ntrain_steps: 100\n"


def run(more):
    return told(KIND, HEAD + more)


@for_each(
    ("method", "schedule", "warmup"),
    [("noam", "noam", 4000), ("noamwd", "noamwd", 4000), ("rsqrt", "rsqrt", None), ("none", "none", 0)],
)
def test_only_some_decay_methods_have_a_rise(method, schedule, warmup):
    assert values(run(f"decay_method: {method}\n"), "schedule", "warmup_steps") == (schedule, warmup)


@for_each(("text", "number"), [("4", 4), ("[4]", 4), ("[1, 2, 8]", 8), ("[]", None)])
def test_lists_and_single_values_are_both_read(text, number):
    assert run(f"accum_count: {text}\n").value("accumulation") == number


def test_tensor_parallel_processes_see_the_same_data():
    assert run("world_size: 4\n").value("devices") == 4
    assert run("world_size: 4\nparallel_mode: tensor_parallel\n").value("devices") == 1


def test_layers_turn_lora_on():
    assert run("").value("adapter") == "none"
    more = "lora_layers: [linear_values]\nlora_rank: 4\nquant_type: bnb_NF4\n"
    assert values(run(more), "adapter", "lora_rank", "lora_alpha", "quantization_bits") == ("lora", 4, 1.0, 4)


def test_minus_one_keeps_every_checkpoint():
    assert values(run("keep_checkpoint: -1\n"), "keep_checkpoints", "save_steps") == (None, 5000)
    assert run("keep_checkpoint: 3\n").value("keep_checkpoints") == 3


def test_training_goes_on_from_a_checkpoint():
    assert values(run("train_from: model.pt\n"), "from_scratch", "model_name") == (False, "model.pt")
