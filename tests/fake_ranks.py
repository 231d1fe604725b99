"""Ranks without processes."""

from trimtab.distributed import OneRank


class Unasked(OneRank):
    """One rank, of which nothing may be asked."""

    def sum_tensors(self, tensors):
        raise AssertionError("one rank sums nothing")

    def sum_ints(self, numbers, *, patient=False):
        raise AssertionError("one rank sums nothing")

    def gather(self, content):
        raise AssertionError("one rank gathers nothing")

    def broadcast(self, tensors):
        raise AssertionError("one rank sends nothing")

    def barrier(self):
        raise AssertionError("one rank waits for nothing")


class Twins:
    """Two ranks of which the other has found the same as this one."""

    rank, world_size, is_first = 1, 2, False

    def sum_tensors(self, tensors):
        for tensor in tensors:
            tensor.mul_(2)

    def gather(self, content):
        return [content, content]

    def sum_ints(self, numbers, *, patient=False):
        return [2 * number for number in numbers]

    def broadcast(self, tensors):
        pass

    def barrier(self):
        pass
