"""One rank of the arm `fsdp_peer` of scaling.py: Mistral of transformers under PyTorch's `fully_shard`, random rows.

Each layer is a group, weights and sums of gradients are float32, layers are gathered in bfloat16 and computed again in
the backward pass as `--recompute` says; fused AdamW, clipping. With `--products` it only multiplies matrices; with
`--write FOLDER` it writes the model with random weights in bfloat16, and a tokenizer of the demo's text.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist

GIB = 2**30
PIECES, TINY_PIECES = 8000, 400


def main():
    args = arguments()
    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if args.products:
        Path(args.out).write_text(json.dumps({"tflops": products(device, tiny=args.tiny)}))
        return
    if args.write:
        write(args, device)
        return
    if cuda:
        torch.cuda.set_device(local)
        whole = torch.cuda.get_device_properties(local).total_memory
        torch.cuda.set_per_process_memory_fraction(args.cap_gib * GIB / whole, local)
    dist.init_process_group("nccl" if cuda else "gloo")
    begun = time.perf_counter()
    model = divided(args, device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=2e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=cuda
    )
    rows = args.micro // args.length
    ids = torch.randint(4, model.config.vocab_size, (rows, args.length), device=device)

    def step():
        loss = model(input_ids=ids, labels=ids).loss / dist.get_world_size()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    def now():
        if cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    first = float(step())
    ready = now() - begun
    for _ in range(2):
        step()
    steps, start = 2 if args.tiny else 20, now()
    for _ in range(steps):
        last = step()
    took = now() - start
    if dist.get_rank() == 0:
        found = {
            "tokens_per_second": round(steps * rows * args.length * dist.get_world_size() / took),
            "steps": steps,
            "step_seconds": round(took / steps, 4),
            "seconds_to_the_end_of_the_first_step": round(ready, 1),
            "parameters": sum(each.numel() for each in model.parameters()),
            "losses": [first * dist.get_world_size(), float(last) * dist.get_world_size()],
            "allocated_gib": round(torch.cuda.max_memory_allocated() / GIB, 2) if cuda else None,
            "reserved_gib": round(torch.cuda.max_memory_reserved() / GIB, 2) if cuda else None,
        }
        Path(args.out).write_text(json.dumps(found))
    dist.destroy_process_group()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--cap-gib", type=float, default=75.0)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--micro", type=int, default=8192, help="tokens of a rank in a step")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--recompute", default="block", choices=["block", "none"])
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--write", help="a folder, whose parent has train.txt")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        args.layers, args.micro, args.length = 2, 32, 16
    return args


def divided(args, device):
    """The model with its first weights, divided among the ranks."""
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

    model = untrained(args, device).float().train()
    if args.recompute == "block":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            if device.type == "cpu":
                module.set_force_sum_reduction_for_comms(True)
    return model


def untrained(args, device):
    from transformers import MistralConfig, MistralForCausalLM

    shape = {"hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": PIECES}
    if args.tiny:
        shape = {
            "hidden_size": 32,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "vocab_size": TINY_PIECES,
        }
    config = MistralConfig(
        **shape,
        num_key_value_heads=shape["num_attention_heads"] // 4,
        num_hidden_layers=args.layers,
        max_position_embeddings=max(args.length, 128),
        sliding_window=None,
        tie_word_embeddings=False,
        use_cache=False,
        attn_implementation="sdpa",
    )
    torch.manual_seed(1)
    with device:
        return MistralForCausalLM(config)


def write(args, device):
    """The files of a pretrained model, as transformers saves them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    folder = Path(args.write)
    untrained(args, device).to(torch.bfloat16).save_pretrained(folder)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TINY_PIECES if args.tiny else PIECES,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(folder.parent / "train.txt")], trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(
        folder
    )
    Path(args.out).write_text("{}")


def products(device, *, tiny):
    """Operations a second, in 10^12, of the largest product of the model: 8,192 rows by the two matrices of a
    feed-forward block that widen."""
    rows, dim, wide = (64, 32, 128) if tiny else (8192, 4096, 28672)
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    x, weight = (
        torch.randn(rows, dim, dtype=dtype, device=device),
        torch.randn(wide, dim, dtype=dtype, device=device),
    )
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    rates = []
    for _ in range(6):
        wait()
        begun = time.perf_counter()
        for _ in range(50):
            x @ weight.T
        wait()
        rates.append(2 * 50 * rows * dim * wide / (time.perf_counter() - begun))
    return round(sorted(rates[1:])[2] / 1e12, 3)


if __name__ == "__main__":
    main()
