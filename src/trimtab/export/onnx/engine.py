"""A translation model in ONNX Runtime, as decoding and scoring see it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from trimtab.errors import InputError, input_error
from trimtab.export.byte_products import largest_weight
from trimtab.export.onnx.binding import Bound, run_bound
from trimtab.export.onnx.files import (
    DECODER,
    ENCODER,
    Settings,
    check_graphs,
    check_shapes,
    read_settings,
    refused,
)
from trimtab.export.onnx.session import OnnxSession
from trimtab.export.padded_rows import batches_of, padded
from trimtab.types import Ragged, Stream

CPU, GPU = "CPUExecutionProvider", "CUDAExecutionProvider"


def require_onnx() -> None:
    """Raises InputError if onnx or onnxruntime is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("onnx", "onnxruntime"):
            raise
        raise input_error(
            f"ONNX models need {error.name}, which is not installed",
            got=f"no {error.name}",
            allowed="onnx 1.17 and onnxruntime 1.20, or newer",
            fix='pip install "trimtab[train,onnx]"; for a GPU onnxruntime-gpu in place of onnxruntime',
        ) from None


def open_onnx(
    folder: Path,
    *,
    device: torch.device | None = None,
    expected: Mapping[str, int] | None = None,
    to_prove: bool = False,
) -> "OnnxModel":
    """The model in a folder that an export wrote; on the device that fits its weights where none is named.

    `expected` are sizes and symbols that are known from elsewhere. Nothing outside the folder is read and nothing of
    it executed but the operators of ONNX that an export writes. float16 on a CPU is for the proof of an export alone.
    Raises InputError if the folder holds anything else, and where weights and device do not belong together.
    """
    require_onnx()
    settings = read_settings(folder)
    place = _place(folder, settings, device, to_prove=to_prove)
    graphs = check_graphs(folder, settings)
    sizes = check_shapes(folder, graphs, expected or {})
    if others := [key for key, value in (expected or {}).items() if getattr(settings, key, value) != value]:
        raise input_error(
            f"{folder}: not the settings of this export",
            got=", ".join(f"{key} {getattr(settings, key)}" for key in others),
            allowed=", ".join(f"{key} {(expected or {})[key]}" for key in others) + ", as the recipe says",
            fix="export the run again",
        )
    return OnnxModel(
        _session(folder / ENCODER, place), _session(folder / DECODER, place), settings, sizes, place
    )


def _place(folder: Path, settings: Settings, device: torch.device | None, *, to_prove: bool) -> torch.device:
    """Where it is to run; InputError if that cannot be."""
    import onnxruntime

    has_gpu = GPU in onnxruntime.get_available_providers() and torch.cuda.is_available()
    if device is None:
        device = torch.device("cuda" if has_gpu and settings.weights != "int8" else "cpu")
    if device.type == "cuda" and not has_gpu:
        raise _misplaced(
            folder, device, "onnxruntime without CUDA", "pip install onnxruntime-gpu, or use --device cpu"
        )
    if device.type == "cuda" and settings.weights == "int8":
        raise _misplaced(
            folder, device, "int8, which has no kernels on GPUs", "use --device cpu, or export float16"
        )
    if device.type == "cpu" and settings.weights == "float16" and not to_prove:
        raise _misplaced(
            folder, device, "float16, which is slow on CPUs", "take a GPU, or export int8 or float32"
        )
    if settings.weights == "int8" and settings.largest > largest_weight():
        raise _misplaced(
            folder,
            device,
            f"weights up to {settings.largest}, whose products spill over here: this processor has no VNNI",
            "export with --quantization int8_reduced, or on this machine",
        )
    return device


def _misplaced(folder: Path, device: torch.device, got: str, fix: str) -> InputError:
    return input_error(
        f"{folder}: cannot run on {device}",
        got=got,
        allowed="float32 and int8 on CPUs, float32 and float16 on GPUs",
        fix=fix,
    )


