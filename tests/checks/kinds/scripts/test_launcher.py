from tests.checks.kinds.describing import document, words
from tests.for_each import for_each
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.scripts.launcher import launcher_concepts, launcher_options


def told(line, beside=None):
    script = document("a.sh", line + " train.py\n")
    others = beside or {}
    around = Surroundings(beside=lambda name: document(name, others[name]) if name in others else None)
    return words(launcher_concepts(script.calls[0], script, around))


@for_each(
    ("options", "expected"),
    [
        ("--mixed_precision fp16", {"autocast": "fp16"}),
        ("--mixed_precision fp8", {"fp8": True}),
        ("--num_processes 2", {"devices": 2}),
        ("--use_fsdp --fsdp_version 2", {"fsdp": 2}),
        ("--use_fsdp", {"fsdp": 1}),
        ("--use_deepspeed --zero_stage 3", {"deepspeed": True, "zero_stage": 3}),
        ("--use_deepspeed --offload_param_device cpu", {"deepspeed": True, "offload": True}),
        ("--gradient_clipping 0.5", {"clip": 0.5}),
        ("--num_processes $N", {}),
    ],
)
def test_options_of_accelerate_are_told(options, expected):
    assert told(f"accelerate launch {options}") == expected


def test_a_deepspeed_file_beside_is_read():
    beside = {"ds.json": '{"zero_optimization": {"stage": 1}}'}
    assert (
        told("accelerate launch --use_deepspeed --deepspeed_config_file ds.json", beside)["zero_stage"] == 1
    )


def test_text_of_options_is_read_as_the_launcher_reads_it():
    script = document("a.sh", "torchrun --nproc_per_node 2 --rdzv_id x train.py\n")
    options = launcher_options(script.calls[0])
    assert options["nproc_per_node"].value == 2
    assert options["rdzv_id"].value == "x"
    assert options["nproc_per_node"].key == "torchrun.nproc_per_node"
