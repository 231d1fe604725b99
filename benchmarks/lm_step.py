"""What makes a step of a language model faster: each change by itself and together, beside Llama of transformers.

    python benchmarks/lm_step.py --out result.json [--limit 340] [--seconds 5] [VARIANT ...]

A VARIANT is SIZE:WORD[,WORD ...], of which each word changes the step that `lm_speed.py` measures as `trimtab`:

- `varlen`, `flash4`, `tiles`: this attention kernel, in place of the one that is chosen by measuring;
- `plain`: SwiGLU in plain operations; without it by its own kernels;
- `micro=65536`: tokens of a pack; `chunk=512`: MiB of logits at once; `launched`: kernel by kernel, not recorded;
- `fp8`: products of the layers in float8;
- `tuned`: the compiler tries several forms of each kernel;
- `sdpa`: PyTorch's scaled_dot_product_attention over rows, by cuDNN, in place of our operator;
- `parts`: no step, but its parts by themselves, in milliseconds;
- `hf=16`: transformers' Llama, each layer compiled, in so many rows.

Each variant runs in a process of its own, which imports everything while the one before it measures. The same data and
first weights for all of trimtab's, so that their losses can be compared. Formula and peak: see `lm_speed.py`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

KERNELS_TOLD = 25
PLAN = (
    *("big:micro=32768", "base:micro=65536", "big:hf=16", "base:hf=32"),
    *(
        "big:micro=32768,fp8",
        "base:micro=65536,fp8",
        "big:micro=32768,chunk=512",
        "base:micro=65536,chunk=512",
    ),
    *("base:varlen,plain,micro=32768", "big:varlen,plain,micro=16384", "base:micro=32768", "big:micro=16384"),
    *(
        "base:micro=65536,tuned",
        "base:flash4,micro=65536",
        "big:flash4,micro=32768",
        "base:parts",
        "big:parts",
    ),
)


def main():
    args = arguments()
    if args.worker:
        return work(args)
    from record import Record

    record = Record(
        args.out,
        question="what makes a step of a language model faster",
        device=args.device,
        formula="6 * multiplying parameters * tokens + 12 * layers * dim * causal pairs; of 989 TFLOP/s",
        length=args.length,
        tokens_per_step=args.tokens_per_step,
    )
    until, variants = time.perf_counter() + args.limit, args.variants or PLAN
    prepared = started(args, variants[0])
    for number, variant in enumerate(variants):
        child = prepared
        prepared = started(args, variants[number + 1]) if number + 1 < len(variants) else None
        left = until - time.perf_counter()
        record.arm(variant, partial(answer, child, left))
        if left < 0:
            break
    if prepared is not None:
        prepared.kill()
    shares = {name: arm["percent_of_peak"] for name, arm in record.arms.items() if "percent_of_peak" in arm}
    print(json.dumps(shares, indent=0), flush=True)
    return None


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--length", type=int, default=2048, help="tokens of each document")
    parser.add_argument("--tokens-per-step", type=int, default=65536)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--seconds", type=float, default=5, help="measured of each variant")
    parser.add_argument("--limit", type=float, default=340, help="seconds after which no variant begins")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--worker", action="store_true", help="used by the script itself")
    parser.add_argument("--no-profile", action="store_true")
    parser.add_argument("variants", nargs="*")
    return parser.parse_args()


def started(args, variant):
    """A process that has begun to import what it needs, and waits."""
    words = [sys.executable, __file__, "--worker", "--out", args.out, "--seconds", str(args.seconds)]
    words += ["--length", str(args.length), "--tokens-per-step", str(args.tokens_per_step)]
    words += ["--vocabulary", str(args.vocabulary), "--device", args.device]
    words += ["--no-profile"] * args.no_profile
    return subprocess.Popen([*words, variant], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(child, left):
    """What the process finds out once it may begin."""
    if left < 0:
        child.kill()
        raise TimeoutError("no time left")
    try:
        out, _ = child.communicate("begin\n", timeout=max(60.0, left + 20))
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    if child.returncode:
        raise RuntimeError(f"exit code {child.returncode}: {out[-800:]}")
    return json.loads(out.splitlines()[-1])


# In a process of its own.


def work(args):
    import torch

    (variant,) = args.variants
    size, _, words = variant.partition(":")
    options = dict(word.partition("=")[::2] for word in words.split(","))
    run = theirs if "hf" in options else only_parts if "parts" in options else ours
    import lm_clock  # noqa: F401

    import trimtab.model.decoder_only  # noqa: F401

    if "hf" in options:
        import transformers.models.llama.modeling_llama  # noqa: F401
    else:
        import lm_speed  # noqa: F401
        import torch._dynamo
    sys.stdin.readline()
    args.device = torch.device(args.device)
    try:
        found = run(args, size, options)
    except Exception as error:
        import traceback

        traceback.print_exc()
        print(f"{type(error).__name__}: {error}"[:700], flush=True)
        sys.exit(1)
    print(json.dumps(found))


def only_parts(args, size, options):
    from lm_step_parts import parts_of

    from trimtab.config.decoder_model import DecoderModel

    return {"parts_ms": parts_of(DecoderModel(preset=size), args)}


def theirs(args, size, options):
    import numpy as np
    from lm_clock import operations_of, peak
    from lm_llama import llama, llama_step

    from trimtab.config.decoder_model import DecoderModel

    model, optimizer = llama(args, size)
    for layer in model.model.layers:
        layer.compile()
    rows = int(options["hf"])
    step = partial(llama_step, args, model, model, optimizer, rows)
    lengths = np.full(args.tokens_per_step // args.length, args.length)
    operations = operations_of(DecoderModel(preset=size), args.vocabulary, lengths)
    return {**measured(args, step, operations), **peak(args), **profiled(args, step)}


def ours(args, size, options):
    import lm_speed
    import torch
    from lm_clock import BETAS, DECAY, RATE, peak

    from trimtab.config.decoder_model import DecoderModel
    from trimtab.config.loss import CrossEntropyLoss
    from trimtab.config.optimizers import AdamW
    from trimtab.loss.build import build_loss
    from trimtab.model.decoder_only import DecoderOnly
    from trimtab.step.optimizer.build import build_optimizer
    from trimtab.step.precision import autocast
    from trimtab.step.step_graphs import StepGraphs
    from trimtab.step.take_step import take_step

    cuda = args.device.type == "cuda"
    args.documents = "full"
    micro = int(options.get("micro", args.tokens_per_step))
    switch(options, args)
    config = DecoderModel(preset=size)
    with torch.device(args.device):
        model = DecoderOnly(config, num_ids=args.vocabulary, max_positions=args.length, seed=1)
    loss = build_loss(CrossEntropyLoss(label_smoothing=0.0), num_ids=args.vocabulary, device=args.device)
    if "chunk" in options:
        loss.chunk_bytes = int(options["chunk"]) * 2**20
    if cuda:
        model.kernel = "varlen"
        model.compile_blocks()
    precision = "bf16_mixed" if cuda else "fp32"

    def objective(pack):
        with autocast(precision, args.device):
            return loss(model(pack), model.output_matrix, pack.labels)

    steps, operations = lm_speed.windows(args, config, micro)
    parts = lm_speed.parts_of_step(args.device)
    optimizer = build_optimizer(AdamW(learning_rate=RATE, betas=BETAS, weight_decay=DECAY), model)
    recorded = cuda and "launched" not in options
    take = StepGraphs(device=args.device).take_step if recorded else take_step
    step = partial(lm_speed.run_step, take, objective, optimizer, steps, parts)
    return {
        **measured(args, step, operations),
        "tokens_per_pack": micro,
        **peak(args),
        **profiled(args, step),
    }


def switch(options, args):
    """Takes another kernel than the one that is chosen by itself."""
    import torch

    import trimtab.model.feed_forward as feed_forward
    import trimtab.model.sequence_layout as layouts
    import trimtab.model.transformer as transformer
    from trimtab.model.gated import swiglu_plain

    if "plain" in options:
        feed_forward.swiglu = swiglu_plain
    if "flash4" in options:
        assert layouts.flash4_runs_on(torch.device("cuda")), "flash-attn-4 does not run here"
    else:
        layouts.flash4_runs_on = lambda _: False
    import trimtab.model.decoder_only as decoder_only

    if options.keys() & {"varlen", "flash4", "tiles", "sdpa"}:
        decoder_only.rows_are_faster = lambda *_, **__: False
    if "sdpa" in options:
        import torch.nn.functional as F
        from torch.nn.attention import SDPBackend, sdpa_kernel

        import trimtab.model.block as block
        from trimtab.model.attention_rows import as_rows

        def attend(queries, keys, values, *, causal, **_):
            rows = (as_rows(each, args.length) for each in (queries, keys, values))
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                mixed = F.scaled_dot_product_attention(*rows, is_causal=causal)
            return mixed.transpose(1, 2).flatten(0, 1)

        block.attend = attend
    if "fp8" in options:
        from lm_float8 import float8_product

        import trimtab.model.block as blocks

        class Linear(torch.nn.Linear):
            def forward(self, x):
                return float8_product(x, self.weight)

        for module in (blocks, feed_forward):
            module.nn = SimpleNamespace(**{**vars(torch.nn), "Linear": Linear})
    if "tiles" in options:
        layouts.LONGEST = args.length
    if "tuned" in options:
        known = transformer.inductor_options

        def tuned(norm):
            return {**known(norm), "coordinate_descent_tuning": True}

        transformer.inductor_options = tuned


def measured(args, step, operations):
    """Medians over repetitions after a warm-up; the losses of the first steps, which all have the same data."""
    from lm_clock import PEAK, REPETITIONS, timed

    begun = time.perf_counter()
    losses = [float(step(0))]
    first = time.perf_counter() - begun
    losses += [round(float(step(number)), 5) for number in range(1, 6)]
    once = timed(args, step, 1)
    steps = max(1, round(args.seconds / REPETITIONS / once))
    each, told = [], []
    for _ in range(REPETITIONS):
        each.append(timed(args, step, steps))
        told.append(clocks(args))
    middle = statistics.median(each)
    return {
        "percent_of_peak": round(100 * operations / middle / PEAK, 2),
        "tokens_per_second": round(args.tokens_per_step / middle),
        "step_ms": round(1000 * middle, 2),
        "step_ms_of_repetitions": [round(1000 * seconds, 2) for seconds in each],
        "steps_of_a_repetition": steps,
        "seconds_of_first_step": round(first, 1),
        "losses": losses,
        "clocks": told,
    }


def clocks(args):
    """Clock of the processors and power, right after work: a card that is hot or short of power runs slower."""
    if args.device.type != "cuda":
        return None
    words = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw,temperature.gpu", "--format=csv,noheader"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.splitlines()[0] if told.stdout else None


def profiled(args, step):
    """The kernels that take the most of a step."""
    import lm_clock

    if args.no_profile:
        return {}
    lm_clock.KERNELS_TOLD = KERNELS_TOLD
    step(0)
    return {"kernels": lm_clock.kernels(step, args)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
