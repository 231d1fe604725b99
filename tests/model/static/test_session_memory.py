import torch

from tests.model.test_encoder_decoder import build
from trimtab.model.static.session_memory import SessionMemory
from trimtab.model.static.shapes import Shape

SHAPE = Shape(rows=4, width=2, source=6, memory=8)


def pointers(place):
    tensors = [place.tokens, place.past, place.ancestors, place.real, place.logits]
    for block in place.blocks:
        tensors += [block.keys, block.values, block.source_keys, block.source_values]
    return [tensor.data_ptr() for tensor in tensors]


def test_a_place_has_the_sizes_of_its_shape_and_of_the_model():
    memory = SessionMemory(build(heads=4, kv_heads=2))
    memory.reserve(SHAPE)
    place = memory.place(SHAPE)
    assert place.tokens.shape == (4, 2)
    assert place.ancestors.shape == (4, 2, 8)
    assert place.real.shape == (4, 1, 1, 6)
    assert (place.logits.shape, place.logits.dtype) == ((4, 2, 90), torch.float32)
    assert len(place.blocks) == 2
    assert place.blocks[0].keys.shape == place.blocks[0].values.shape == (4, 2, 8, 2, 8)
    assert place.blocks[0].source_keys.shape == (4, 2, 6, 8)


def test_shapes_that_fit_share_the_memory_and_a_larger_one_moves_it():
    memory = SessionMemory(build())
    assert memory.reserve(SHAPE)
    place = memory.place(SHAPE)
    assert memory.place(SHAPE) is place
    smaller = SHAPE._replace(rows=2, memory=16)
    assert not memory.reserve(smaller)
    assert pointers(memory.place(smaller)) == pointers(place)
    assert memory.reserve(SHAPE._replace(source=7))
    assert not memory.reserve(SHAPE)
    assert not memory.reserve(SHAPE._replace(source=7))


def test_no_two_tensors_of_a_place_share_memory():
    memory = SessionMemory(build())
    memory.reserve(SHAPE)
    assert len(set(pointers(memory.place(SHAPE)))) == 5 + 4 * 2


def test_memory_of_inference_mode_can_be_written_outside_it():
    memory = SessionMemory(build())
    with torch.inference_mode():
        memory.reserve(SHAPE)
        place = memory.place(SHAPE)
    place.past.add_(1)
    assert not place.past.is_inference()
    assert int(place.past) == 1


def test_released_memory_is_made_anew():
    memory = SessionMemory(build())
    memory.reserve(SHAPE)
    memory.release()
    assert memory.buffers == {}
    assert memory.reserve(SHAPE)
    assert memory.place(SHAPE).past.tolist() == [0]