def _session(path: Path, place: torch.device) -> Any:
    """ONNX Runtime with as many threads as torch has, which wait quietly: the search between two steps needs them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = (
        4  # errors are raised; what is written beside them would stand among translations
    )
    gpu = [(GPU, {"device_id": place.index or 0})] if place.type == "cuda" else []
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=[*gpu, CPU])
    except Exception as error:  # a library may raise anything on a file of unknown origin
        raise refused(path, got=" ".join(str(error).split()) or type(error).__name__) from None


class OnnxModel:
    """Encoder and decoder in ONNX Runtime; see `export.target.Engine`. Several threads may use it at once."""

    def __init__(
        self, encoder: Any, decoder: Any, settings: Settings, sizes: Mapping[str, int], device: torch.device
    ) -> None:
        self.encoder, self.decoder, self.settings, self.device = encoder, decoder, settings, device
        self.positions = settings.positions
        self.dtype = torch.float16 if settings.weights == "float16" else torch.float32
        self.layers, self.kv_heads = sizes["layers"], sizes["kv_heads"]
        self.size, self.num_ids = sizes["size"], sizes["num_ids"]

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> OnnxSession:
        """Encodes the source."""
        lengths = source.cu_seqlens.diff()[:rows].tolist()
        ids = source.ids.split([*lengths, len(source.ids) - sum(lengths)])[:rows]
        read = self._padded([row.tolist() for row in ids])
        return OnnxSession(self, *read, width=width, max_length=max_length)

    @torch.inference_mode()
    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        found: dict[int, list[float]] = {}
        for batch in batches_of(source.lengths + target.lengths):
            read, real = self._padded([source.row(row).tolist() for row in batch])
            written = [target.row(row).tolist() for row in batch]
            # What is fed after the end of a row is seen by nothing before it.
            fed, _ = self._padded([[self.settings.start, *row[:-1]] for row in written])
            labels, _ = self._padded(written)
            scores = self._logits(read, real, fed).log_softmax(-1).gather(2, labels[..., None])[..., 0]
            for row, ids, line in zip(batch, written, scores.tolist(), strict=True):
                found[row] = line[: len(ids)]
        return [found[row] for row in range(len(source))]

    def encode(self, ids: Int[Tensor, "rows source"], real: Bool[Tensor, "rows source"]) -> list[Tensor]:
        """Keys and values of the source, layer by layer, each `rows kv_heads source size`."""
        shape = (len(ids), self.kv_heads, ids.shape[1], self.size)
        kept = {
            name: torch.empty(shape, dtype=self.dtype, device=self.device) for name in self._names("source")
        }
        outputs = {name: Bound.of(each) for name, each in kept.items()}
        run_bound(self.encoder, {"ids": Bound.of(ids), "real": Bound.of(real)}, outputs)
        return list(kept.values())

    def decode(self, inputs: dict[str, Bound], outputs: dict[str, Bound]) -> None:
        """Runs the decoder; what it gives is written into `outputs`."""
        run_bound(self.decoder, inputs, outputs)

    def _logits(self, ids: Tensor, real: Tensor, fed: Tensor) -> Tensor:
        """Of whole translations at once, `rows length vocabulary`."""
        rows, length = fed.shape
        nothing = torch.empty(1, dtype=self.dtype, device=self.device)
        logits = torch.empty((rows, 1, length, self.num_ids), device=self.device)
        inputs = {"tokens": Bound.of(fed[:, None]), "real": Bound.of(real)}
        inputs |= dict(zip(self._names("source"), map(Bound.of, self.encode(ids, real)), strict=True))
        inputs |= {name: Bound(nothing, (rows, self.kv_heads, 0, self.size)) for name in self._names("past")}
        present = (rows, self.kv_heads, length, self.size)
        outputs = {
            name: Bound.of(torch.empty(present, dtype=self.dtype, device=self.device))
            for name in self._names("present")
        }
        run_bound(self.decoder, inputs, {"logits": Bound.of(logits), **outputs})
        return logits[:, 0]

    def _names(self, kind: str) -> list[str]:
        return [f"{kind}.{layer}.{part}" for layer in range(self.layers) for part in ("keys", "values")]

    def _padded(self, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        return padded(rows, pad=self.settings.pad, device=self.device)
