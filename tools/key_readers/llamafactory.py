"""LLaMA-Factory: its argument classes over those of transformers, and the files of its new version 1."""

from typing import Any

from key_readers.dataclass_fields import fields_of
from key_readers.tree import Rows, Tree

FOLDER = "src/llamafactory/hparams"
NEXT = "src/llamafactory/v1/config"
ENUMS = ("src/llamafactory/extras/constants.py",)
CLASSES = {
    "model": (
        "BaseModelArguments", "QuantizationArguments", "ProcessorArguments", "ExportArguments", "VllmArguments",
        "SGLangArguments", "KTransformersArguments", "ModelArguments",
    ),
    "data": ("DataArguments",),
    "generating": ("GeneratingArguments",),
    "finetuning": (
        "FreezeArguments", "OFTArguments", "LoraArguments", "RLHFArguments", "GaloreArguments", "ApolloArguments",
        "BAdamArgument", "SwanLabArguments", "FinetuningArguments",
    ),
    "training": ("RayArguments", "ProfilerArguments", "Fp8Arguments", "TrainingArguments"),
    "evaluation": ("EvaluationArguments",),
    "megatron_bridge": ("MegatronBridgeArguments",),
}  # fmt: skip


def read(trees: list[Tree]) -> dict[str, Any]:
    """`llamafactory` for training, `_infer` for chat, merging and serving, `_eval`, and `_v1`."""
    tree = trees[-1]
    head = {
        "tool": "llamafactory",
        "library": "llamafactory",
        "version": tree.version,
        "unknown_keys": "refused",
    }
    source = f"llamafactory {tree.version}: {FOLDER}"
    common = {**_rows(tree, "model"), **_rows(tree, "data"), **_rows(tree, "finetuning")}
    runtime: Rows = {"kt_config": {"types": ["mapping"], "open": True}}
    generating = _rows(tree, "generating")
    training = {**common, **generating, **_rows(tree, "megatron_bridge"), **_rows(tree, "training")}
    files = [f"{NEXT}/{name}_args.py" for name in ("model", "data", "training", "sample")]
    module = tree.module("src/llamafactory/v1/utils/types.py", f"{NEXT}/arg_utils.py", *files)
    classes = ("ModelArguments", "DataArguments", "TrainingArguments", "SampleArguments")
    return {
        "llamafactory": {**head, "source": source, "includes": ["transformers_seq2seq"], "keys": training},
        "llamafactory_infer": {**head, "source": source, "keys": {**common, **generating, **runtime}},
        "llamafactory_eval": {
            **head,
            "source": source,
            "keys": {**common, **_rows(tree, "evaluation"), **runtime},
        },
        "llamafactory_v1": {
            **head,
            "source": f"llamafactory {tree.version}: {NEXT}",
            "keys": fields_of(module, *classes),
        },
    }


def _rows(tree: Tree, group: str) -> Rows:
    return fields_of(tree.module(*ENUMS, f"{FOLDER}/{group}_args.py"), *CLASSES[group])
