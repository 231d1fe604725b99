"""Counts the bytes of tensors that live while code runs, on any device."""

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """The most bytes of storages that came into being under it, at one time; those that were there before do not
    count."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.before: dict[int, StorageWeakRef] = {}
        """A reference that keeps the place of a storage, and not its bytes, so that no other one is taken for it."""
        self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.live = {key: (weak, size) for key, (weak, size) in self.live.items() if not weak.expired()}
        for tensor in tree_leaves((args, kwargs)):
            if isinstance(tensor, torch.Tensor) and storage_of(tensor) not in self.live:
                self.before.setdefault(storage_of(tensor), StorageWeakRef(tensor.untyped_storage()))
        for tensor in tree_leaves(found):
            if isinstance(tensor, torch.Tensor) and storage_of(tensor) not in self.before:
                storage = tensor.untyped_storage()
                self.live[storage_of(tensor)] = StorageWeakRef(storage), storage.nbytes()
        self.most = max(self.most, sum(size for _, size in self.live.values()))
        return found


def storage_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
