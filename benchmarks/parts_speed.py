"""What each part of a layer costs: a training step of the base translator with it, beside one of the default.

    python benchmarks/parts_speed.py --out parts_speed.json [--seconds 230] [--compile]
    python benchmarks/parts_speed.py --out /tmp/parts.json --device cpu --preset tiny --tokens 512 --seconds 20

Each part is measured in a model of its own, on packs whose segments are as long as sentences (27 tokens on average), in
bfloat16 under autocast on a GPU: forward, loss, backward and AdamW. The default is measured first, in the middle and
last, which shows how far the card drifts. Figures are medians of steps by CUDA events; tokens are real ones of source
and target. Parts of language models alone are measured in a decoder, which reads the targets, beside one without them.
Every part gets an equal share of `--seconds`. A part that fails is recorded with its error.

Without `--compile` the operations are launched one by one, so that a part that makes many small ones looks slower than
it is in a run that compiles its layers; with it the first steps of each part go to compiling, about half a minute.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from pathlib import Path
from typing import get_args

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "site")]  # as benchmarks/lab_on_gpu.py packs them

from trimtab.config.decoder_model import DecoderModel  # noqa: E402
from trimtab.config.layer_parts import Activation, NormPosition  # noqa: E402
from trimtab.config.model import EncoderDecoderModel  # noqa: E402
from trimtab.config.positions import EncoderPositions  # noqa: E402
from trimtab.model.decoder_only import DecoderOnly  # noqa: E402
from trimtab.model.encoder_decoder import EncoderDecoder  # noqa: E402
from trimtab.model.router import router_losses  # noqa: E402
from trimtab.types import PackedBatch, Stream  # noqa: E402

IDS, LONGEST, MEAN = 16000, 128, 27
WARM_UP, FEWEST = 3, 5
"""Steps that are not counted, and that are at least."""
DEFAULT = {}
DECODER = "decoder, default"
"""Parts of language models alone are measured beside it."""


def parts():
    """Each part by its name, with what it changes of the preset; those that can be combined are measured alone."""
    plain = EncoderDecoderModel(preset="tiny")
    yield from ((f"positions: {each}", {"positions": each}) for each in plain_positions(plain))
    yield "decoder_positions: alibi", {"decoder_positions": "alibi"}
    yield "decoder_positions: none", {"decoder_positions": "none"}
    for each in get_args(NormPosition):
        if each not in (plain.norm_position, "none"):
            yield f"norm_position: {each}", {"norm_position": each}
    yield "rezero", {"rezero": True}
    yield "norm_position: none, rezero", {"norm_position": "none", "rezero": True}
    yield "norm: rms", {"norm": "rms"}
    yield "qk_norm", {"qk_norm": True}
    yield "bias: false", {"bias": False}
    yield "registers: 4", {"registers": 4}
    yield "encoder_mix: softmax", {"encoder_mix": "softmax"}
    yield (
        "experts: 8, 2 active, each half as wide",
        {"experts": {"count": 8, "active": 2}, "feed_forward": None},
    )
    yield "experts: 8, 1 active", {"experts": {"count": 8, "active": 1}}
    for each in get_args(Activation):
        if each not in (plain.activation, "swish"):
            yield f"activation: {each}", {"activation": each}
    yield DECODER, {"kind": "decoder"}
    for capacity in (0.5, 0.125):
        yield (
            f"decoder, mixture_of_depths: {capacity}",
            {"kind": "decoder", "mixture_of_depths": {"capacity": capacity}},
        )


def plain_positions(plain):
    """Kinds of positions; of those that combine two, one for each relative kind."""
    for each in get_args(EncoderPositions):
        if each != plain.positions and not each.startswith("learned+"):
            yield each


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--tokens", type=int, default=16384, help="target tokens of a pack")
    parser.add_argument("--seconds", type=float, default=230)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", default="", help="measure the parts alone whose names contain this")
    args = parser.parse_args()
    begun = time.perf_counter()
    chosen = [each for each in parts() if args.only in each[0]]
    half = len(chosen) // 2
    queue = [
        ("default", DEFAULT), *chosen[:half], ("default, again", DEFAULT), *chosen[half:], ("default, last", DEFAULT)
    ]  # fmt: skip
    batches = [pack(args.tokens, seed=seed, device=args.device) for seed in range(2)]
    result = {
        "question": "a training step of the base translator with each part, beside the default",
        "card": torch.cuda.get_device_name() if args.device == "cuda" else "CPU",
        "torch": torch.__version__,
        "command": "python benchmarks/parts_speed.py " + " ".join(sys.argv[1:]),
        "preset": args.preset,
        "parts": {},
    }
    for number, (name, changes) in enumerate(queue):
        left = args.seconds - (time.perf_counter() - begun)
        share = left / (len(queue) - number)
        try:
            found = measured(args, changes, batches, until=time.perf_counter() + share)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:500]}
        finally:
            gc.collect()
            torch.cuda.empty_cache() if args.device == "cuda" else None
        result["parts"][name] = found
        beside = DECODER if changes.get("kind") == "decoder" else "default"
        reference = result["parts"].get(beside, {}).get("ms")
        if reference and "ms" in found:
            found["of_default"] = round(found["ms"] / reference, 3)
        print(f"{time.perf_counter() - begun:4.0f} s  {name:<32}{json.dumps(found)}", flush=True)
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if any("error" in each for each in result["parts"].values()) else 0


def measured(args, changes, batches, *, until):
    """Milliseconds of a step, tokens a second, and the largest memory in use."""
    if changes.get("kind") == "decoder":
        config = DecoderModel(preset=args.preset, **changes)
        return timed(
            args, DecoderOnly(config, num_ids=IDS, max_positions=LONGEST, seed=1), batches, until=until
        )
    plain = EncoderDecoderModel(preset=args.preset)
    if "feed_forward" in changes:  # so that two active experts compute what the one block does
        changes = {**changes, "feed_forward": plain.feed_forward // 2}
    config = EncoderDecoderModel(preset=args.preset, **changes)
    model = EncoderDecoder(config, num_ids=IDS, max_positions=LONGEST, seed=1)
    return timed(args, model, batches, until=until)


def timed(args, model, batches, *, until):
    torch.manual_seed(0)
    model = model.to(args.device)
    on_gpu = args.device == "cuda"
    if on_gpu:
        model.kernel = "varlen"
        torch.cuda.reset_peak_memory_stats()
    if args.compile:
        model.compile_blocks()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=on_gpu)
    model.train()

    def step(batch):
        with torch.autocast(args.device, torch.bfloat16, enabled=on_gpu):
            hidden = model(batch)
            logits = F.linear(hidden, model.output_matrix)
        loss = F.cross_entropy(logits.float(), batch.labels)
        routers = router_losses(model)
        (loss if routers is None else loss + routers).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for number in range(WARM_UP):
        loss = step(batches[number % len(batches)])
    taken = []
    while len(taken) < FEWEST or time.perf_counter() < until:
        taken.append(clocked(lambda: step(batches[len(taken) % len(batches)]), on_gpu=on_gpu))
    ms = statistics.median(taken)
    tokens = sum(sum(model.tokens_read(each).values()) for each in batches) / len(batches)
    found = {
        "ms": round(ms, 2),
        "spread": round(statistics.quantiles(taken, n=10)[-1] / ms, 3),
        "steps": len(taken),
        "tokens_per_second": round(tokens / ms * 1000),
        "parameters": model.num_parameters(),
        "loss": round(float(loss.detach()), 3),
    }
    if on_gpu:
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return found


def clocked(work, *, on_gpu):
    """Milliseconds of a call: on the GPU between events, so that the host's launching counts where it is slower."""
    if not on_gpu:
        begun = time.perf_counter()
        work()
        return (time.perf_counter() - begun) * 1000
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def pack(tokens, *, seed, device):
    """A pack whose segments are as long as sentences are, the last of each side cut off."""
    generator = torch.Generator().manual_seed(seed)
    lengths = []
    while sum(lengths) < tokens:
        drawn = 4 + torch.empty(1).exponential_(1 / (MEAN - 4), generator=generator).item()
        lengths.append(min(int(drawn), LONGEST, tokens - sum(lengths)))
    streams = [stream(lengths, generator=generator, device=device) for _ in range(2)]
    labels = torch.randint(4, IDS, (tokens,), generator=generator).to(device)
    return PackedBatch(*streams, labels, len(lengths), tokens, 2 * tokens)


def stream(lengths, *, generator, device):
    sizes = torch.tensor(lengths)
    cu_seqlens = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]).to(torch.int32)
    ids = torch.randint(4, IDS, (int(sizes.sum()),), generator=generator)
    positions = torch.cat([torch.arange(length) for length in lengths])
    segments = torch.repeat_interleave(torch.arange(len(lengths)), sizes)
    return Stream(*(each.to(device) for each in (ids, positions, segments, cu_seqlens)), LONGEST)


if __name__ == "__main__":
    sys.exit(main())
