"""C125 call-refused"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.nearest import nearest
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.rules.c108_key_removed import is_known_as_gone
from trimtab.checks.signatures import canonical, is_described, keywords_of, newest

_SCRIPT = (
    "import lightning as L\nmodule = Module()\ntrainer = L.Trainer({given})\ntrainer.fit(module, loader)\n"
)

RULE = Rule(
    code="C125",
    name="call-refused",
    severity="error",
    message="`{call}` of {library} {version} takes no `{keyword}`{meant}",
    why="Python raises TypeError for a keyword argument that a function does not have. If the script loads the model "
    "and the data first, the run stops minutes after it was started.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.0/src/lightning/pytorch/trainer/trainer.py",
            "The signature of `Trainer`: it has no `gpus`, `resume_from_checkpoint` and `auto_lr_find`.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py",
            "The signature of `SFTTrainer`: the data's format and packing are settings of SFTConfig.",
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(given="gpus=1, max_epochs=3"), versions="lightning=2.6.0"),
    good=Example(
        "train.py",
        _SCRIPT.format(given='accelerator="gpu", devices=1, max_epochs=3'),
        versions="lightning=2.6.0",
    ),
    symptoms=(
        "lightning Trainer argument is not accepted any more",
        "unexpected keyword argument",
        "TypeError: __init__() got an unexpected keyword argument",
        "Trainer has no argument gpus",
        "does not start after an upgrade",
    ),
)
_RENAMED: Final = {
    "lightning.pytorch.Trainer": {
        "gpus": 'write `accelerator="gpu", devices=`',
        "tpu_cores": 'write `accelerator="tpu", devices=`',
        "num_processes": "write `devices=`",
        "auto_select_gpus": "remove it: devices are chosen by themselves",
        "progress_bar_refresh_rate": "write `callbacks=[TQDMProgressBar(refresh_rate=...)]`",
        "checkpoint_callback": "write `enable_checkpointing=`",
        "weights_summary": "write `enable_model_summary=` or a ModelSummary callback",
        "resume_from_checkpoint": "give `ckpt_path=` to `trainer.fit`",
        "auto_lr_find": "use `Tuner(trainer).lr_find(model)`",
        "auto_scale_batch_size": "use `Tuner(trainer).scale_batch_size(model)`",
        "amp_level": "remove it: Apex is gone",
        "amp_backend": "remove it: Apex is gone",
        "distributed_backend": "write `strategy=`",
        "flush_logs_every_n_steps": "give it to the logger",
        "stochastic_weight_avg": "write `callbacks=[StochasticWeightAveraging(...)]`",
        "truncated_bptt_steps": "cut the sequence in `training_step` under manual optimization",
        "multiple_trainloader_mode": "wrap the loaders in CombinedLoader(mode=)",
        "replace_sampler_ddp": "write `use_distributed_sampler=`",
        "track_grad_norm": "log it in `on_before_optimizer_step`",
        "move_metrics_to_cpu": "move them in the module",
        "terminate_on_nan": "write `detect_anomaly=`",
        "prepare_data_per_node": "set it on the module or data module",
        "process_position": "write `callbacks=[TQDMProgressBar(process_position=...)]`",
        "log_gpu_memory": "write `callbacks=[DeviceStatsMonitor()]`",
        "ipus": "remove it: support for IPUs is gone",
    },
    "transformers.Trainer": {"tokenizer": "write `processing_class=`"},
    "transformers.Seq2SeqTrainer": {"tokenizer": "write `processing_class=`"},
    "accelerate.Accelerator": {
        "fp16": 'write `mixed_precision="fp16"`',
        "dispatch_batches": "write `dataloader_config=DataLoaderConfiguration(dispatch_batches=...)`",
        "split_batches": "write `dataloader_config=DataLoaderConfiguration(split_batches=...)`",
        "even_batches": "write `dataloader_config=DataLoaderConfiguration(even_batches=...)`",
        "use_seedable_sampler": "write `dataloader_config=DataLoaderConfiguration(use_seedable_sampler=...)`",
        "logging_dir": "write `project_dir=`",
    },
    "peft.prepare_model_for_kbit_training": {"output_embedding_layer_name": "remove it"},
}
"""New names of old keywords. A known one is better than the nearest spelling, which may mean something else."""
_CONFIGURED: Final = {
    "trl.SFTTrainer": "SFTConfig",
    "trl.DPOTrainer": "DPOConfig",
    "trl.KTOTrainer": "KTOConfig",
    "trl.RewardTrainer": "RewardConfig",
    "trl.GRPOTrainer": "GRPOConfig",
    "trl.RLOOTrainer": "RLOOConfig",
    "transformers.Trainer": "TrainingArguments",
    "transformers.Seq2SeqTrainer": "Seq2SeqTrainingArguments",
}
"""Trainers to the class that has their settings."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Keywords that the newest known version of a library has not: an error where that is the version that counts, a
    warning where nobody says which one does, nothing for any other."""
    if run.document.syntax != "python" or "unsloth" in run.document.imports:
        return
    for event in flow_of(run.document).events:
        if (
            event.kind == "call"
            and event.value.made == "call"
            and event.value.keywords
            and event.value.of is None
        ):
            yield from _refused(run, event)


def _refused(run: Description, event: Event) -> Iterator[Diagnosis]:
    value = event.value
    known = keywords_of(value.name) if "." in value.name else ()
    library = canonical(value.name).partition(".")[0]
    if not known or value.has_rest or _is_expected(event):
        return
    is_this = is_described(run, library)
    if is_this is False:
        return
    for keyword in value.keywords:
        if keyword in known or is_known_as_gone(value.name, keyword):
            continue
        fix, meant = _fix_of(canonical(value.name), keyword, known)
        yield RULE.at(
            event.place,
            severity=None if is_this else "warning",
            call=value.last,
            library=library,
            version=".".join(map(str, newest(library))) + ("" if is_this else ", the newest,"),
            keyword=keyword,
            meant=meant,
            fix=fix,
        )


def _is_expected(event: Event) -> bool:
    """Whether a test expects an error."""
    return any(each.last in ("raises", "assertRaises") for block in event.path for each in block.contexts)


def _fix_of(name: str, keyword: str, known: tuple[str, ...]) -> tuple[str, str]:
    """What to do, and what was meant: a known new name first, then the configuration, then the nearest spelling."""
    renamed = _RENAMED.get(name, {}).get(keyword)
    if renamed:
        return renamed, ""
    configuration = _CONFIGURED.get(name)
    near = nearest(keyword, known) or next((each for each in known if each.endswith(f"_{keyword}")), "")
    if near:
        return f"write `{near}`", f": did you mean `{near}`?"
    if configuration:
        return f"set it in {configuration}, if that has it, or remove it", ""
    return "remove it, or look up its new name", ""
