"""The translator of a route: an encoder-decoder over modules that belong to another model."""

import torch

from tests.model.modular.test_modular import modular
from trimtab.config.modular_model import Route
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.modular.route_model import chained


def test_it_computes_what_a_plain_model_with_its_weights_does() -> None:
    route = modular().translator("de-en").eval()
    plain = EncoderDecoder(route.config, num_ids=route.num_ids, max_positions=route.max_positions, seed=2)
    plain.load_state_dict(route.state_dict())
    from tests.model.modular.test_modular import packing_of, window_of

    window = window_of([(3, 4, 1), (6, 2, 1)])
    ((_, pack),) = packing_of(modular(), 16).mixed(window, 1)[0].parts
    assert torch.equal(plain.eval()(pack), route(pack))
    assert route.wrongly_tied() == ""


def test_what_one_direction_learns_the_others_have() -> None:
    model = modular()
    with torch.no_grad():
        model.translator("en-de").encoder.blocks[0].attention.out.weight.fill_(0.25)
    assert bool((model.translator("pt-en").encoder.blocks[0].attention.out.weight == 0.25).all())


def test_a_route_that_no_direction_takes_runs_too() -> None:
    model = modular()
    known = model.config
    route = Route("de", "pt", known.route("de-en").encoder, known.route("en-pt").decoder)
    found = model.translator_of(route)
    assert found.encoder.blocks[1] is model.translator("de-en").encoder.blocks[1]
    assert found.decoder.blocks[0] is model.translator("en-pt").decoder.blocks[0]


def test_a_chain_holds_the_blocks_in_order() -> None:
    blocks = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    stack = chained([*blocks], torch.nn.Identity())
    assert list(stack.blocks) == blocks
