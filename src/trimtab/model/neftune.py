"""NEFTune: noise on the embeddings in training, the smaller the longer the text.

Source: Jain et al. 2023, arXiv 2310.05914, algorithm 1.
"""

from jaxtyping import Float, Int
from torch import Tensor


def with_noise(
    embedded: Float[Tensor, "*tokens dim"], lengths: Int[Tensor, "*tokens"], *, alpha: float
) -> Float[Tensor, "*tokens dim"]:
    """The vectors with uniform noise from -1 to 1 times alpha / sqrt(length x dim), `lengths` being those of the texts
    that the tokens are of. It is drawn from the generator of the device, which a step seeds as for dropout."""
    bound = alpha / (lengths.clamp(min=1).to(embedded.dtype) * embedded.shape[-1]).sqrt()
    return embedded + embedded.new_empty(embedded.shape).uniform_(-1, 1) * bound[..., None]
