"""Two processes that share a model, in each kind of loop: both take the same steps, those of one large batch."""

import os
import socket

import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("transformers")
pytest.importorskip("lightning")

from tests.children import start_child, wait
from tests.loops import pages
from tests.loops.small_loops import (
    EVEN_SIZES,
    OF_LIBRARIES,
    OF_TORCH,
    SIZES,
    micro_batches,
    model_of_all,
    summed,
)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each of two ranks found in the loops that need torch alone, in one pair of processes."""
    return found_in(OF_TORCH, tmp_path_factory.mktemp("loops"))


@pytest.fixture(scope="module")
def in_libraries(tmp_path_factory):
    """As `ranks`, of the loops of other libraries, which take most of a minute to be imported twice."""
    return found_in(OF_LIBRARIES, tmp_path_factory.mktemp("loops"))


def found_in(loops, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = [folder / f"said_by_{rank}.txt" for rank in (0, 1)]
    children = [start(folder, rank, port, loops, said[rank]) for rank in (0, 1)]
    for child, file in zip(children, said, strict=True):
        assert wait(child) == 0, file.read_text(errors="replace")[-4000:]
    return [torch.load(folder / f"rank{rank}.pt", weights_only=False) for rank in (0, 1)]


def start(folder, rank, port, loops, said):
    environment = {
        "GLOO_SOCKET_IFNAME": "lo",  # gloo listens on the machine itself, whatever its network is
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "ACCELERATE_USE_CPU": "true",
    }

    names = list(loops)

    def work():
        os.environ.update(environment)
        from tests.loops.small_loops import main

        main(folder, *names)

    with said.open("wb") as file:
        return start_child(work, standard=(0, file.fileno(), file.fileno()))


def of(ranks, loop):
    """What both found in a loop, which neither failed in."""
    errors = [found["error"] for rank in ranks for found in rank.values() if "error" in found]
    assert errors == []
    return [rank[loop] for rank in ranks]


def one_large_batch(sizes):
    """Loss and gradients of all micro-batches of all ranks at once."""
    model = model_of_all()
    batches = [batch for rank in sorted(sizes) for batch in micro_batches(sizes[rank])]
    loss = summed(model)(torch.cat(batches)) / sum(map(len, batches))
    loss.backward()
    return loss.detach(), {name: each.grad for name, each in model.named_parameters()}


def test_accumulation_over_uneven_ranks_is_that_of_one_large_batch(ranks):
    assert_is_one_large_batch(of(ranks, "uneven_in_ddp"))


@pytest.mark.slow
def test_accumulation_with_accelerate_is_that_of_one_large_batch_too(in_libraries):
    assert_is_one_large_batch(of(in_libraries, "with_accelerate"))


def assert_is_one_large_batch(of_each_rank):
    loss, gradients = one_large_batch(SIZES)
    for found in of_each_rank:
        torch.testing.assert_close(found["loss"], loss, rtol=1e-6, atol=0)
        assert found["gradients"].keys() == gradients.keys()
        for name, gradient in gradients.items():
            torch.testing.assert_close(found["gradients"][name], gradient, rtol=1e-6, atol=1e-12)


def test_a_sharded_model_is_accumulated_and_clipped_over_all_its_shards(ranks):
    loss, gradients = one_large_batch(EVEN_SIZES)
    norm = torch.nn.utils.get_total_norm(gradients.values())
    for found in of(ranks, "sharded_over_ranks"):
        torch.testing.assert_close(found["loss"], loss, rtol=1e-6, atol=0)
        torch.testing.assert_close(found["norm"], norm, rtol=1e-6, atol=0)
        assert (float(found["clipped"]), found["apply"]) == (1.0, True)
        for name, gradient in gradients.items():
            clipped = gradient * 1e-3 / norm
            torch.testing.assert_close(found["gradients"][name], clipped, rtol=1e-6, atol=1e-12)


def test_a_loss_that_is_off_on_one_rank_is_refused_on_both_and_their_weights_stay_equal(ranks):
    assert_both_refuse_it(of(ranks, "guarded_in_ddp"))


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["guarded_in_the_trainer", "guarded_in_lightning"])
def test_it_is_refused_on_both_in_loops_of_libraries_too(in_libraries, loop):
    assert_both_refuse_it(of(in_libraries, loop))


def assert_both_refuse_it(of_each_rank):
    first, second = of_each_rank
    assert [each if isinstance(each, str) else each[1] for each in first["refused"]] == ["S902"]
    assert first == second


REFUSALS = {
    "one rank has nothing": ("batches: is empty", "an error on rank 0"),
    "no model": ("model: is needed", "model: is needed"),
    "bare model": ("sums no gradients over ranks", "sums no gradients over ranks"),
    "sharded and uneven": ("3, 2 micro-batches, by rank", "3, 2 micro-batches, by rank"),
    "the bare model within": ("no DistributedDataParallel was called",) * 2,
    "a judge on one rank": ("rank 0 in Guard.judge, rank 1 in accumulate_batches",) * 2,
    "two states": ("on rank 0, others than on 1", "on rank 1, others than on 0"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_work_is_refused_on_every_rank(ranks, name):
    for found, said in zip(of(ranks, "refusals"), REFUSALS[name], strict=True):
        assert said in found[name]
        assert "\n  allowed " in found[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", pages.examples())
def test_the_code_of_each_page_trains_one_model_on_both_ranks(in_libraries, name):
    first, second = of(in_libraries, name)
    assert first["weights"] == second["weights"]
