import pytest

from tests.checks.kinds.describing import NEW, describe, describe_all, document, values
from tests.for_each import for_each
from trimtab.checks.kinds.shell_launch import KIND

TRANSLATE = """#!/bin/bash
accelerate launch --num_processes 4 --mixed_precision bf16 run_translation.py \\
  --model_name_or_path google-t5/t5-small --source_lang en --target_lang de --output_dir out \\
  --per_device_train_batch_size=8 --learning_rate 5e-5 --predict_with_generate --fp16 false \\
  --gradient_checkpointing --gradient_checkpointing_kwargs '{"use_reentrant": false}'
"""


def told(text, versions=NEW, beside=()):
    return describe(KIND, text, file="run.sh", versions=versions, beside=beside)


def test_a_line_with_launcher_and_script_is_one_run():
    run = told(TRANSLATE)
    assert values(run, "devices", "autocast", "micro_batch", "learning_rate") == (4, "bf16", 8, 5e-5)
    assert values(run, "predict_with_generate", "task", "encoder_decoder") == (True, "translation", True)
    assert values(run, "gradient_checkpointing", "use_reentrant") == (True, False)
    assert run.written("learning_rate").place.line == 4
    assert run.written("accelerate-launch.num_processes") is not None


def test_a_script_of_the_library_has_its_defaults_and_any_other_has_none():
    assert told(TRANSLATE).value("weight_decay") == 0.0
    assert told(TRANSLATE.replace("run_translation", "my_train")).value("weight_decay") is None
    assert told(TRANSLATE.rstrip() + ' "$@"\n').value("weight_decay") is None


def test_what_a_variable_holds_is_unknown():
    run = told("python run_clm.py --output_dir o --num_train_epochs $N --per_device_train_batch_size 2\n")
    assert values(run, "epochs", "micro_batch") == (None, 2)


@for_each(
    ("line", "devices"),
    [
        ("torchrun --nproc_per_node 2 --nnodes 3 train.py", 6),
        ("torchrun --nproc-per-node=4 train.py", 4),
        ("torchrun --nproc_per_node gpu train.py", None),
        ("deepspeed --num_gpus 2 train.py", 2),
    ],
)
def test_launchers_say_how_many_processes_there_are(line, devices):
    run = told(line + "\n")
    assert run.value("devices") == devices
    assert run.value("deepspeed") == (True if line.startswith("deepspeed") else None)


def test_two_lines_are_two_runs():
    line = "python run_clm.py --output_dir o --num_train_epochs 1 --learning_rate {}\n"
    runs = describe_all(KIND, line.format("1e-4") + line.format("1e-5"), file="a.sh")
    assert [run.value("learning_rate") for run in runs] == [1e-4, 1e-5]


def test_a_configuration_of_the_launcher_beside_it_is_read():
    beside = [("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: fp16\n")]
    run = told("accelerate launch --config_file acc.yaml train.py\n", beside=beside)
    assert values(run, "devices", "autocast") == (8, "fp16")
    assert run.setting("devices").origin == "beside"


def test_trls_command_has_trls_defaults():
    run = told("trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --use_peft --lora_r 8\n")
    assert values(run, "learning_rate", "lora_rank", "lora_alpha") == (2e-5, 8, 32.0)
    assert told("trl sft --config a.yaml --learning_rate 1e-4\n").value("seed") is None


def test_llamafactory_on_a_command_line_is_told():
    run = told(
        "llamafactory-cli train --stage sft --do_train True --model_name_or_path meta-llama/Llama-3.1-8B "
        "--finetuning_type lora --template llama3 --dataset a,b --learning_rate 5e-05 --output_dir x\n"
    )
    assert values(run, "adapter", "learning_rate", "corpora") == ("lora", 5e-5, ["a", "b"])
    assert run.tool == "llamafactory"


def test_options_over_a_file_say_only_what_they_say():
    run = told("axolotl train config.yml --learning-rate 1e-4 --micro-batch-size 2\n")
    assert set(run.concepts) == {"learning_rate", "micro_batch", "batch_unit"}


@for_each(
    "text",
    [
        "ls -l\n",
        "python train.py --lr 3\n",
        "python train.py --report_to wandb --learning_rate 1 --seed 2 --max_train_steps 4\n",
        "",
    ],
)
def test_other_lines_are_not_recognised(text):
    assert not KIND.recognises(document("a.sh", text))


def test_an_example_without_a_trainer_has_options_of_its_own():
    line = "python run_glue_no_trainer.py --per_device_train_batch_size 8 --learning_rate 1 --seed 2 --eval_step 9 "
    assert not KIND.recognises(document("a.sh", line + "--num_train_epochs 3 --output_dir x\n"))


def test_the_beginning_of_an_option_stands_for_it():
    run = told(
        "python run_clm.py --output_dir o --num_train_epoch 4 --per_device_train_batch 2 --warmup_step 7\n"
    )
    assert values(run, "epochs", "micro_batch", "warmup_steps") == (4, 2, 7)


@for_each(
    "line",
    [
        "python run_clm.py --learning_rate 1e-4",
        "python3 examples/pytorch/translation/run_translation.py --bf16",
        "torchrun --nproc_per_node 2 run_glue.py --seed 3",
        "accelerate launch run_mlm.py --optim adafactor",
        "deepspeed run_summarization.py --deepspeed ds.json",
    ],
)
def test_a_script_of_the_library_needs_no_more_than_one_option(line):
    assert KIND.recognises(document("run.sh", line + "\n"))


@pytest.mark.parametrize(
    "line", ["python train.py --lr 1e-4", "python run_clm_no_trainer.py --learning_rate 1e-4"]
)
def test_a_script_of_ones_own_is_no_trainer_by_one_option(line):
    assert not KIND.recognises(document("run.sh", line + "\n"))
