import re
import socket
import sys
import tomllib
from pathlib import Path

import pytest

from trimtab.config.detector_model import DetectorModel
from trimtab.errors import InputError
from trimtab.tasks.detection.networks import CLASSES, check_library, network_settings, new_network

SMALL = {"dim": 16, "heads": 2, "decoder_layers": 2, "feed_forward": 16, "backbone_width": 16, "queries": 8}


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.quick(architecture=["d_fine"])
@pytest.mark.parametrize("backbone", ["hgnet", "resnet"])
@pytest.mark.parametrize("architecture", CLASSES)
def test_every_architecture_is_built_on_either_backbone_without_a_download(
    no_network, architecture, backbone
):
    config = DetectorModel(architecture=architecture, backbone=backbone, **SMALL)
    network = new_network(config, num_labels=2, seed=1)
    assert type(network).__name__ == CLASSES[architecture]


@pytest.mark.parametrize("architecture", ["d_fine", "rt_detr_v2", "deimv2"])
def test_defaults_of_transformers_that_break_runs_are_off(architecture):
    settings = network_settings(DetectorModel(architecture=architecture, preset="tiny"), num_labels=1)
    assert settings.freeze_backbone_batch_norms is False
    assert (
        settings.num_denoising == 0
    )  # queries that are drawn for a micro-batch would make a step depend on its cut
    assert settings.anchor_image_size is None  # of one size, which breaks the others
    assert settings.eval_size is None


def test_a_transformers_without_the_model_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(CLASSES, "deimv2", "Deimv9ForObjectDetection")
    with pytest.raises(InputError, match="transformers has no such model"):
        check_library("deimv2")
    check_library("d_fine")


def test_what_is_installed_for_a_detector_has_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match="needs transformers") as error:
        check_library("d_fine")
    named = re.findall(r"trimtab\[([\w,]+)\]", str(error.value))[0].split(",")
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert "transformers" in " ".join(each for name in named for each in extras[name])


@pytest.mark.parametrize(
    "settings", ['{"d_model": "wide"}', '{"backbone_config": {"model_type": "nothing"}}']
)
def test_settings_that_transformers_cannot_read_are_refused(settings):
    with pytest.raises(InputError, match="transformers"):
        network_settings(DetectorModel(path="folder", settings=settings, preset="tiny"), num_labels=1)


def test_the_same_seed_gives_the_same_weights():
    one, other, third = (new_network(DetectorModel(**SMALL), num_labels=2, seed=seed) for seed in (1, 1, 2))
    name = "model.enc_output.0.weight"
    weights = [dict(each.named_parameters())[name] for each in (one, other, third)]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])
