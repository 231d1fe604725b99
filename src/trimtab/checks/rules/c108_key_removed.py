"""C108 key-removed"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import Edit, RemoveKey, RenameKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.keytable import Key
from trimtab.checks.lifetime import is_idle, lifetime
from trimtab.checks.place import Place
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting
from trimtab.checks.signatures import gone, newest

RULE = Rule(
    code="C108",
    name="key-removed",
    severity="error",
    message="`{key}` was removed in {library} {version}{installed}",
    why="The library has removed the key: from that version on the run does not start, or the key does "
    "nothing.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
            "transformers 5 removed many keys of TrainingArguments; each of them is an unexpected keyword "
            "argument now.",
            opened=False,
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "TrainingArguments of 5.24.0 has no save_safetensors, which that of 4.57.0 has: as a dataclass "
            "it raises TypeError for a field that it has not.",
        ),
        Maintainer(
            "https://github.com/huggingface/accelerate/issues/1072",
            'Of accelerate 0.16.0: `Accelerator(fp16=True)` raises "TypeError: __init__() got an unexpected keyword '
            "argument 'fp16'\"; 'you need to use `mixed_precision=\"fp16\"` instead'.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/arguments.py",
            "Sockeye 3 trains with PyTorch: the options for MXNet, Horovod and recurrent models are gone.",
        ),
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/CHANGELOG.md",
            "'Removed --num-devices N option'; 'Remove --clip-gemm'; 'Dropped support for legacy graph groups'.",
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "save_safetensors": true}',
        versions="transformers=5.24.0",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8}',
        versions="transformers=5.24.0",
    ),
    aliases=("TT804",),
    symptoms=(
        "unexpected keyword argument",
        "does not start after an upgrade",
        "ImportError: cannot import name",
        "unexpected keyword argument tokenizer",
        "cannot import name AdamW from transformers",
        "SFTTrainer.__init__() got an unexpected keyword argument",
        "Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
        "argument was removed in a new version",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An error where the version is known; where that of the tool itself is not, a warning against the newest,
    which says
    so. Of a library under the tool nothing is said then: the tool may hold it back."""
    yield from _keywords(run)
    table = run.table
    if table is None:
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is None or not key.removed_in:
            continue
        age = lifetime(run, key)
        installed = run.version(age.library)
        is_own = age.library == table.tool and "unsloth" not in run.document.imports
        if age.stage == "removed" and (installed or is_own) and not is_idle(table, key, setting.value):
            yield RULE.at(
                setting,
                edits=_edits(setting, key) if installed is not None else (),
                severity=None if installed is not None else "warning",
                library=age.library,
                version=age.version,
                installed=_used(run, age.library),
                fix=_fix_of(key),
            )


def _used(run: Description, library: str) -> str:
    installed = run.version(library)
    if installed is None:
        return ", the newest; which one is used here is not known"
    return f", and {'.'.join(map(str, installed))} is used here"


def _keywords(run: Description) -> Iterator[Diagnosis]:
    """Keywords of trainers, and names that are imported; Unsloth puts the old keywords back."""
    if run.document.syntax != "python" or "unsloth" in run.document.imports:
        return
    for event in flow_of(run.document).events:
        value = event.value
        if event.kind == "call" and value.of is None and (name := _gone_name(value.name)):
            yield from _gone(run, name, "", event.place)
        elif event.kind == "call" and value.of is None and "." in value.name:
            yield from _gone_since(run, value.name, event.place)
        for keyword in value.keywords if event.kind == "call" and value.of is None else ():
            if (value.name, keyword) in _GONE:
                yield from _gone(run, value.name, keyword, event.place)


def is_known_as_gone(name: str, keyword: str) -> bool:
    """Whether it is known from which version a keyword of a call is gone."""
    return (name, keyword) in _GONE


def _gone_since(run: Description, called: str, place: Place) -> Iterator[Diagnosis]:
    """A name that an older version offers and the newest known one does not."""
    name = called.removesuffix(".from_pretrained").removesuffix(".from_config")
    known = gone(name)
    if known is None:
        return
    installed, now = run.version(known.library), newest(known.library)
    had = tuple(int(part) for part in known.had.split(".")[:3])
    if installed is not None and installed <= had:
        return
    last = name.rpartition(".")[2]
    yield RULE.at(
        place,
        severity=None if installed is not None and installed[:2] >= now[:2] else "warning",
        key=name,
        library=known.library,
        version=f"after {known.had}",
        installed=_used(run, known.library),
        fix=f"import it from `{known.home}`"
        if known.home
        else f"look up what {known.library} has for `{last}` now",
    )


def _gone_name(called: str) -> str:
    """The name that a call needs and that is gone, the class before `from_pretrained` as well."""
    name = called.removesuffix(".from_pretrained")
    return name if (name, "") in _GONE else ""


