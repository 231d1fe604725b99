"""One rank of the arm `ddp` of scaling.py: Marian of transformers under DistributedDataParallel, on random rows.

Every rank takes its share of 131,072 target tokens in micro-batches of equal rows, under bfloat16 autocast, with
gradients summed with the last micro-batch (`no_sync` before it), clipping and fused AdamW: what Accelerate and the
Trainer do, without their data loader.
"""

import argparse
import json
import os
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import MarianConfig, MarianMTModel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=131072)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        args.rows, args.length, args.tokens = 2, 8, 64
    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if cuda else "gloo")
    dim, layers, heads, wide, pieces = (16, 1, 2, 32, 64) if args.tiny else (1024, 6, 16, 4096, 8000)
    config = MarianConfig(
        vocab_size=pieces,
        decoder_vocab_size=pieces,
        d_model=dim,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=wide,
        decoder_ffn_dim=wide,
        max_position_embeddings=256,
        pad_token_id=0,
        decoder_start_token_id=0,
    )
    torch.manual_seed(1)
    model = DistributedDataParallel(MarianMTModel(config).to(device), device_ids=[local] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    micro = max(1, args.tokens // (args.rows * args.length * dist.get_world_size()))
    ids = torch.randint(4, pieces, (args.rows, args.length), device=device)

    def step():
        for number in range(micro):
            last = number == micro - 1
            with (
                nullcontext() if last else model.no_sync(),
                torch.autocast(device.type, dtype=torch.bfloat16),
            ):
                (model(input_ids=ids, labels=ids).loss / micro).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def now():
        if cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    for _ in range(3):
        step()
    begun, steps = now(), 0
    going = torch.ones((), device=device)
    while float(going):
        step()
        steps += 1
        going.fill_(float(now() - begun < args.seconds))
        dist.broadcast(going, 0)
    took = now() - begun
    if dist.get_rank() == 0:
        tokens = 2 * steps * micro * args.rows * args.length * dist.get_world_size()
        Path(args.out).write_text(json.dumps({"tokens_per_second": round(tokens / took), "steps": steps}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
