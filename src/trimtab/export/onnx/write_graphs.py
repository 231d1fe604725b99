"""The graphs and weights of an export as files, with the first set of operators that computes what the trainer does."""

from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from trimtab.errors import RunFailed
from trimtab.export.byte_products import FULL, REDUCED, largest_weight
from trimtab.export.gate import BOUND
from trimtab.export.onnx.decoder import decoder_graph
from trimtab.export.onnx.encoder import encoder_graph
from trimtab.export.onnx.engine import open_onnx
from trimtab.export.onnx.files import DECODER, ENCODER, OPSETS, SETTINGS, WEIGHTS
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import Rounding
from trimtab.export.onnx.store import Store
from trimtab.export.plain_files import write_object
from trimtab.export.target import Trained, translator_of
from trimtab.export.trainer import token_log_probabilities
from trimtab.types import Ragged

REDUCED_KIND = "int8_reduced"
TRIED_ROWS = 6


def write_graphs(trained: Trained, folder: Path, *, kind: str) -> None:
    """Writes everything that ONNX Runtime needs, with weights of a kind.

    Opsets are tried from the oldest, which most runtimes read, until the graphs in float32 give the log-probabilities
    of the trainer. Raises RunFailed, with what each of them gave, where none does.
    """
    told: list[str] = []
    for opset in OPSETS:
        with TemporaryDirectory(dir=folder, prefix=".opset-") as trial:
            write_at(trained, Path(trial), opset=opset)
            try:
                difference = worst_difference(trained, Path(trial))
            except Exception as error:  # a library may raise anything, and all of it is reported
                told.append(f"opset {opset}: {' '.join(str(error).split())[:200]}")
                continue
            if difference <= BOUND:
                if kind == "float32":
                    for each in Path(trial).iterdir():
                        each.rename(folder / each.name)
                else:
                    write_at(trained, folder, opset=opset, kind=kind)
                return
            told.append(f"opset {opset}: a token differs by {difference:.1e}")
    raise RunFailed(
        "no ONNX operator set reproduces the trainer's results; nothing was written\n"
        + "\n".join(f"  got     {each}" for each in told)
        + "\n  fix     install another onnxruntime, or report this with its version"
    )


def write_at(trained: Trained, folder: Path, *, opset: int, kind: str = "float32") -> None:
    """Writes weights, both graphs and settings for one opset."""
    largest = REDUCED if kind == REDUCED_KIND else largest_weight() if kind == "int8" else FULL
    network = translator_of(trained)
    with Store(folder / WEIGHTS) as store:
        graphs = {
            ENCODER: encoder_graph(_nodes(store, opset, kind, largest), network),
            DECODER: decoder_graph(_nodes(store, opset, kind, largest), network),
        }
    for name, graph in graphs.items():
        (folder / name).write_bytes(graph.SerializeToString(deterministic=True))
    target = trained.tokenizer
    settings = {
        "weights": "int8" if kind == REDUCED_KIND else kind,
        "largest": largest,
        "opset": opset,
        "positions": network.max_positions,
        **{name: getattr(target, name) for name in ("start", "end", "pad", "unknown")},
        "tags": list(trained.tokenizers.source.symbols),
        "max_tokens": trained.recipe.data.max_tokens,
    }
    write_object(folder / SETTINGS, settings)


@torch.inference_mode()
def worst_difference(trained: Trained, folder: Path) -> float:
    """The largest difference of a token's log-probability on some rows of ids drawn at random; NaN where one is."""
    draw, longest = np.random.default_rng(1), trained.recipe.data.max_tokens
    sides: list[Ragged] = []
    for tokenizer in (trained.tokenizers.source, trained.tokenizers.target):
        lengths = draw.integers(1, longest + 1, TRIED_ROWS)
        rows = [draw.integers(0, tokenizer.num_ids, length).tolist() for length in lengths]
        sides.append(Ragged.of(rows))
    ours = token_log_probabilities(trained, *sides)
    theirs = open_onnx(folder, device=torch.device("cpu")).log_probabilities(*sides)
    flat = [torch.tensor(list(chain.from_iterable(rows))) for rows in (ours, theirs)]
    return float((flat[0] - flat[1]).abs().max())


def _nodes(store: Store, opset: int, kind: str, largest: int) -> Nodes:
    if kind in ("int8", REDUCED_KIND):
        return Rounding(store, opset=opset, most=largest)
    return Nodes(store, opset=opset, half=kind == "float16")
