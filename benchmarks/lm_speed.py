"""What share of a GPU's arithmetic does training a language model reach? trimtab's step beside Llama of transformers.

    python benchmarks/lm_speed.py --out result.json [--sizes base,big] [--arms trimtab,hf,hf_layers,hf_compiled]
        [--length 2048] [--documents full|mixed] [--seconds 12] [--limit 230] [--profile] [KEY=VALUE ...]

Both train a model of the same sizes (those of trimtab's presets with 32,000 ids; KEY=VALUE changes trimtab's, such as
`residual=float32`) on random tokens, in bfloat16 under autocast with float32 weights and AdamW, the same number of
tokens in a step. Each figure is the median of five repetitions; every repetition is recorded.

- `trimtab`: the step as `trimtab train` takes it, with clip, guard and compiled blocks: recorded as a CUDA graph
  (`graphed`), and as plain launches (`plain`);
- `hf`: `LlamaForCausalLM` with SDPA, forward and backward of each micro-batch, clipping, fused AdamW: what Trainer does
  in a step, without its data loader; with the best of a few sizes of a micro-batch;
- `hf_layers`: the same with each layer compiled by itself, which takes little time to compile;
- `hf_compiled`: the same under torch.compile, as `torch_compile: true` has it; both with the rows that were best.

Formula. Operations of a step = 6 × P × tokens + 12 × layers × dim × pairs. P are the weights that multiply: those of
linear maps and of the output matrix, not those of the input embedding and of the norms. Pairs are the pairs of tokens
that attend to each other: n (n + 1) / 2 for a document of n tokens. The share is of 989 TFLOP/s, what an H100 or H200
does in dense bfloat16 by its data sheet. `--documents mixed` packs documents of many lengths, of which rows of
transformers know nothing: there, `hf` attends across them, and is told by the same formula for whole rows.
"""

import argparse
import gc
import json
import time
from functools import partial

import numpy as np
import torch
from lm_clock import BETAS, DECAY, RATE, WINDOWS, kernels, measured, operations_of, peak, reset
from lm_llama import theirs
from record import Record

import trimtab.model.sequence_layout
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.guard import GuardConfig
from trimtab.config.loss import CrossEntropyLoss
from trimtab.config.optimizers import AdamW
from trimtab.config.overrides import apply_overrides
from trimtab.config.step import ClipGlobalNorm
from trimtab.loss.build import build_loss
from trimtab.model.attention_flash4 import flash4_runs_on
from trimtab.model.decoder_only import DecoderOnly
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.precision import autocast
from trimtab.step.step_graphs import WARM_UP_STEPS, StepGraphs
from trimtab.step.take_step import take_step
from trimtab.types import PackedBatch, Stream

MICRO = {"tiny": 32768, "small": 65536, "base": 32768, "big": 16384}
"""Tokens of a pack where nothing is said."""
MEAN_LENGTH, SPREAD, SHORTEST = 600, 1.0, 16
"""Of `--documents mixed`: mean of the lengths, standard deviation of their logarithms, and the least of them."""


