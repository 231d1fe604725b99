"""C117 batch-or-length-refused"""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C117",
    name="batch-or-length-refused",
    severity="error",
    message="{says}: {tool} refuses to start",
    why="Batch, accumulation and length depend on each other, and the tool stops where they contradict "
    "each other or where a stream has no end.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            "check_batch_size_fields, check_gas_bsz, check_warmup, check_streaming_w_max_steps and their "
            "like raise.",
        ),
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/config.py",
            "_batch_assertion: train_batch == micro_batch * grad_acc * world_size.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/parse.py",
            "validate_train_opts asserts as many accum_count as accum_steps and as many dropout as "
            "dropout_steps; Eole and Mammoth have the same assertions.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nnormalization: tokens\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nbatch_size: "
        "4096\nbatch_type: tokens\naccum_count: [2, 4]\naccum_steps: [0]\noptim: adam\ndecay_method: "
        "noam\nlearning_rate: 2.0\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nnormalization: tokens\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nbatch_size: "
        "4096\nbatch_type: tokens\naccum_count: [2, 4]\naccum_steps: [0, 10000]\noptim: adam\ndecay_method: "
        "noam\nlearning_rate: 2.0\n",
    ),
    symptoms=("AssertionError at start", "ValueError at start", "max_steps must be set"),
)

_ROWS = {
    "axolotl": (
        Combination(
            "micro_batch_size datasets !gradient_accumulation_steps !batch_size",
            "of `micro_batch_size`, `gradient_accumulation_steps` and `batch_size` two must be set",
            "set `gradient_accumulation_steps`",
        ),
        Combination(
            "gradient_accumulation_steps datasets !micro_batch_size !batch_size",
            "of `micro_batch_size`, `gradient_accumulation_steps` and `batch_size` two must be set",
            "set `micro_batch_size`",
        ),
        Combination(
            "batch_size gradient_accumulation_steps",
            "`batch_size` and `gradient_accumulation_steps` are both set",
            "remove `batch_size`",
        ),
        Combination(
            "warmup_ratio warmup_steps", "`warmup_steps` and `warmup_ratio` are both set", "keep one of them"
        ),
        Combination(
            "pretraining_dataset !max_steps",
            "`pretraining_dataset` is read as a stream, and `max_steps` is not set",
            "set `max_steps`",
        ),
        Combination("streaming !max_steps", "`streaming` without `max_steps`", "set `max_steps`"),
        Combination(
            "val_set_size pretraining_dataset",
            "`val_set_size` cannot be split off `pretraining_dataset`",
            "set `val_set_size: 0` and give `test_datasets`",
        ),
        Combination(
            "val_set_size streaming",
            "`val_set_size` cannot be split off a stream",
            "set `val_set_size: 0` and give `test_datasets`",
        ),
        Combination(
            "warmup_ratio rl=simpo", "`warmup_ratio` with `rl: simpo`", "set `warmup_steps` in its place"
        ),
    ),
    "llamafactory": (
        Combination("streaming !max_steps", "`streaming` without `max_steps`", "set `max_steps`"),
        Combination("max_samples streaming", "`max_samples` with `streaming`", "remove `max_samples`"),
    ),
}
_LISTS = {
    "opennmt": (
        ("accum_count", "accum_steps"),
        ("dropout", "dropout_steps"),
        ("attention_dropout", "dropout_steps"),
    ),
    "mammoth": (
        ("accum_count", "accum_steps"),
        ("dropout", "dropout_steps"),
        ("attention_dropout", "dropout_steps"),
    ),
    "eole": tuple(
        (f"training.{one}", f"training.{other}")
        for one, other in (
            ("accum_count", "accum_steps"),
            ("dropout", "dropout_steps"),
            ("attention_dropout", "dropout_steps"),
        )
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool, the paired lists of the OpenNMT family, and DeepSpeed's product."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, tool=run.tool, fix=row.fix)
    for one, other in _LISTS.get(run.tool, ()):
        values, steps = run.written(one), run.written(other)
        if values is not None and _length(values) != _length(steps):
            yield RULE.at(
                values,
                says=f"`{one}` has {_length(values)} values, but `{other}` {_length(steps)}",
                tool=run.tool,
                fix=f"give as many `{other}` as `{one}`: the step at which each value begins",
            )
    if run.tool == "deepspeed":
        yield from _uneven_batch(run)


def _length(setting: Setting | None) -> int:
    """A single value, and the default where nothing is written, count as one."""
    value = None if setting is None else setting.value
    return len(cast("list[Any]", value)) if isinstance(value, list) else 1


def _uneven_batch(run: Description) -> Iterator[Diagnosis]:
    keys = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    whole, micro, accumulation = (run.written(key) for key in keys)
    if whole is None or micro is None:
        return
    one_device = [micro.value, 1 if accumulation is None else accumulation.value]
    if not all(isinstance(value, int) and value > 0 for value in (whole.value, *one_device)):
        return
    product = one_device[0] * one_device[1]
    if whole.value % product:
        yield RULE.at(
            whole,
            says=f"train_batch_size {whole.value} is no multiple of the {product} examples that one device "
            f"takes a step",
            tool=run.tool,
            fix=f"make it {product} times the number of devices, or leave it out",
        )
