"""State that continues from a checkpoint, in the memory where it is."""

from collections.abc import Mapping

from torch import Tensor


def copy_saved_state(mine: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Copies saved state into an optimizer's own tensors, strict about names and shapes; nothing saved changes nothing.

    Raises KeyError if the two differ.
    """
    if not saved:
        return
    if set(saved) != set(mine):
        raise KeyError(f"optimizer state differs in {sorted(set(saved) ^ set(mine))[:5]}")
    for name, tensor in mine.items():
        if saved[name].shape != tensor.shape:
            raise KeyError(f"optimizer state {name} has shape {tuple(saved[name].shape)}")
        tensor.copy_(saved[name])
