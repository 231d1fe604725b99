"""Loops of other people's libraries as one rank of several, which `main` is.

The environment says which rank it is, as torchrun does. Each loop writes what it found; what fails is written as well,
so that one pair of processes serves many tests.
"""

import hashlib
import os
import traceback
from itertools import islice

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from tests.loops import pages
from trimtab.errors import InputError
from trimtab.guard import Guard, OutlierRule
from trimtab.parts import accumulate_batches, clip_global_norm

SIZES = {0: (3, 20, 7), 1: (1, 2)}
"""Targets of the micro-batches of each rank: uneven in number and in size."""
EVEN_SIZES = {0: (3, 20), 1: (1, 2)}
NOISE_AT = 20
RULE = OutlierRule(window=16, active_from=8)


def model_of_all():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12)).double()


def micro_batches(sizes):
    return [torch.arange(size) * 5 % 11 for size in sizes]


def summed(model):
    return lambda words: cross_entropy(model(words), words + 1, reduction="sum")


def gradients(model):
    """By name; those of shards put together."""
    found = {name.removeprefix("module."): each.grad for name, each in model.named_parameters()}
    return {name: getattr(each, "full_tensor", lambda each=each: each)() for name, each in found.items()}


def ddp(model):
    return nn.parallel.DistributedDataParallel(model)


def sharded(model):
    from torch.distributed.fsdp import fully_shard

    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


def uneven_in_ddp(rank):
    model = ddp(model_of_all())
    batches = islice(iter(micro_batches(SIZES[rank])), 9)
    loss = accumulate_batches(summed(model), batches, num_targets=len, model=model)
    return {"loss": loss, "gradients": gradients(model)}


def sharded_over_ranks(rank):
    model = sharded(model_of_all())
    loss = accumulate_batches(summed(model), micro_batches(EVEN_SIZES[rank]), num_targets=len, model=model)
    norm, clipped = clip_global_norm(model.parameters(), at=1e-3)
    apply = Guard(RULE).judge(loss, torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])).apply
    return {"loss": loss, "norm": norm, "clipped": clipped, "apply": apply, "gradients": gradients(model)}


def with_accelerate(rank):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = accelerator.prepare(model_of_all())
    batches = micro_batches(SIZES[rank])
    loss = accumulate_batches(
        summed(model), batches, num_targets=len, model=model, backward=accelerator.backward
    )
    return {"loss": loss, "gradients": gradients(model)}


def guarded_in_ddp(rank):
    """The loss of the last rank is far off in one step, though no gradient is."""
    model = ddp(model_of_all())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    guard, refused = Guard(RULE), []
    for step in range(NOISE_AT + 4):
        words = (torch.arange(9) * (step + 1 + rank)) % 11
        loss = cross_entropy(model(words), words + 1) + (50 if rank and step == NOISE_AT else 0)
        loss.backward()
        norm = clip_global_norm(model.parameters(), at=1.0)[0]
        verdict = guard.judge(loss, norm)
        if verdict.apply:
            optimizer.step()
        else:
            refused.append((step, verdict.finding.code))
        optimizer.zero_grad()
    return {"refused": refused, "weights": bits(model), "guard": guard.to_dict()}


def guarded_in_the_trainer(rank):
    import transformers

    from tests.loops.noisy import noisy_trainer
    from trimtab.adapters.hugging_face_guard import guard_trainer

    trainer, told = noisy_trainer(transformers, rank=rank, noise_at=NOISE_AT), []
    guard = guard_trainer(trainer, Guard(RULE), tell=told.append)
    trainer.train()
    weights = bits(trainer.model)
    return {"refused": [each.code for each in told], "weights": weights, "guard": guard.to_dict()}


def guarded_in_lightning(rank):
    from tests.loops.noisy_lightning import fitted

    module, guard, told = fitted(rank=rank, noise_at=NOISE_AT, rule=RULE)
    return {"refused": [each.code for each in told], "weights": bits(module), "guard": guard.to_dict()}


def refusals(rank):
    """What each wrong call says, on every rank; none waits for another."""
    whole, batches = ddp(model_of_all()), micro_batches(SIZES[rank])
    other = Guard(RULE)
    if rank:
        other.outliers.accept(1.0, 1.0)
    calls = {
        "one rank has nothing": lambda: accumulate_batches(
            summed(whole), batches if rank else [], num_targets=len, model=whole
        ),
        "no model": lambda: accumulate_batches(summed(whole), batches, num_targets=len),
        "bare model": lambda: accumulate_batches(
            summed(whole.module), batches, num_targets=len, model=whole.module
        ),
        "sharded and uneven": lambda: accumulate_batches(
            summed(whole), batches, num_targets=len, model=sharded(model_of_all())
        ),
        "two states": lambda: other.judge(1.0, 1.0),
        "the bare model within": lambda: accumulate_batches(
            summed(whole.module), batches, num_targets=len, model=whole
        ),
        "a judge on one rank": lambda: (
            accumulate_batches(summed(whole), batches, num_targets=len, model=whole)
            if rank
            else Guard(RULE).judge(1.0, 1.0)
        ),
    }
    return {name: refusal(call) for name, call in calls.items()}


def refusal(call):
    try:
        call()
    except InputError as error:
        return str(error)
    return ""


def bits(model):
    """A digest of all weights."""
    digest = hashlib.sha256()
    for each in model.state_dict().values():
        digest.update(getattr(each, "full_tensor", lambda each=each: each)().contiguous().numpy().tobytes())
    return digest.hexdigest()


def page(name):
    def run(rank):
        names = pages.run(name)
        return {"weights": bits(names["model"])}

    return run


OF_TORCH = {
    "refusals": refusals,
    "uneven_in_ddp": uneven_in_ddp,
    "sharded_over_ranks": sharded_over_ranks,
    "guarded_in_ddp": guarded_in_ddp,
}
OF_LIBRARIES = {
    "with_accelerate": with_accelerate,
    "guarded_in_the_trainer": guarded_in_the_trainer,
    "guarded_in_lightning": guarded_in_lightning,
} | {name: page(name) for name in pages.examples()}


def main(folder, *names):
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    begin, end = dist.init_process_group, dist.destroy_process_group
    dist.init_process_group = dist.destroy_process_group = lambda *args, **kwargs: (
        None
    )  # one group for all loops
    found, environment = {}, dict(os.environ)
    for name in names:
        os.environ.update(environment)  # Lightning removes some of it at the end of a run
        try:
            found[name] = (OF_TORCH | OF_LIBRARIES)[name](rank)
        except BaseException:
            found[name] = {"error": traceback.format_exc()}
            break  # the other rank may wait for this one
    torch.save(found, folder / f"rank{rank}.pt")
    dist.init_process_group, dist.destroy_process_group = begin, end
    end()
