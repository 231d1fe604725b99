import torch

from tests.fake_ranks import Twins
from trimtab.distributed import ONE_RANK, Ranks


def test_a_process_alone_is_its_own_sum():
    tensor = torch.tensor([1.0, 2.0])
    ONE_RANK.sum_tensors([tensor])
    ONE_RANK.broadcast([tensor])
    ONE_RANK.barrier()
    assert tensor.tolist() == [1.0, 2.0]
    assert ONE_RANK.sum_ints([3, 4]) == [3, 4]
    assert (ONE_RANK.rank, ONE_RANK.world_size, ONE_RANK.is_first) == (0, 1, True)


def test_whoever_sums_keeps_the_protocol():
    assert isinstance(ONE_RANK, Ranks)
    assert isinstance(Twins(), Ranks)
    assert not isinstance(torch.zeros(2), Ranks)
