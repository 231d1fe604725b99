import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.model.static.attend import attend_ancestors, reach_of
from trimtab.model.static.session_memory import Place
from trimtab.model.static.shapes import Shape

ROWS, WIDTH, ROOM = 3, 4, 8


def place_of(past, ancestors):
    shape = Shape(rows=ROWS, width=WIDTH, source=1, memory=ROOM)
    unused = torch.zeros(ROWS, WIDTH, dtype=torch.long)
    return Place(
        shape=shape,
        tokens=unused,
        past=torch.tensor([past]),
        ancestors=ancestors,
        real=torch.ones(ROWS, 1, 1, 1, dtype=torch.bool),
        logits=torch.zeros(ROWS, WIDTH, 1),
        blocks=(),
        by_kernel=False,
    )


def written_out(queries, keys, values, ancestors, past):
    """Softmax of scores, for each hypothesis and head by itself, in float64."""
    kept = keys.shape[3]
    group = queries.shape[1] // kept
    out = torch.zeros(queries.shape, dtype=torch.float64)
    for row in range(ROWS):
        for beam in range(WIDTH):
            for head in range(queries.shape[1]):
                chain = ancestors[row, beam, : past + 1].tolist()
                at = [(row, one, time, head // group) for time, one in enumerate(chain)]
                mine = torch.stack([keys[place] for place in at]).double()
                query = queries[row * WIDTH + beam, head].double()
                weights = (mine @ query / len(query) ** 0.5).softmax(0)
                out[row * WIDTH + beam, head] = (
                    weights @ torch.stack([values[place] for place in at]).double()
                )
    return out.flatten(1)


@pytest.mark.parametrize(("heads", "kept"), [(2, 2), (4, 2), (3, 1)])
@settings(max_examples=10, deadline=None)
@given(past=st.integers(0, ROOM - 1), seed=st.integers(0, 2**20))
def test_each_hypothesis_reads_what_its_ancestors_wrote(heads, kept, past, seed):
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(ROWS * WIDTH, heads, 16, generator=generator)
    keys, values = (torch.randn(ROWS, WIDTH, ROOM, kept, 16, generator=generator) for _ in range(2))
    keys[:, :, past + 1 :] = values[:, :, past + 1 :] = torch.nan
    ancestors = torch.randint(0, WIDTH, (ROWS, WIDTH, ROOM), generator=generator)
    found = attend_ancestors(queries, keys, values, reach_of(place_of(past, ancestors)))
    want = written_out(queries, keys, values, ancestors, past)
    torch.testing.assert_close(found.double(), want, atol=1e-5, rtol=1e-5)
