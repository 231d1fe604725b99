from typing import Annotated, get_args, get_origin

from tests.for_each import for_each
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.detector_model import DetectorModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.model_settings import ModelSettings
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Model

KINDS = get_args(get_args(Model)[0] if get_origin(Model) is Annotated else Model)


@for_each("kind", KINDS)
def test_every_kind_of_model_answers_what_is_asked_of_any(kind):
    assert issubclass(kind, ModelSettings)
    assert kind.kept_from_start == tuple(key for key in kind.kept_from_start if key in kind.model_fields)
    assert bool(kind.no_plan) == (kind.no_plan.partition(" has no plan: ")[1] != "")


def test_only_files_that_are_named_are_pretrained():
    assert DetectorModel(preset="tiny").pretrained_path == ""
    assert DecoderModel(preset="tiny").pretrained_path == ""
    named = PretrainedModel(path="folder", sha256="a", dim=8, heads=2, layers=1, feed_forward=16, num_ids=8)
    assert (named.pretrained_path, named.pretrained_sha256) == ("folder", "a")


def test_weights_are_drawn_on_the_gpu_where_the_recipe_says_so():
    assert DecoderModel(preset="tiny", init_on="gpu").drawn_on_gpu
    assert not DecoderModel(preset="tiny").drawn_on_gpu


def test_a_translator_says_how_many_layers_and_heads_attend_to_the_source():
    model = EncoderDecoderModel(preset="tiny", decoder_layers=3)
    assert model.cross_attention == (3, model.decoder.heads)
    assert DecoderModel(preset="tiny").cross_attention == (0, 0)
