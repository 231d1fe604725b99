import pytest

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.freezing import FrozenUntil
from trimtab.errors import InputError
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.freeze import Unfreezing, freeze


def decoder():
    return DecoderOnly(DecoderModel(preset="tiny"), num_ids=40, max_positions=16, seed=1)


def test_patterns_add_to_what_a_model_never_trains():
    model = decoder()
    model.frozen = frozenset({"embedding.weight"})
    freeze(model, ["*.norm_*"])
    named = dict(model.named_parameters())
    wanted = {"embedding.weight"} | {name for name in named if ".norm_" in name}
    assert model.frozen == wanted == {name for name, each in named.items() if not each.requires_grad}
    assert len(wanted) > 1


@pytest.mark.parametrize(
    ("patterns", "words"),
    [(["layers.*"], "no weight of the model has such a name"), (["*"], "nothing is left to train")],
)
def test_the_fix_of_a_refusal_leaves_something_to_train(patterns, words):
    with pytest.raises(InputError, match=words) as caught:
        freeze(decoder(), patterns)
    offered = caught.value.problems[0].fix.split("`")[1]
    model = decoder()
    freeze(model, [offered])
    assert 0 < len(model.frozen) < len(dict(model.named_parameters()))


def stages(**until):
    """Stages of one pattern each, by the step until which it is frozen."""
    patterns = {"embedding": "embedding.weight", "lower": "decoder.blocks.[0-1].*"}
    return [FrozenUntil(weights=(patterns[name],), until=f"{step} steps") for name, step in until.items()]


def test_which_weights_are_trained_follows_from_the_step_alone():
    model = decoder()
    freeze(model, ["decoder.norm.*"])
    unfreezing = Unfreezing(model, stages(embedding=20, lower=10))

    def trained_after(step):
        unfreezing.begin(step)
        trained = {name for name, each in model.named_parameters() if each.requires_grad}
        assert model.frozen == {name for name, _ in model.named_parameters()} - trained
        return trained

    first, last = trained_after(0), trained_after(20)
    assert "decoder.norm.weight" not in last
    assert last - first == {"embedding.weight"} | {
        name for name in last if name.startswith("decoder.blocks.0")
    } | {name for name in last if name.startswith("decoder.blocks.1")}
    assert trained_after(10) == last - {"embedding.weight"} == trained_after(19)
    assert trained_after(9) == first  # as after going back
    assert not unfreezing.begin(9)
    assert [each[:2] for each in unfreezing.described()] == [
        (1, len(first)), (11, len(last) - 1), (21, len(last))
    ]  # fmt: skip


def test_a_run_that_trains_nothing_at_first_is_refused():
    everything = [FrozenUntil(weights=("*",), until="5 steps")]
    with pytest.raises(InputError, match="nothing is left to train"):
        Unfreezing(decoder(), everything)
