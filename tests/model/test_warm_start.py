import pytest
import torch

from tests.for_each import for_each
from tests.model.test_decoder_only import DOCUMENTS
from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_decoder_only import logits as text_logits
from tests.model.test_encoder_decoder import SOURCES, TARGETS, build, logits
from tests.streams import START
from trimtab.config.model import EncoderDecoderModel
from trimtab.errors import InputError
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.warm_start import RowMap, mapped_rows, take_weights

SAME = RowMap(range(90), {})


def other(num_ids=90, *, seed=2, max_positions=32, **changes):
    config = EncoderDecoderModel(
        **{"dim": 32, "heads": 2, "layers": 2, "feed_forward": 48, "dropout": 0.0, **changes}
    )
    return EncoderDecoder(config, num_ids=num_ids, max_positions=max_positions, seed=seed)


def taken(new, old, *, source=SAME, target=SAME):
    take_weights(new, old, source=source, target=target, name="RUN@5")
    return new


@pytest.mark.quick("all-all", "none-none")
@pytest.mark.parametrize(
    ("before", "after"),
    [("all", "all"), ("all", "decoder"), ("all", "none"), ("decoder", "none"), ("none", "none")],
)
def test_the_same_vocabulary_gives_the_same_model_however_it_is_tied(before, after):
    old = build(tie_embeddings=before).eval()
    new = taken(other(tie_embeddings=after, dropout=0.3, positions="sinusoidal"), old).eval()
    assert torch.equal(logits(new, SOURCES, TARGETS), logits(old, SOURCES, TARGETS))


def test_the_new_model_is_no_view_of_the_old_one():
    old = build()
    new = taken(other(), old)
    new.embedding.weight.data.zero_()
    assert old.embedding.weight.abs().sum() > 0


def test_ids_in_another_order_give_the_same_logits_in_that_order():
    old, order = build().eval(), torch.randperm(90, generator=torch.Generator().manual_seed(0)).tolist()
    start = order.index(START)
    order[START], order[start] = START, order[START]  # packs of tests begin with this id
    rows = RowMap(order, {})
    new = taken(other(), old, source=rows, target=rows).eval()
    moved = [[[order.index(id) for id in row] for row in side] for side in (SOURCES, TARGETS)]
    torch.testing.assert_close(logits(new, *moved), logits(old, SOURCES, TARGETS)[:, order])


def test_each_side_has_its_own_map():
    old = build(tie_embeddings="decoder").eval()
    order = list(reversed(range(90)))
    new = taken(other(tie_embeddings="decoder"), old, source=RowMap(order, {})).eval()
    turned = [[order.index(id) for id in row] for row in SOURCES]
    assert torch.equal(logits(new, turned, TARGETS), logits(old, SOURCES, TARGETS))


def test_a_longer_vocabulary_leaves_the_logits_of_old_pieces_as_they_were():
    old = build().eval()
    rows = RowMap([*range(90), None, None], {90: [10, 11, 12]})
    new = other(92)
    first = new.embedding.weight[91].clone()
    new = taken(new, old, source=rows, target=rows).eval()
    assert torch.equal(logits(new, SOURCES, TARGETS)[:, :90], logits(old, SOURCES, TARGETS))
    assert torch.allclose(new.embedding.weight[90], old.embedding.weight[[10, 11, 12]].mean(0))
    assert torch.equal(new.embedding.weight[91], first)


def test_rows_come_from_where_the_map_says():
    old, first = torch.arange(8.0).view(4, 2), torch.full((3, 2), -1.0)
    found = mapped_rows(old, first, RowMap([3, None, None], {2: [0, 1]}))
    assert found.tolist() == [[6.0, 7.0], [-1.0, -1.0], [1.0, 2.0]]
    assert first.tolist() == [[-1.0, -1.0]] * 3


@pytest.mark.parametrize(
    ("before", "after"), [(torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)]
)
def test_rows_are_mapped_between_weights_of_different_precision(before, after):
    old, first = torch.arange(8.0).view(4, 2).to(before), torch.full((3, 2), -1.0, dtype=after)
    mapped = mapped_rows(old, first, RowMap([3, None, None], {1: [0, 2]}))
    assert mapped.dtype == after
    assert mapped.tolist() == [[6.0, 7.0], [2.0, 3.0], [-1.0, -1.0]]


@for_each(
    ("changes", "key", "got", "allowed"),
    [
        ({"dim": 16}, "dim", "16", "32"),
        ({"heads": 4}, "encoder_heads", "4", "2"),
        ({"layers": 3}, "encoder_layers", "3", "2"),
        ({"feed_forward": 64}, "decoder_feed_forward", "64", "48"),
        ({"positions": "rotary"}, "positions", "rotary", "sinusoidal"),
        ({"activation": "gelu"}, "activation", "gelu", "relu"),
        ({"norm_position": "after"}, "norm_position", "after", "before"),
    ],
)
def test_another_model_is_refused_by_name_and_size_also_where_no_shape_shows_it(changes, key, got, allowed):
    with pytest.raises(InputError) as caught:
        taken(other(**changes), build())
    said = {problem.what.split(":")[0]: problem for problem in caught.value.problems}
    assert (said[f"model.{key}"].got, said[f"model.{key}"].allowed) == (got, f"{allowed}, as in RUN@5")


def test_two_names_of_one_thing_are_no_difference():
    old = build(activation="silu", heads=2)
    new = taken(other(activation="swish", encoder_heads=2, kv_heads=2, decoder_positions="sinusoidal"), old)
    assert torch.equal(new.embedding.weight[:90], old.embedding.weight[:90])


