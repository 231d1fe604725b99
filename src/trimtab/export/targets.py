"""The targets of exports by their names."""

from difflib import get_close_matches
from typing import assert_never, get_args

from trimtab.config.export_targets import ExportTarget, facts_of
from trimtab.errors import input_error
from trimtab.export.ctranslate2.target import CTranslate2
from trimtab.export.hf.target import HuggingFace
from trimtab.export.onnx.target import Onnx
from trimtab.export.peft.target import Peft
from trimtab.export.quantized import EXACT, check_kind
from trimtab.export.target import Target
from trimtab.export.torch_export.target import TorchExport

TARGETS: tuple[ExportTarget, ...] = get_args(ExportTarget)

ALSO_CALLED = {
    "ct2": "ctranslate2",
    "huggingface": "hf",
    "transformers": "hf",
    "marian": "hf",
    "lora": "peft",
    "adapter": "peft",
    "llama": "hf",
    "ort": "onnx",
    "onnxruntime": "onnx",
    "pt2": "torch_export",
    "pytorch": "torch_export",
}
"""What others call the targets."""


def meant(name: str) -> str:
    """The target that an unknown name is likely to mean; all of them where it is like none."""
    word = name.lower().replace("-", "").replace(" ", "").replace("_", "")
    near = get_close_matches(word, [*ALSO_CALLED, *TARGETS], n=1, cutoff=0.6)
    return ALSO_CALLED.get(near[0], near[0]) if near else " or --to ".join(TARGETS)


def build_target(name: str, quantization: str = EXACT) -> Target:
    """The target of a name; InputError if there is none, or none with such weights."""
    known = next((each for each in TARGETS if each == name), None)
    if known is None:
        raise input_error(
            f"--to {name}: unknown target",
            got=name,
            allowed=" or ".join(TARGETS),
            fix=f"use --to {meant(name)}",
        )
    check_kind(quantization, target=name, kinds=facts_of(known).weights)
    match known:
        case "hf":
            return HuggingFace()
        case "ctranslate2":
            return CTranslate2(quantization)
        case "onnx":
            return Onnx(quantization)
        case "torch_export":
            return TorchExport()
        case "peft":
            return Peft()
        case _:
            assert_never(known)
