"""The parts of a language model's step by themselves, in milliseconds; a part of `lm_step.py` (`base:parts`)."""

import json
import statistics
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from causal_kernels import milliseconds


def parts_of(config, args):
    """Of each part, for one pack of `--tokens-per-step` tokens, or why it failed."""
    works = {
        **attentions(config, args),
        **swiglus(config, args),
        **losses(config, args),
        **products(config, args),
        **updates(config),
    }
    told = Path(args.out).with_suffix(f".parts_{config.preset}.json")
    told.parent.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, make in works.items():
        try:
            found[name] = round(statistics.median(milliseconds(make())), 4)
        except Exception as error:  # a kernel that fails is a result too
            found[name] = f"{type(error).__name__}: {error}"[:300]
        told.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        torch.cuda.empty_cache()
    return found


def with_gradients(function, inputs, weight):
    return lambda: torch.autograd.grad(function(*inputs), inputs, weight)


def attentions(config, args):
    """Forward with backward, one layer."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from trimtab.model.attention import attend_varlen
    from trimtab.model.attention_rows import as_rows, as_stream, attend_rows
    from trimtab.model.sequence_layout import SequenceLayout

    tokens, heads, size = args.tokens_per_step, config.heads, config.size_of_heads
    cu_seqlens = torch.arange(0, tokens + 1, args.length, device="cuda", dtype=torch.int32)
    layout = SequenceLayout(cu_seqlens, args.length, None, None, full=tokens // args.length)

    def made(kernel):
        x = torch.randn(4, tokens, heads, size, device="cuda", dtype=torch.bfloat16)
        inputs = [x[i].clone().requires_grad_() for i in range(3)]
        return with_gradients(kernel, inputs, x[3])

    def by(backend):
        def kernel(*inputs):
            with sdpa_kernel(backend):
                rows = (as_rows(each, args.length) for each in inputs)
                return as_stream(F.scaled_dot_product_attention(*rows, is_causal=True))

        return kernel

    def flex():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        mask = create_block_mask(
            lambda b, h, q, k: q >= k, None, None, args.length, args.length, device="cuda"
        )
        compiled = torch.compile(flex_attention, dynamic=False)
        return made(
            lambda *each: as_stream(compiled(*(as_rows(x, args.length) for x in each), block_mask=mask))
        )

    def flash4():
        from trimtab.model.attention_flash4 import attend_flash4

        return made(partial(attend_flash4, of=layout, to=layout, causal=True))

    return {
        "attention varlen": lambda: made(partial(attend_varlen, of=layout, to=layout, causal=True)),
        "attention rows": lambda: made(partial(attend_rows, of=layout, to=layout, causal=True)),
        "attention sdpa cudnn": lambda: made(by(SDPBackend.CUDNN_ATTENTION)),
        "attention sdpa flash": lambda: made(by(SDPBackend.FLASH_ATTENTION)),
        "attention flex": flex,
        "attention flash4": flash4,
        "attention error of rows": lambda: difference(made_pair(args, config, layout)),
    }


def made_pair(args, config, layout):
    """Largest relative distance of outputs and gradients of rows from those of the variable-length kernel."""
    from trimtab.model.attention import attend_varlen
    from trimtab.model.attention_rows import attend_rows

    x = torch.randn(4, args.tokens_per_step, config.heads, config.size_of_heads, device="cuda")
    found = []
    for kernel in (attend_varlen, attend_rows):
        inputs = [x[i].bfloat16().requires_grad_() for i in range(3)]
        out = kernel(*inputs, of=layout, to=layout, causal=True)
        found.append([out.detach(), *torch.autograd.grad(out, inputs, x[3].bfloat16())])
    return found


def difference(found):
    distance = max(
        float((a.float() - b.float()).norm() / a.float().norm()) for a, b in zip(*found, strict=True)
    )
    raise ValueError(f"no time, but a distance of {distance:.5f}")  # told in the same place


def swiglus(config, args):
    """Forward with backward, one layer."""
    from trimtab.model.gated import swiglu, swiglu_plain

    def made(function):
        both = torch.randn(args.tokens_per_step, 2 * config.feed_forward, device="cuda", dtype=torch.bfloat16)
        return with_gradients(function, [both.requires_grad_()], both[:, ::2].detach().contiguous())

    return {
        "swiglu": lambda: made(swiglu),
        "swiglu compiled": lambda: made(torch.compile(swiglu_plain, dynamic=False)),
    }


def losses(config, args):
    """Forward with backward over the vocabulary."""
    from trimtab.config.loss import CrossEntropyLoss
    from trimtab.loss.build import build_loss

    def made(mib):
        device = torch.device("cuda")
        loss = build_loss(CrossEntropyLoss(label_smoothing=0.0), num_ids=args.vocabulary, device=device)
        loss.chunk_bytes = mib * 2**20
        hidden = torch.randn(args.tokens_per_step, config.dim, device=device, dtype=torch.bfloat16)
        matrix = torch.randn(args.vocabulary, config.dim, device=device).mul_(0.02).requires_grad_()
        labels = torch.randint(0, args.vocabulary, (args.tokens_per_step,), device=device)
        hidden.requires_grad_()

        def call():
            with torch.autocast("cuda", dtype=torch.bfloat16):
                objective = loss(hidden, matrix, labels).objective
            return torch.autograd.grad(objective, (hidden, matrix))

        return call

    return {f"loss {mib} MiB": partial(made, mib) for mib in (128, 256, 512, 1024)}


def products(config, args):
    """One product of each shape, forward, and both of its gradients, in bfloat16 and float8."""
    tokens, found = args.tokens_per_step, {}
    shapes = {
        "qkv": (config.dim, 3 * config.dim),
        "out": (config.dim, config.dim),
        "up": (config.dim, 2 * config.feed_forward),
        "down": (config.feed_forward, config.dim),
    }
    for name, (inner, outer) in shapes.items():
        sizes = {"": (tokens, inner, outer), " dx": (tokens, outer, inner), " dw": (outer, tokens, inner)}
        for kind, (rows, depth, columns) in sizes.items():
            found[f"product {name}{kind} bf16"] = partial(bfloat16, rows, depth, columns, kind)
            found[f"product {name}{kind} fp8 tensor"] = partial(float8, rows, depth, columns, by_row=False)
            found[f"product {name}{kind} fp8 row"] = partial(float8, rows, depth, columns, by_row=True)
    return found


def bfloat16(rows, depth, columns, kind):
    make = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    if kind == " dw":
        left, right = make(depth, rows).T, make(depth, columns)
    else:
        left, right = make(rows, depth), make(depth, columns) if kind else make(columns, depth).T
    return lambda: left @ right


def float8(rows, depth, columns, *, by_row):
    make = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    left, right = make(rows, depth).to(torch.float8_e4m3fn), make(columns, depth).to(torch.float8_e4m3fn).T
    ones = partial(torch.ones, device="cuda", dtype=torch.float32)
    scales = (ones(rows, 1), ones(1, columns)) if by_row else (ones(()), ones(()))
    return lambda: torch._scaled_mm(left, right, *scales, out_dtype=torch.bfloat16, use_fast_accum=True)


def updates(config):
    """Clip and optimizer over as many float32 weights as the layers have."""
    from trimtab.config.optimizers import AdamW
    from trimtab.step.clip.global_norm import GlobalNormClip
    from trimtab.step.optimizer.build import build_optimizer

    def made(what):
        sizes = ((3 * config.dim, config.dim), (config.dim, config.dim))
        sizes += ((2 * config.feed_forward, config.dim), (config.dim, config.feed_forward))
        with torch.device("cuda"):
            linears = [torch.nn.Linear(b, a, bias=False) for _ in range(config.layers) for a, b in sizes]
        model = torch.nn.ModuleList(linears)
        for each in model.parameters():
            each.grad = torch.full_like(each, 1e-4)
        optimizer, clip = build_optimizer(AdamW(learning_rate=1e-4), model), GlobalNormClip(1.0)
        rate, skip = torch.tensor(1e-4, device="cuda"), torch.tensor(data=False, device="cuda")
        gradients = [each.grad for each in model.parameters()]
        calls = {
            "adamw": lambda: optimizer.update(learning_rate=rate, skip=skip),
            "clip": lambda: clip(gradients),
        }
        return calls[what]

    return {name: partial(made, name) for name in ("adamw", "clip")}
