"""C120 data-refused"""

from collections.abc import Iterator

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C120",
    name="data-refused",
    severity="error",
    message="{says}: {tool} refuses to start",
    why="How examples are packed, masked and rated depends on the kind of training; the tool stops where "
    "they do not fit.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            "DatasetValidationMixin and RLValidationMixin raise ValueError.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            '"`neat_packing` cannot be set as True except SFT.", and others.',
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\nrl: dpo\ndatasets:\n  - path: data.jsonl\n    type: "
        "chatml.intel\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: "
        "0.000005\nsample_packing: true\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\nrl: dpo\ndatasets:\n  - path: data.jsonl\n    type: "
        "chatml.intel\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: "
        "0.000005\nsample_packing: false\n",
    ),
    symptoms=("ValueError at start",),
)

_ROWS: dict[str, tuple[Combination, ...]] = {
    "axolotl": (
        Combination(
            "sample_packing rl",
            "`sample_packing` with reinforcement or preference learning",
            "set `sample_packing: false`",
        ),
        Combination(
            "rl=kto !remove_unused_columns=false",
            "`rl: kto` needs the columns",
            "set `remove_unused_columns: false`",
        ),
        Combination(
            "push_dataset_to_hub !hf_use_auth_token",
            "`push_dataset_to_hub` without a login",
            "set `hf_use_auth_token: true`",
        ),
        *(
            Combination(
                f"dataset_exact_deduplication {stream}",
                f"`dataset_exact_deduplication` with `{stream}`",
                "deduplicate the data beforehand",
            )
            for stream in ("streaming", "pretraining_dataset")
        ),
        Combination(
            "batch_flattening=true sample_packing",
            "`batch_flattening` with `sample_packing`",
            "remove `batch_flattening`",
        ),
        Combination(
            "dpo_loss_weights rl=dpo !dpo_loss_type",
            "`dpo_loss_weights` without `dpo_loss_type`",
            "set `dpo_loss_type`",
        ),
        Combination(
            "chat_template=jinja !chat_template_jinja",
            "`chat_template: jinja` without the template",
            "set `chat_template_jinja`",
        ),
        Combination(
            "include_tokens_per_second pretraining_dataset",
            "`include_tokens_per_second` with `pretraining_dataset`",
            "remove `include_tokens_per_second`",
        ),
        *(
            Combination(
                f"{option} tokenizer_use_mistral_common",
                f"`{option}` with mistral-common",
                f"remove `{option}`",
            )
            for option in ("special_tokens", "tokens", "added_tokens_overrides", "chat_template")
        ),
    ),
    "llamafactory": (
        Combination(
            "neat_packing stage!=sft", "`neat_packing` outside of `stage: sft`", "remove `neat_packing`"
        ),
        Combination(
            "train_on_prompt stage!=sft",
            "`train_on_prompt` outside of `stage: sft`",
            "remove `train_on_prompt`",
        ),
        Combination(
            "mask_history stage!=sft", "`mask_history` outside of `stage: sft`", "remove `mask_history`"
        ),
        Combination(
            "mask_history train_on_prompt",
            "`mask_history` and `train_on_prompt` are both on",
            "keep one of them",
        ),
        Combination(
            "stage=ppo !reward_model", "`stage: ppo` without `reward_model`", "give the `reward_model`"
        ),
        Combination(
            "dpo_label_smoothing stage=dpo pref_loss!=sigmoid",
            "`dpo_label_smoothing` with a loss that has none",
            "remove `dpo_label_smoothing`",
        ),
        Combination(
            "pissa_init stage=ppo|kto",
            "`pissa_init` in a stage that needs the first weights",
            "remove `pissa_init`",
        ),
    ),
    "opennmt": (
        Combination(
            "update_vocab !train_from",
            "`update_vocab` without `train_from`",
            "give the checkpoint in `train_from`",
        ),
        Combination(
            "update_vocab reset_optim!=states|all",
            "`update_vocab` keeps the optimizer's state",
            "set `reset_optim: states`",
        ),
    ),
    "eole": (
        Combination(
            "training.update_vocab !training.train_from",
            "`update_vocab` without `train_from`",
            "give the checkpoint in `train_from`",
        ),
        Combination(
            "training.update_vocab training.reset_optim!=states|all",
            "`update_vocab` keeps the optimizer's state",
            "set `reset_optim: states`",
        ),
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool, the removed conversation type of Axolotl, and the groups of GRPO."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, tool=run.tool, fix=row.fix)
    if run.tool == "axolotl":
        yield from _sharegpt(run)
        yield from _uneven_groups(run)


def _sharegpt(run: Description) -> Iterator[Diagnosis]:
    for setting in run.below("datasets"):
        if setting.key.endswith(".type") and str(setting.value).startswith("sharegpt"):
            yield RULE.at(
                setting, says="`type: sharegpt` is gone", tool=run.tool, fix="write `type: chat_template`"
            )


def _uneven_groups(run: Description) -> Iterator[Diagnosis]:
    kind, group = run.written("rl"), run.written("trl.num_generations")
    if (
        kind is None
        or kind.value != "grpo"
        or group is None
        or run.written("trl.generation_batch_size") is not None
    ):
        return
    parts = [run.written(key) for key in ("micro_batch_size", "gradient_accumulation_steps")]
    numbers = [1 if part is None or not part.value else part.value for part in parts]
    if not all(type(number) is int and number > 0 for number in (*numbers, group.value)):
        return
    batch = numbers[0] * numbers[1]
    if group.value < 2 or batch % group.value:
        yield RULE.at(
            group,
            says=f"a batch of {batch} cannot be split into groups of {group.value} generations",
            tool=run.tool,
            fix="make micro_batch_size * gradient_accumulation_steps a multiple of `num_generations`, 2 or "
            "more",
        )