@pytest.mark.parametrize(("before", "after"), [("decoder", "all"), ("none", "all"), ("none", "decoder")])
def test_two_matrices_do_not_fit_into_one(before, after):
    with pytest.raises(InputError, match="do not fit into one"):
        taken(other(tie_embeddings=after), build(tie_embeddings=before))


def test_learned_positions_of_another_length_are_refused_with_both_sizes():
    with pytest.raises(InputError, match="source_positions") as caught:
        taken(other(positions="learned", max_positions=64), build(positions="learned"))
    problem = caught.value.problems[0]
    assert (problem.got, problem.allowed) == ("(64, 32)", "(32, 32), as in RUN@5")
    assert "max_tokens" in problem.fix


@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, False)])
def test_a_language_model_starts_from_another(before, after):
    old = build_decoder(tie_embeddings=before, kv_heads=2).eval()
    new = build_decoder(tie_embeddings=after, dropout=0.3, prefix="bidirectional")
    with torch.no_grad():
        for parameter in new.parameters():
            parameter.add_(1.0)
    taken(new, old).eval()
    assert torch.equal(text_logits(new, DOCUMENTS), text_logits(old, DOCUMENTS))


def test_the_pieces_of_a_language_model_are_mapped_too():
    old, order = (
        build_decoder().eval(),
        torch.randperm(90, generator=torch.Generator().manual_seed(0)).tolist(),
    )
    start = order.index(START)
    order[START], order[start] = START, order[START]
    new = taken(build_decoder(), old, target=RowMap(order, {})).eval()
    moved = [[order.index(id) for id in row] for row in DOCUMENTS]
    torch.testing.assert_close(text_logits(new, moved), text_logits(old, DOCUMENTS)[:, order])


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ({}, {"rope_theta": 500.0}, "model.rope_theta"),
        ({}, {"qk_norm": True}, "model.qk_norm"),
        ({"tie_embeddings": False}, {}, "model.tie_embeddings"),
    ],
)
def test_a_language_model_of_another_shape_is_refused(before, after, key):
    with pytest.raises(InputError) as raised:
        taken(build_decoder(**after), build_decoder(**before))
    assert [problem.what.split(":")[0] for problem in raised.value.problems] == [key]


def test_a_language_model_cannot_start_from_a_translator_and_is_told_so_once():
    with pytest.raises(InputError) as raised:
        taken(build_decoder(), build())
    (problem,) = raised.value.problems
    assert (problem.got, problem.allowed) == ("decoder", "encoder_decoder, as in RUN@5")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sinusoidal", "rotary"),
        ("learned", "learned+shaw"),
        ("learned+t5", "t5"),
        ("shaw", "sinusoidal+shaw"),
        ("shaw", "rotary_qkv"),
    ],
)
def test_other_positions_take_what_both_have_and_begin_the_rest_anew(before, after):
    old = build(positions=before)
    first = other(positions=after, warm_start="RUN", warm_start_positions="other")
    new = taken(other(positions=after, warm_start="RUN", warm_start_positions="other"), old)
    assert torch.equal(new.decoder.blocks[1].cross.kv.weight, old.decoder.blocks[1].cross.kv.weight)
    had = {
        name.replace(".absolute", "").replace(".relative.weight", ".weight"): each
        for name, each in old.state_dict().items()
    }
    begun = dict(first.named_parameters())
    kinds = set(before.split("+"))
    for name, weight in new.named_parameters():
        plain = name.replace(".absolute", "").replace(".relative.weight", ".weight")
        is_vector, is_table = ".attention.relative." in name, "positions" in name
        taken_over = not (is_vector or is_table) or (
            "shaw" in kinds if is_vector else bool({"learned", "t5"} & kinds & set(after.split("+")))
        )
        rows = 90 if name == "embedding.weight" else len(weight)
        assert torch.equal(weight[:rows], (had[plain] if taken_over else begun[name])[:rows]), name


def test_the_model_with_new_positions_still_has_to_say_so_and_the_rest_must_be_the_same():
    old = build()
    with pytest.raises(InputError, match=r"model.positions: differs"):
        taken(other(positions="rotary", warm_start="RUN"), old)
    with pytest.raises(InputError) as raised:
        taken(
            other(positions="rotary", warm_start="RUN", warm_start_positions="other", activation="gelu"), old
        )
    assert [each.what.partition(":")[0] for each in raised.value.problems] == ["model.activation"]


def test_a_language_model_takes_other_positions_too():
    old = build_decoder(positions="learned")
    new = build_decoder(positions="learned+rotary", warm_start="RUN", warm_start_positions="other")
    taken(new, old)
    assert torch.equal(new.target_positions.absolute.weight, old.target_positions.weight)
    assert torch.equal(new.decoder.blocks[0].attention.qkv.weight, old.decoder.blocks[0].attention.qkv.weight)


def test_positions_that_fade_begin_as_the_run_that_is_started_from():
    old = build(positions="sinusoidal").eval()
    new = other(
        positions="sinusoidal+t5", warm_start="RUN", warm_start_positions="other", absolute_fade="5 steps"
    )
    taken(new.eval(), old)
    new.source_positions.relative.weight.data.zero_()
    new.target_positions.relative.weight.data.zero_()
    torch.testing.assert_close(logits(new, SOURCES, TARGETS), logits(old, SOURCES, TARGETS))
    last = other(positions="t5", warm_start="RUN", warm_start_positions="other")
    taken(last, new)
    assert torch.equal(last.source_positions.weight, new.source_positions.relative.weight)
