"""Files for TRL's command line (`trl sft --config FILE`) and for scripts with its TrlParser."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import join_tables, load_table
from trimtab.checks.kinds.concept_map import put
from trimtab.checks.kinds.deepspeed import deepspeed_named
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.huggingface.trl_training import TASKS, put_script, put_trl
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.own_options import with_own
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

TRL_SIGNS = frozenset(
    {
        "assistant_only_loss", "chat_template_path", "completion_only_loss", "dataset_test_split",
        "dataset_text_field", "dataset_train_split", "eval_packing", "lora_r", "lora_target_modules",
        "max_completion_length", "max_prompt_length", "packing", "packing_strategy", "padding_free",
        "precompute_ref_log_probs", "use_peft",
    }
)  # fmt: skip
"""Names of TRL that the Trainer has not."""
OF_OTHERS = frozenset(
    {"base_model", "stage", "finetuning_type", "cutoff_len", "template", "peft_type", "micro_batch_size"}
)
COMMAND = frozenset({"model_name_or_path", "dataset_name"})
OF_SCRIPTS = frozenset(
    {
        "dataset_config_name", "do_eval", "do_predict", "do_train", "lr_warmup_steps", "max_seq_length",
        "max_train_steps", "output_dir", "preprocessing_num_workers", "resolution", "train_batch_size",
        "validation_split_percentage",
    }
)  # fmt: skip
"""Names of example scripts of transformers and diffusers that share those two."""
TRAINERS = {
    "sft": ("dataset_text_field", "packing", "packing_strategy", "eval_packing", "completion_only_loss",
            "assistant_only_loss"),
    "dpo": ("precompute_ref_log_probs", "ld_alpha", "rpo_alpha", "f_divergence_type", "ref_model_mixup_alpha"),
    "kto": ("desirable_weight", "undesirable_weight"),
    "reward": ("center_rewards_coefficient",),
    "grpo": ("num_generations", "scale_rewards", "num_iterations", "epsilon_high"),
}  # fmt: skip
"""Keys that only one trainer has."""


def recognises(document: Document) -> bool:
    """A name that is TRL's, and two that are the Trainer's."""
    names = names_of(document)
    known = load_table("transformers").keys
    num_known = sum(name in known for name in names)
    if names & OF_OTHERS or num_known < 2:
        return False
    # TRL's own command names its model and its data so, and has a folder by default; the Trainer needs one.
    is_command = names >= COMMAND and num_known >= 3 and not names & OF_SCRIPTS
    return bool(names & TRL_SIGNS) or is_command


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description, with the defaults of the trainer that the keys point to; with none where they point to none."""
    versions = surroundings.versions
    trainer = trainer_of(names_of(document))
    tables = [load_table(f"trl_{name}", versions) for name in ([trainer] if trainer else TRAINERS)]
    # A script may take more than the command line does.
    table = with_own(join_tables(*tables, load_table("trl_script", versions)), names_of(document))
    settings = settings_of(document.entries.values(), table=table, converts=True)
    written = Written(path=document.path, settings=settings, table=table)
    concepts = training_concepts(written, versions)
    put_trl(concepts, written, versions, trainer)
    put_script(concepts, written, versions)
    for setting in list(settings.values())[:1]:
        put(concepts, "task", setting, TASKS.get(trainer))
    return [
        Description(
            tool="trl",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts={**deepspeed_named(settings, surroundings), **concepts},
            table=table,
            versions=versions,
        )
    ]


def trainer_of(names: frozenset[str]) -> str:
    """The trainer that alone has one of these keys; empty if no key or more than one trainer says so."""
    found = [trainer for trainer, signs in TRAINERS.items() if names.intersection(signs)]
    return found[0] if len(found) == 1 else ""


KIND = Kind(
    name="trl",
    tool="trl",
    title="TRL configuration",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
)
