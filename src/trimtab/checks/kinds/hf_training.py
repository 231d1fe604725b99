"""TrainingArguments and Seq2SeqTrainingArguments as JSON or YAML, for HfArgumentParser or as a Trainer saves them."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put, text_list
from trimtab.checks.kinds.deepspeed import deepspeed_named
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.huggingface.loading import put_loading
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.own_options import with_own
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.trl_training import TRL_SIGNS
from trimtab.checks.kinds.written import Written, settings_of

DISTINCTIVE = frozenset(
    {
        "dataloader_num_workers", "ddp_find_unused_parameters",
        "eval_strategy", "evaluation_strategy", "fp16_full_eval", "generation_max_length", "generation_num_beams",
        "gradient_checkpointing", "activation_checkpointing", "label_smoothing_factor", "load_best_model_at_end",
        "lr_scheduler_type", "metric_for_best_model", "neftune_noise_alpha", "num_train_epochs",
        "optim_target_modules", "per_device_eval_batch_size", "per_device_train_batch_size", "predict_with_generate",
        "remove_unused_columns", "report_to", "save_strategy", "save_total_limit", "train_sampling_strategy",
        "warmup_ratio",
    }
)  # fmt: skip
"""Names that hardly anything but a Trainer has."""
SMALLEST = frozenset({"output_dir", "learning_rate"})
OF_OTHERS = frozenset(
    {
        "base_model", "stage", "finetuning_type", "cutoff_len", "template", "peft_type", "compute_environment",
        "distributed_type", "zero_optimization", "model_type", "path_src", "save_model", "save_data",
        "train_steps", "tasks", "micro_batch_size", "sequence_len",
    }
)  # fmt: skip
OF_OWN_LOOPS = frozenset(
    {
        "checkpointing_steps", "lr_scheduler", "lr_warmup_steps", "max_train_steps", "num_warmup_steps",
        "train_batch_size",
    }
)  # fmt: skip
"""Names of example scripts that have a loop of their own and share half of the Trainer's names."""
SEQ2SEQ = (
    "predict_with_generate",
    "generation_max_length",
    "generation_num_beams",
    "generation_config",
    "sortish_sampler",
)
NEAR = 0.85
"""From this likeness on a word is a known one misspelled."""


def recognises(document: Document) -> bool:
    """A name that only a Trainer has, and `output_dir` or three more of its keys."""
    names = names_of(document)
    if names & (OF_OTHERS | OF_OWN_LOOPS | TRL_SIGNS):
        return False
    known = load_table("transformers_seq2seq").keys
    if not names & DISTINCTIVE:
        # Nothing else takes all of these together.
        return names >= SMALLEST and len(names) >= 4 and all(name in known for name in names)
    return "output_dir" in names or sum(name in known for name in names) >= 4


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description: the file is all that the Trainer gets."""
    names = names_of(document)
    name = "transformers_seq2seq" if names.intersection(SEQ2SEQ) else "transformers"
    table = load_table(name, surroundings.versions)
    if not _is_trainers_alone(names, table):
        table = with_own(table, names)
    # No conversion: the parser for files passes the values on as they are.
    written = Written(path=document.path, settings=settings_of(document.entries.values()), table=table)
    concepts = training_concepts(written, surroundings.versions)
    put_script_arguments(concepts, written, surroundings)
    concepts = {**deepspeed_named(written.settings, surroundings), **concepts}
    return [
        Description(
            tool="transformers",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in written.settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
            nearby=nearby(surroundings, "config.json", "adapter_config.json", "tokenizer_config.json"),
        )
    ]


def put_script_arguments(concepts: Concepts, written: Written, surroundings: Surroundings) -> None:
    """Tells what the example scripts of transformers take beside the Trainer's own: model, data, languages."""
    put_model_name(concepts, written.settings.get("model_name_or_path"))
    put_loading(concepts, written, surroundings.versions, has_default=False)
    corpora = written.settings.get("dataset_name") or written.settings.get("train_file")
    put(concepts, "corpora", corpora, text_list(corpora.value) if corpora else None)
    language = written.settings.get("target_lang")
    if "source_lang" in written.settings:
        put(concepts, "task", language, "translation")


def _is_trainers_alone(names: frozenset[str], table: KeyTable) -> bool:
    """Whether all keys are the Trainer's own or near-misses of them: then no script has arguments of its own in it."""
    from difflib import get_close_matches  # late: few files need it

    return all(
        get_close_matches(name, table.keys, n=1, cutoff=NEAR) for name in names if name not in table.keys
    )


KIND = Kind(
    name="hf-training",
    tool="transformers",
    title="Hugging Face TrainingArguments",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
)
