"""What every model that transformers opens needs: the library itself, files without surprises, and whole weights."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.errors import InputError, input_error
from trimtab.model.module.network import quiet as quiet

CONFIG, GENERATION, WEIGHTS = "config.json", "generation_config.json", "model.safetensors"
_OTHER_WEIGHTS = re.compile(
    r"(?i).*\.index\.json|adapter_.*|.*\.(safetensors|bin|pt|pth|ckpt|h5|msgpack|gguf|onnx|pkl|pickle)"
)


def require_transformers() -> None:
    """Raises InputError if transformers is not installed."""
    try:
        import transformers  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "transformers":
            raise
        raise input_error(
            "Hugging Face models need transformers, which is not installed",
            got="no transformers",
            allowed="transformers 4.57 or newer",
            fix='pip install "trimtab[train,export]"',
        ) from None


def older_than(version: str) -> str | None:
    """The version of transformers that is installed, if it comes before another one."""
    import transformers
    from packaging.version import Version

    found = transformers.__version__
    return found if Version(found) < Version(version) else None


def refuse_other_weights(folder: Path) -> None:
    """InputError if the folder has a file from which weights, or names of them, could be read in place of the
    export's."""
    others = [each.name for each in folder.iterdir() if _OTHER_WEIGHTS.fullmatch(each.name)]
    if others := sorted(set(others) - {WEIGHTS}):
        raise input_error(
            f"{folder}: contains weights that are not the export's",
            got=", ".join(others[:5]),
            allowed=f"{WEIGHTS} alone",
            fix="remove them, or export the run again",
        )


def shapes_in(folder: Path) -> dict[str, list[int]]:
    """The shape of each tensor in the weights, of which nothing else is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            return {name: list(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise weights_refused(
            folder, got=" ".join(str(error).split())[:200], allowed="a complete safetensors file"
        ) from None


def check_finite(folder: Path, network: Any) -> None:
    """InputError if a weight is no number."""
    if bad := [name for name, each in network.state_dict().items() if not each.isfinite().all()]:
        raise weights_refused(
            folder, got=f"numbers that are not finite in {bad[0]}", allowed="finite numbers"
        )


def check_whole(folder: Path, network: Any, found: Mapping[str, Any]) -> None:
    """A tensor that is missing would be drawn at random, and one that is left over belongs to another model."""
    told = {
        "missing": sorted(found["missing_keys"]),
        "left over": sorted(found["unexpected_keys"]),
        "of another shape": sorted(
            each if isinstance(each, str) else str(each[0]) for each in found["mismatched_keys"]
        ),
    }
    if any(told.values()):
        got = "; ".join(
            f"{len(names)} {what}: {', '.join(names[:3])}" for what, names in told.items() if names
        )
        raise weights_refused(folder, got=got, allowed="every tensor of the model and no other")


def unreadable(folder: Path, error: Exception) -> InputError:
    """The error for a folder that the library raises something on."""
    return input_error(
        f"{folder}: transformers cannot read it",
        got=" ".join(str(error).split())[:200] or type(error).__name__,
        allowed="the folder as the export wrote it",
        fix="export the run again",
    )


def weights_refused(folder: Path, *, got: str, allowed: str) -> InputError:
    """The error for weights that are not those of the export."""
    return input_error(
        f"{folder / WEIGHTS}: not the weights of this export",
        got=got,
        allowed=allowed,
        fix="restore the file, or export the run again",
    )


def open_tokenizer(folder: Path) -> Any:
    """What AutoTokenizer makes of the folder; InputError if it cannot read it."""
    from transformers import AutoTokenizer

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
        try:
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            raise input_error(
                f"{folder}: transformers cannot read its tokenizer",
                got=" ".join(str(error).split())[:200],
                fix="export the run again",
            ) from None
