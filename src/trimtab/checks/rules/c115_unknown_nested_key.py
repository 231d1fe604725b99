"""C115 unknown-nested-key"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RenameKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C115",
    name="unknown-nested-key",
    severity="error",
    message="`{name}` in `{holder}` is not a known argument there: did you mean `{meant}`?",
    why="Nobody checks such a mapping when the file is read: it is handed on, and a misspelled "
    "word is either ignored or fails deep in another library.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "gradient_checkpointing_kwargs and lr_scheduler_kwargs are fields of type dict whose keys are "
            "not looked at.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            "optim_args is split at commas and `=`; each optimizer takes the names that it knows out of it.",
        ),
    ),
    fix=Fix("write `{meant}`"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adamw_torch_8bit", '
        '"optim_args": "bf16_stochastic_rounding=True"}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adamw_torch_8bit", '
        '"optim_args": "bf16_stochastic_round=True"}',
    ),
    aliases=("TT801",),
    symptoms=("a setting has no effect", "unexpected keyword argument"),
)

_CHECKPOINTING = """
    use_reentrant preserve_rng_state determinism_check context_fn debug early_stop every_n_layers offload
"""
_KNOWN = {
    "gradient_checkpointing_kwargs": _CHECKPOINTING,
    "activation_checkpointing_kwargs": _CHECKPOINTING,
    "lr_scheduler_kwargs": """
        num_cycles power lr_end min_lr min_lr_rate num_decay_steps num_stable_steps num_training_steps warmup_type
        decay_type min_lr_ratio timescale factor patience mode threshold threshold_mode cooldown eps pct_start
        anneal_strategy div_factor final_div_factor warmup_lr_rate
    """,
    "bnb_config_kwargs": """
        load_in_8bit load_in_4bit llm_int8_threshold llm_int8_skip_modules llm_int8_enable_fp32_cpu_offload
        llm_int8_has_fp16_weight bnb_4bit_compute_dtype bnb_4bit_quant_type bnb_4bit_use_double_quant
        bnb_4bit_quant_storage
    """,
    "optim_args": """
        bf16_stochastic_round block_size rank update_proj_gap scale proj_type proj scale_type betas eps weight_decay
        momentum nesterov dampening use_kahan_summation momentum_dtype variance_dtype compensation_buffer_dtype
        kahan_sum decouple_lr max_lr weight_lr_power beta1 beta2 beta3 alpha t_alpha t_beta3 lamb gamma alpha_init
        grokking_signal_decay_rate gradient_clipping lr_decay centered foreach fused
    """,
}
"""Arguments that the receivers of these mappings take, as far as they were read."""
_NEAR = 0.8


def check(run: Description) -> Iterator[Diagnosis]:
    """Only slips of the pen: a word that is not known there and is nearly one that is."""
    for holder, text_of_words in _KNOWN.items():
        inside, text = list(run.below(holder)), run.written(holder)
        if not inside and text is None:
            continue  # as nearly always: then the table need not be looked through
        if run.table is not None and any(name.startswith(holder + ".") for name in run.table.keys):
            continue  # an unknown key like any other
        words = text_of_words.split()
        for setting in inside:
            name = setting.key.removeprefix(holder + ".")
            if "." not in name:
                yield from _told(setting, name, holder, words)
        if text is not None and isinstance(text.value, str):
            for part in text.value.replace(" ", "").split(","):
                yield from _told(text, part.partition("=")[0], holder, words)


def _told(where: Setting, name: str, holder: str, words: list[str]) -> Iterator[Diagnosis]:
    if name in words or not name:
        return
    from trimtab.checks.nearest import nearest  # only where a word is unknown

    meant = nearest(name, words, cutoff=_NEAR)
    if meant:
        edits = (RenameKey(where.key, meant),) if where.key != holder else ()
        yield RULE.at(where, edits=edits, name=name, holder=holder, meant=meant)