def _gone(run: Description, name: str, keyword: str, place: Place) -> Iterator[Diagnosis]:
    library, version, fix = _GONE[name, keyword]
    installed = run.version(library)
    if installed is not None and installed < version:
        return
    yield RULE.at(
        place,
        severity=None if installed is not None else "warning",
        key=f"{name.rpartition('.')[2]}({keyword}=)" if keyword else name,
        library=library,
        version=".".join(map(str, version)),
        installed=_used(run, library),
        fix=fix,
    )


_GONE: dict[tuple[str, str], tuple[str, tuple[int, ...], str]] = {
    **{
        (f"transformers.{name}", ""): ("transformers", (5, 0), fix)
        for name, fix in {
            "AdamW": "import it from torch.optim",
            "optimization.AdamW": "import it from torch.optim",
            "TextDataset": "use the datasets library",
            "LineByLineTextDataset": "use the datasets library",
            "AutoModelWithLMHead": "use AutoModelForCausalLM, AutoModelForMaskedLM or AutoModelForSeq2SeqLM",
            "AutoModelForVision2Seq": "use AutoModelForImageTextToText",
            "top_k_top_p_filtering": "use the logits processors of `generate`",
            **{
                f"{family}FeatureExtractor": f"use {family}ImageProcessor"
                for family in (
                    "ViT",
                    "CLIP",
                    "Detr",
                    "LayoutLMv2",
                    "LayoutLMv3",
                    "Segformer",
                    "Yolos",
                    "Beit",
                    "DeiT",
                    "VideoMAE",
                )
            },
        }.items()
    },
    ("peft.prepare_model_for_int8_training", ""): ("peft", (0, 10), "use prepare_model_for_kbit_training"),
    ("accelerate.Accelerator", "logging_dir"): ("accelerate", (0, 20), "write `project_dir=`"),
    ("accelerate.Accelerator", "fp16"): ("accelerate", (0, 16), 'write `mixed_precision="fp16"`'),
    **{
        (f"torch.optim.lr_scheduler.{name}", "verbose"): ("torch", (2, 7), "log `get_last_lr()` yourself")
        for name in (
            "ReduceLROnPlateau",
            "StepLR",
            "MultiStepLR",
            "CosineAnnealingLR",
            "CosineAnnealingWarmRestarts",
            "ExponentialLR",
            "LambdaLR",
            "LinearLR",
            "OneCycleLR",
            "PolynomialLR",
            "CyclicLR",
        )
    },
    **{
        (f"transformers.{name}.from_pretrained", f"load_in_{bits}bit"): (
            "transformers",
            (5, 0),
            f"write `quantization_config=BitsAndBytesConfig(load_in_{bits}bit=True)`",
        )
        for name in (
            "AutoModelForCausalLM",
            "AutoModelForSeq2SeqLM",
            "AutoModelForSequenceClassification",
            "AutoModel",
            "AutoModelForTokenClassification",
            "AutoModelForImageTextToText",
            "LlamaForCausalLM",
        )
        for bits in (4, 8)
    },
    ("datasets.load_metric", ""): ("datasets", (3, 0), "use `evaluate.load`"),
    **{
        (f"transformers.{trainer}", "tokenizer"): ("transformers", (5, 0), "write `processing_class=`")
        for trainer in ("Trainer", "Seq2SeqTrainer")
    },
    **{
        (f"trl.{trainer}", "tokenizer"): ("trl", (0, 16), "write `processing_class=`")
        for trainer in (
            "SFTTrainer",
            "DPOTrainer",
            "KTOTrainer",
            "RewardTrainer",
            "GRPOTrainer",
            "ORPOTrainer",
        )
    },
    **{
        ("trl.SFTTrainer", keyword): ("trl", (0, 13), f"set `{keyword}` in SFTConfig")
        for keyword in (
            "dataset_text_field",
            "packing",
            "eval_packing",
            "dataset_num_proc",
            "dataset_kwargs",
            "neftune_noise_alpha",
            "model_init_kwargs",
        )
    },
    ("trl.SFTTrainer", "max_seq_length"): ("trl", (0, 13), "set `max_length` in SFTConfig"),
    **{
        ("trl.DPOTrainer", keyword): ("trl", (0, 13), f"set `{keyword}` in DPOConfig")
        for keyword in ("beta", "loss_type", "label_smoothing", "max_length", "model_init_kwargs")
    },
}
"""Calls, and their keywords, to the version from which they are gone, and what to write."""


def _edits(setting: Setting, key: Key) -> tuple[Edit, ...]:
    if key.advice:
        return ()
    return (RenameKey(setting.key, key.renamed_to),) if key.renamed_to else (RemoveKey(setting.key),)


def _fix_of(key: Key) -> str:
    return key.advice or (f"write `{key.renamed_to}`" if key.renamed_to else "remove it")
