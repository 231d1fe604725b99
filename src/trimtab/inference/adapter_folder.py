"""An adapter in PEFT's format on a language model, without merging it."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from trimtab.errors import input_error, unreadable
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.lora import adapted_maps, add_lora
from trimtab.model.peft_tensors import settings_of_peft, take_peft_tensors

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MOST_BYTES = 1_000_000


def put_adapter(model: nn.Module, folder: Path, *, base: str) -> None:
    """Gives a model in float32 the adapter in a folder that PEFT or `trimtab export --to peft` wrote; `base` is what
    messages call the model.

    Raises InputError where the folder holds none, it is not plain LoRA, or not of this model, and where the model has
    one already.
    """
    if not isinstance(model, DecoderOnly) or any(True for _ in adapted_maps(model)):
        raise input_error(
            f"--adapter: {base} takes none",
            got="a model that translates"
            if not isinstance(model, DecoderOnly)
            else "a run with an adapter of its own",
            allowed="a language model without an adapter",
            fix="leave --adapter out, or name the model that the adapter was trained on",
        )
    if not (folder / CONFIG).is_file() or not (folder / WEIGHTS).is_file():
        raise input_error(
            f"--adapter: {folder} holds no adapter",
            got=", ".join(sorted(each.name for each in folder.iterdir())[:5])
            if folder.is_dir()
            else "no folder",
            allowed=f"a folder with {CONFIG} and {WEIGHTS}",
            fix="write one: `trimtab export RUN --to peft --out DIR`",
        )
    config = settings_of_peft(_read(folder / CONFIG), name=str(folder / CONFIG))
    try:
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError, ValueError) as error:
        raise input_error(
            f"{folder / WEIGHTS}: not a complete safetensors file",
            got=" ".join(str(error).split())[:200],
            fix="write the adapter again",
        ) from None
    add_lora(model, config, seed=0)
    take_peft_tensors(model, tensors, name=str(folder / WEIGHTS))


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(MOST_BYTES))
    except OSError as error:
        raise unreadable(error, path) from None
    except (ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: not valid JSON", got=str(error)[:200], fix="write the adapter again"
        ) from None
    return said if isinstance(said, dict) else {}
