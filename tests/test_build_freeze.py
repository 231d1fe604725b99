import pytest

from trimtab.build import freeze
from trimtab.config.decoder_model import DecoderModel
from trimtab.errors import InputError
from trimtab.model.decoder_only import DecoderOnly


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
