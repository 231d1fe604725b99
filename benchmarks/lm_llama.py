"""The step of Trainer with Llama of transformers, of the sizes of trimtab's presets; a part of `lm_speed.py`."""

from functools import partial

import numpy as np
import torch
from lm_clock import BETAS, DECAY, RATE, WINDOWS, measured, operations_of, peak, reset, timed

from trimtab.config.decoder_model import DECODER_PRESETS, DecoderModel

ROWS = {"tiny": "16", "small": "16,32", "base": "8,16,32", "big": "4,8,16"}
"""Rows of a micro-batch of transformers that are tried."""


def theirs(args, size, *, compiled=""):
    """The best of a few sizes of a micro-batch; compiled, those rows that were best without."""
    if args.hf_rows or not (compiled and size in args.best_rows):
        rows = [int(each) for each in (args.hf_rows or ROWS[size]).split(",")]
    else:
        rows = [args.best_rows[size]]
    reset(args)
    model, optimizer = llama(args, size)
    runner = torch.compile(model) if compiled == "whole" else model
    for layer in model.model.layers if compiled == "layers" else ():
        layer.compile()
    tried = {}
    for number in rows if len(rows) > 1 else ():
        step = partial(llama_step, args, model, runner, optimizer, number)
        try:
            tried[number] = round(args.tokens_per_step / min(timed(args, step, 1) for _ in range(2)))
        except torch.cuda.OutOfMemoryError:
            tried[number] = 0
            optimizer.zero_grad()
            torch.cuda.empty_cache()
    best = max(tried, key=tried.__getitem__) if tried else rows[0]
    args.best_rows.setdefault(size, best)
    config = DecoderModel(preset=size)
    lengths = np.full(args.tokens_per_step // args.length, args.length)
    step = partial(llama_step, args, model, runner, optimizer, best)
    found = measured(args, step, operations_of(config, args.vocabulary, lengths), warm=3)
    import transformers

    return {
        **found,
        "parameters": sum(each.numel() for each in model.parameters()),
        "rows": best,
        "tried": tried,
        "transformers": transformers.__version__,
        **peak(args),
    }


def llama(args, size):
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = DECODER_PRESETS[size]
    config = LlamaConfig(
        vocab_size=args.vocabulary,
        hidden_size=shape["dim"],
        intermediate_size=shape["feed_forward"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        max_position_embeddings=args.length,
        tie_word_embeddings=True,
        use_cache=False,
        attn_implementation="sdpa",
    )
    torch.manual_seed(1)
    with torch.device(args.device):
        model = LlamaForCausalLM(config).float().train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, betas=BETAS, weight_decay=DECAY, fused=args.device.type == "cuda"
    )
    return model, optimizer


def llama_step(args, model, runner, optimizer, rows, number):
    """What Trainer does in one step: each micro-batch's sum divided by the tokens of all."""
    cuda = args.device.type == "cuda"
    generator = torch.Generator(args.device).manual_seed(number % WINDOWS)
    shape = args.tokens_per_step // args.length // rows, rows, args.length
    assert shape[0], f"{rows} rows of {args.length} tokens are more than a step"
    total = 0.0
    for ids in torch.randint(4, args.vocabulary, shape, generator=generator, device=args.device):
        with torch.autocast(args.device.type, dtype=torch.bfloat16, enabled=cuda):
            loss = runner(input_ids=ids, labels=ids, num_items_in_batch=args.tokens_per_step).loss
        loss.backward()
        total = total + loss.detach()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return total
