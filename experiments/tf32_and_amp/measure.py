"""How fast and how exact are TF32 and half precision, and from which batch on does autocast save memory?

    python experiments/tf32_and_amp/measure.py           # needs a GPU with TF32; half a minute

Products of square matrices in float32, TF32, float16 and bfloat16: their rate, and the error of a part of them against
float64. Then steps of a decoder of four layers and 512 numbers, on batches of 1 to 256 rows of 128 tokens, in TF32 and
under autocast with bfloat16: their time and the largest memory.
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from experiment import Claim, Experiment, Numbers, main
from torch import nn

KINDS = {
    "fp32": (torch.float32, False), "tf32": (torch.float32, True), "fp16": (torch.float16, False),
    "bf16": (torch.bfloat16, False),
}  # fmt: skip
SIDE, QUICK_SIDE, REPEATED, LOOKED_AT = 8192, 256, 10, 64
ROWS, QUICK_ROWS, TOKENS, DIM, LAYERS, PIECES = (1, 16, 256), (1, 2), 128, 512, 4, 8192


def measure(seed: int, quick: bool) -> Numbers:
    """TFLOP/s and relative errors of products; milliseconds and MiB of steps."""
    torch.manual_seed(seed)
    side = QUICK_SIDE if quick else SIDE
    a, b = torch.randn(2, side, side, device="cuda", dtype=torch.float64)
    exact = a[:LOOKED_AT] @ b
    found: Numbers = {"rate": {}, "error": {}, "step ms": {}, "step MiB": {}}
    for kind, (dtype, tf32) in KINDS.items():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        one, other = a.to(dtype), b.to(dtype)
        ms = clocked(lambda one=one, other=other: one @ other)
        found["rate"][kind] = 2 * side**3 / ms / 1e9
        found["error"][kind] = float(((one @ other)[:LOOKED_AT].double() - exact).norm() / exact.norm())
    del a, b, exact
    for rows in QUICK_ROWS if quick else ROWS:
        for kind in ("fp32", "tf32", "autocast"):
            ms, mib = stepped(rows, kind)
            found["step ms"][f"{kind}, {rows}"], found["step MiB"][f"{kind}, {rows}"] = ms, mib
    return found


def clocked(work: Any) -> float:
    """Milliseconds of a call, the median of a few."""
    times = []
    for number in range(REPEATED + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if number >= 3:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def stepped(rows: int, kind: str) -> tuple[float, float]:
    """Milliseconds of forward, backward and AdamW, and the largest memory in MiB."""
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    layer = nn.TransformerEncoderLayer(DIM, 8, 4 * DIM, dropout=0.0, batch_first=True, norm_first=True)
    layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(PIECES, DIM), layers, nn.Linear(DIM, PIECES)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    ids = torch.randint(PIECES, (rows, TOKENS), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "autocast"):
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    torch.cuda.reset_peak_memory_stats()
    ms = clocked(step)
    found = ms, torch.cuda.max_memory_allocated() / 2**20
    del model, optimizer
    torch.cuda.empty_cache()
    return found


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By ratios, the least and the largest of the seeds."""
    seeds = [*result["seeds"].values()]
    batches = [key.partition(", ")[2] for key in seeds[0]["step ms"] if key.startswith("tf32")]
    few, many = batches[0], batches[-1]

    def ratios(table: str, one: str, other: str) -> list[float]:
        return [seed[table][one] / seed[table][other] for seed in seeds]

    rate, error = ratios("rate", "tf32", "fp16"), ratios("error", "tf32", "fp16")
    coarse = ratios("error", "bf16", "tf32")
    faster = ratios("step ms", f"fp32, {many}", f"autocast, {many}")
    than_tf32 = ratios("step ms", f"tf32, {many}", f"autocast, {many}")
    little, much = (ratios("step MiB", f"autocast, {rows}", f"tf32, {rows}") for rows in (few, many))
    return [
        Claim(
            f"products in TF32 run at {min(rate):.2f} to {max(rate):.2f} of that in float16, predicted at most 0.65",
            max(rate) <= 0.65,
        ),
        Claim(
            f"their error is {min(error):.1f} to {max(error):.1f} times that of float16, which has as many digits, "
            f"predicted at most 2; that of bfloat16 {min(coarse):.1f} to {max(coarse):.1f} times theirs, predicted at "
            "least 4",
            max(error) <= 2 and min(coarse) >= 4,
        ),
        Claim(
            f"a step of {many} rows under autocast is {min(faster):.1f} to {max(faster):.1f} times as fast as in "
            f"float32, predicted at least 2, and {min(than_tf32):.1f} to {max(than_tf32):.1f} times as in TF32, "
            "predicted less than 2.5",
            min(faster) >= 2 and max(than_tf32) < 2.5,
        ),
        Claim(
            f"autocast takes {min(little):.2f} to {max(little):.2f} of the memory of TF32 with {few} row, predicted at "
            f"least 0.97, and {min(much):.2f} to {max(much):.2f} with {many}, predicted at most 0.8",
            min(little) >= 0.97 and max(much) <= 0.8,
        ),
    ]


EXPERIMENT = Experiment(
    name="tf32_and_amp/measure",
    question="How fast and how exact are TF32 and half precision, and from which batch on does autocast save memory?",
    arms=tuple(KINDS),
    measure=measure,
    measures="TFLOP/s and relative errors of products; milliseconds and largest memory of steps",
    expect="TF32 is as exact as float16 and half as fast; autocast doubles the speed and saves memory in large batches",
    rule="ratios, of every seed",
    decide=decide,
    budget="half a minute of a GPU",
    supports=("S2-13", "S2-17"),
    seeds=(1, 2, 3, 4, 5),
    on_gpu=True,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