def main():
    args = arguments()
    args.device = torch.device(args.device)
    record = Record(
        args.out,
        question="share of a GPU's arithmetic in training language models: trimtab beside transformers",
        device=args.device.type,
        formula="6 * multiplying parameters * tokens + 12 * layers * dim * causal pairs; of 989 TFLOP/s",
        length=args.length,
        documents=args.documents,
        tokens_per_step=args.tokens_per_step,
    )
    if args.attention:
        use(args.attention)
    args.until = time.perf_counter() + args.limit
    arms = {
        "trimtab": ours,
        "hf": theirs,
        "hf_layers": partial(theirs, compiled="layers"),
        "hf_compiled": partial(theirs, compiled="whole"),
    }
    args.best_rows = {}
    for size in args.sizes.split(","):
        for arm in args.arms.split(","):
            record.arm(f"{size} {arm}", partial(in_time, args, partial(arms[arm], args, size)))
            gc.collect()
            if args.device.type == "cuda":
                torch.cuda.empty_cache()
    print(json.dumps({name: arm["percent_of_peak"] for name, arm in record.arms.items()}), flush=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--sizes", default="base,big")
    parser.add_argument("--arms", default="trimtab,hf,hf_compiled")
    parser.add_argument("--length", type=int, default=2048, help="tokens of the longest document")
    parser.add_argument("--documents", default="full", choices=["full", "mixed"])
    parser.add_argument("--tokens-per-step", type=int, default=65536)
    parser.add_argument("--micro", help="tokens of a pack of trimtab, tried as they come: 16384,32768")
    parser.add_argument("--hf-rows", help="rows of a micro-batch of transformers, tried as they come: 8,16")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--seconds", type=float, default=12, help="measured of each arm")
    parser.add_argument("--limit", type=float, default=230, help="seconds after which no arm begins")
    parser.add_argument(
        "--attention", choices=["varlen", "flash4"], help="trimtab's kernel, where it is not to choose"
    )
    parser.add_argument("--launches", default="graphed,plain", help="of trimtab, on a GPU")
    parser.add_argument("--profile", action="store_true", help="tell the kernels of trimtab's step too")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def use(attention):
    """One kernel for long documents, whatever is installed."""
    if attention == "flash4":
        assert flash4_runs_on(torch.device("cuda")), "flash-attn-4 does not run here"
    else:
        trimtab.model.sequence_layout.flash4_runs_on = lambda _: False


def in_time(args, work):
    if time.perf_counter() > args.until:
        raise TimeoutError("no time left")
    return work()


# trimtab.


def ours(args, size):
    """The best of the sizes of a pack, if there are several."""
    micros = [int(each) for each in args.micro.split(",")] if args.micro else [MICRO[size]]
    found = []
    for micro in micros:
        found.append(with_packs(args, size, micro))
        gc.collect()
    best = max(found, key=lambda each: each["tokens_per_second"])
    return {**best, "tried": {each["tokens_per_pack"]: each["tokens_per_second"] for each in found}}


def parts_of_step(device):
    """What `take_step` takes besides objective, optimizer and batches."""
    return {
        "clip": build_clip(ClipGlobalNorm()),
        "scale": LossScale(enabled=False, device=device),
        "gate": OutlierGate(GuardConfig()),
        "learning_rate": RATE,
    }


def with_packs(args, size, micro):
    config = DecoderModel(**apply_overrides({"preset": size}, tuple(args.overrides))[0])
    cuda = args.device.type == "cuda"
    begun = reset(args)
    model = DecoderOnly(config, num_ids=args.vocabulary, max_positions=args.length, seed=1).to(args.device)
    loss = build_loss(CrossEntropyLoss(label_smoothing=0.0), num_ids=args.vocabulary, device=args.device)
    if cuda:
        model.kernel = "varlen"
        model.compile_blocks()
    precision = "bf16_mixed" if cuda else "fp32"

    def objective(pack):
        with autocast(precision, args.device):
            return loss(model(pack), model.output_matrix, pack.labels)

    built = time.perf_counter() - begun
    steps, operations = windows(args, config, micro)
    parts = parts_of_step(args.device)
    optimizer = build_optimizer(AdamW(learning_rate=RATE, betas=BETAS, weight_decay=DECAY), model)
    takers = {"plain": take_step}
    if cuda:
        takers = {"graphed": StepGraphs(device=args.device).take_step, **takers}
        takers = {name: takers[name] for name in args.launches.split(",")}
    found = {}
    for name, take in takers.items():
        step = partial(run_step, take, objective, optimizer, steps, parts)
        found[name] = measured(args, step, operations, warm=WARM_UP_STEPS + 2)
    if args.profile:
        found["kernels"] = kernels(partial(run_step, take_step, objective, optimizer, steps, parts), args)
    return {
        **found[next(iter(takers))],
        "parameters": model.num_parameters(),
        "tokens_per_pack": micro,
        "packs_per_step": len(steps[0]),
        "model": config.model_dump(exclude={"warm_start", "warm_start_sha256"}),
        "seconds_to_build": round(built, 1),
        **peak(args),
        **{name: each for name, each in found.items() if name != next(iter(takers))},
    }


def run_step(take, objective, optimizer, steps, parts, number):
    return take(objective, optimizer, steps[number % len(steps)], **parts).loss


def windows(args, config, micro):
    """The packs of a few steps on the device, and the operations of one step."""
    rng, found, operations = np.random.default_rng(0), [], 0.0
    count = -(-args.tokens_per_step // micro)
    for _ in range(WINDOWS):
        lengths = [drawn(args, rng, micro) for _ in range(count)]
        found.append([pack_of(args, rng, each) for each in lengths])
        operations += sum(map(partial(operations_of, config, args.vocabulary), lengths)) / WINDOWS
    return found, operations


def drawn(args, rng, tokens):
    """Lengths of documents that fill a pack."""
    if args.documents == "full":
        assert tokens % args.length == 0, f"{tokens} tokens are no multiple of {args.length}"
        return np.full(tokens // args.length, args.length)
    lengths = rng.lognormal(np.log(MEAN_LENGTH) - SPREAD**2 / 2, SPREAD, tokens // SHORTEST + 1).astype(int)
    lengths = np.clip(lengths, SHORTEST, args.length)
    ends = np.minimum(lengths.cumsum(), tokens)
    return np.diff(np.unique(ends), prepend=0)


def pack_of(args, rng, lengths):
    """A pack of random tokens; each document's labels are its input moved by one."""
    tokens, nothing = int(lengths.sum()), torch.zeros(0, dtype=torch.int64)
    ids = torch.from_numpy(rng.integers(4, args.vocabulary, tokens))
    ends = np.concatenate([[0], lengths.cumsum()])
    if args.documents == "mixed":
        ends = np.pad(ends, (0, tokens // SHORTEST + 2 - len(ends)), mode="edge")
    positions = np.arange(tokens) - np.repeat(lengths.cumsum() - lengths, lengths)
    target = Stream(
        ids,
        torch.from_numpy(positions),
        torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)),
        torch.from_numpy(ends.astype(np.int32)),
        args.length,
        full=len(lengths) if args.documents == "full" else 0,
    )
    source = Stream(nothing, nothing, nothing, torch.zeros_like(target.cu_seqlens), 1)
    return PackedBatch(source, target, ids.roll(-1), len(lengths), tokens, tokens).to(args.device)


if __name__ == "__main__":
    main()
