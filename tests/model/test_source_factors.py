import torch
from torch import nn

from tests.for_each import for_each
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.source_factors import FactorSize, SourceFactors
from trimtab.types import Stream

SIZES = {"dim": 8, "heads": 1, "layers": 1, "feed_forward": 8}


def embedded_by_hand(factors, ids, pieces):
    """The slow twin: each id taken apart in Python, tables added or appended one by one."""
    rows = []
    for id in ids.tolist():
        rest, piece = divmod(id, factors.num_ids)
        row, added = [pieces.weight[piece]], []
        for size in factors.sizes:
            rest, number = divmod(rest, size.num_values)
            table = factors.table(size.name)
            (added if size.dim is None else row).append(table.weight[number])
        whole = torch.cat(row)
        for each in added:
            whole = whole + each
        rows.append(whole)
    return torch.stack(rows)


@for_each("dims", [(None,), (None, None), (3,), (None, 3, 2), (2, None)])
def test_factors_are_added_or_appended(dims):
    torch.manual_seed(1)
    sizes = [FactorSize(f"f{number}", 3 + number, dim) for number, dim in enumerate(dims)]
    factors = SourceFactors(sizes, num_ids=10, dim=8)
    pieces = nn.Embedding(16, 8 - sum(each or 0 for each in dims))
    most = 10
    for size in sizes:
        most *= size.num_values
    ids = torch.randint(0, most, (50,))
    assert torch.equal(factors(ids, pieces), embedded_by_hand(factors, ids, pieces))
    assert factors.table("none") is None


def stream(ids):
    places = torch.arange(len(ids))
    return Stream(
        ids, places, torch.zeros_like(ids), torch.tensor([0, len(ids)], dtype=torch.int32), len(ids)
    )


def test_all_other_weights_begin_as_without_factors_and_plain_ids_differ_by_the_first_value_alone():
    config = EncoderDecoderModel.model_validate(SIZES)
    plain, with_case = (
        EncoderDecoder(config, num_ids=20, max_positions=8, seed=3, factors=factors)
        for factors in ([], [FactorSize("case", 5, None)])
    )
    assert plain.source_factors is None
    found = dict(with_case.named_parameters())
    assert {*found} - {*dict(plain.named_parameters())} == {"source_factors.tables.of_case.weight"}
    for name, weight in plain.named_parameters():
        assert torch.equal(weight, found[name])
    ids = torch.tensor([4, 7, 9])
    plain.eval(), with_case.eval()
    added = with_case.source_factors.table("case").weight[0] * config.dim**0.5
    torch.testing.assert_close(with_case.embed_source(stream(ids)), plain.embed_source(stream(ids)) + added)
    upper = with_case.embed_source(stream(ids + 20 * 3))
    added = (
        with_case.source_factors.table("case").weight[3] - with_case.source_factors.table("case").weight[0]
    )
    torch.testing.assert_close(
        upper - with_case.embed_source(stream(ids)), added.expand(3, -1) * config.dim**0.5
    )


def test_appended_factors_make_the_pieces_of_the_source_narrower():
    config = EncoderDecoderModel.model_validate({**SIZES, "tie_embeddings": "decoder"})
    model = EncoderDecoder(config, num_ids=20, max_positions=8, seed=3, factors=[FactorSize("pos", 4, 3)])
    assert model.source_embedding is not None
    assert model.source_embedding.weight.shape == (64, 5)
    assert model.embed_source(stream(torch.tensor([4, 27]))).shape == (2, 8)
