"""Tables of results that tell how much of a GPU is used: language models, and the loss over a large vocabulary."""

from collections.abc import Iterator, Mapping
from typing import Any

Result = Mapping[str, Any]

ENGINES = {
    "trimtab": "trimtab",
    "trimtab flash4": "trimtab, FlashAttention-4 installed",
    "hf": "transformers' Llama, eager",
    "hf_layers": "transformers' Llama, each layer compiled",
    "hf_compiled": "transformers' Llama, compiled as a whole",
}


def share_rows(result: Result) -> Iterator[str]:
    """A row for each size and engine: its share of the peak, and what a step took."""
    yield (
        f"Documents of {result['length']:,} tokens, {result['tokens_per_step']:,} tokens per step. FLOPs are counted "
        f"as {result['formula']}:"
    )
    yield ""
    yield "| parameters | engine | share of the peak | tokens/s | ms per step (min, max) | peak GiB |"
    yield "|---|---|---|---|---|---|"
    for name, arm in result["arms"].items():
        times = arm["step_ms_of_repetitions"]
        cells = [
            f"{arm['parameters'] / 1e6:,.0f}M",
            ENGINES[name.partition(" ")[2]],
            f"{arm['percent_of_peak']:.1f}%",
            f"{arm['tokens_per_second']:,}",
            f"{arm['step_ms']:,.0f} ({min(times):,.0f}, {max(times):,.0f})",
            str(arm.get("peak_gib", "")),
        ]
        yield f"| {' | '.join(cells)} |"


def loss_rows(result: Result) -> Iterator[str]:
    """A row for each size and kind of loss."""
    yield "Forward and backward in bfloat16. Workspace is the peak memory beyond both gradients:"
    yield ""
    yield "| tokens x width x vocabulary | loss | ms | workspace, MiB | error of the gradient |"
    yield "|---|---|---|---|---|"
    for name, arm in result["arms"].items():
        cell, kind = name.split(" ", 1)
        without = "" if arm["smoothing"] else ", no smoothing"
        yield (
            f"| {cell.replace('x', ' x ')} | {kind}{without} | {arm['ms']:.2f} | {arm['workspace_mib']:,.0f} "
            f"| {arm['error']:.4f} |"
        )
