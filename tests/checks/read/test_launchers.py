from tests.for_each import for_each
from trimtab.checks.read.launchers import launch
from trimtab.checks.read.words import split


def launches(line: str) -> list[tuple[str, str, list[str]]]:
    return [
        (found.name, found.launcher, [word.raw for word in found.words])
        for words in split(line).commands
        for found in launch(words)
    ]


@for_each(
    ("line", "expected"),
    [
        ("python train.py --a 1", [("train.py", "python", ["--a", "1"])]),
        ("python3.11 -u -W ignore src/train.py x", [("train.py", "python", ["x"])]),
        ("/usr/bin/python -m axolotl.cli.train f.yml", [("axolotl.cli.train", "python", ["f.yml"])]),
        ("python -c 'print(1)'", []),
        ("python", []),
        ("python $SCRIPT --a 1", [("", "python", ["--a", "1"])]),
        ("./train.py --a", [("train.py", "python", ["--a"])]),
        ("A=1 B='x y' python train.py", [("train.py", "python", [])]),
        ("CUDA_VISIBLE_DEVICES=$i nohup python -u train.py", [("train.py", "python", [])]),
        ("llamafactory-cli train f.yaml lr=1", [("llamafactory-cli", "", ["train", "f.yaml", "lr=1"])]),
        ("uv run --with x trl sft --a 1", [("trl", "", ["sft", "--a", "1"])]),
        ("srun --ntasks 1 python train.py", [("train.py", "python", [])]),
        ("nohup unknown --x", []),
        (
            "accelerate launch --num_processes 4 --multi_gpu train.py --lr 1",
            [
                ("accelerate-launch", "", ["--num_processes", "4", "--multi_gpu"]),
                ("train.py", "accelerate-launch", ["--lr", "1"]),
            ],
        ),
        (
            "accelerate launch -m axolotl.cli.train f.yml",
            [("accelerate-launch", "", []), ("axolotl.cli.train", "accelerate-launch", ["f.yml"])],
        ),
        (
            "accelerate launch --config_file c.yaml $SCRIPT --lr 1",
            [
                ("accelerate-launch", "", ["--config_file", "c.yaml"]),
                ("", "accelerate-launch", ["--lr", "1"]),
            ],
        ),
        ("accelerate launch", [("accelerate-launch", "", [])]),
        ("accelerate config", [("accelerate", "", ["config"])]),
        (
            "torchrun --nproc-per-node=8 -m pkg.train --a",
            [("torchrun", "", ["--nproc-per-node=8"]), ("pkg.train", "torchrun", ["--a"])],
        ),
        (
            "python -m torch.distributed.launch --nproc_per_node 2 train.py",
            [("torchrun", "", ["--nproc_per_node", "2"]), ("train.py", "torchrun", [])],
        ),
        (
            "python -m accelerate.commands.accelerate_cli launch train.py",
            [("accelerate-launch", "", []), ("train.py", "accelerate-launch", [])],
        ),
        (
            "deepspeed --include localhost:0,1 train.py --deepspeed ds.json",
            [
                ("deepspeed", "", ["--include", "localhost:0,1"]),
                ("train.py", "deepspeed", ["--deepspeed", "ds.json"]),
            ],
        ),
        ("if true; then python train.py; fi", [("true", "", []), ("train.py", "python", []), ("fi", "", [])]),
        ("$CMD --a 1", []),
        ("A=1", []),
    ],
)
def test_a_command_is_the_program_that_it_starts(line: str, expected: list[tuple[str, str, list[str]]]):
    assert launches(line) == expected
