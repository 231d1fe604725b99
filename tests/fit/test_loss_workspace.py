from tests.fit.planning import text_recipe
from trimtab.fit.activations import Program
from trimtab.fit.loss_workspace import loss_workspace
from trimtab.fit.native import native_shape
from trimtab.fit.vocabulary import Vocabulary
from trimtab.logit_tiles import GPU_CHUNK_BYTES


def test_the_workspace_does_not_grow_with_the_vocabulary():
    how = Program("bf16_mixed", compiled=True)
    shapes = [native_shape(text_recipe(), Vocabulary(size, size)) for size in (32_000, 256_000)]
    small, large = (loss_workspace(shape, how, targets=32768) for shape in shapes)
    assert large.hidden == small.hidden == 32768 * 512 * 4
    assert large.by_matrix == 256_000 * 512 * 4
    assert max(small.pieces, large.pieces) < 2 * GPU_CHUNK_BYTES
