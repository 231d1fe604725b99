"""Makes the modules of transformers that detectors are, from the settings of a recipe; nothing is downloaded."""

import json
from typing import Any

import torch

from trimtab.config.detector_model import DetectorModel
from trimtab.errors import input_error

CLASSES = {
    "d_fine": "DFineForObjectDetection",
    "rt_detr_v2": "RTDetrV2ForObjectDetection",
    "deimv2": "Deimv2ForObjectDetection",
    "detr": "DetrForObjectDetection",
}
"""By the names of architectures, which are the `model_type` of config.json."""
STRIDES = (8, 16, 32)
OFF = {"num_denoising": 0, "anchor_image_size": None, "eval_size": None, "freeze_backbone_batch_norms": False}
"""Denoising queries are drawn for a whole micro-batch, so a step would depend on how it is cut; and anchors of one size
break every other. Batch norms are frozen by `norms` where the recipe says so."""
RESNET_DEPTH = 2
"""Basic blocks in a stage: with one, RT-DETR's ResNet does not fit together, and trimtab's is not its own."""


def check_library(architecture: str) -> None:
    """InputError where transformers is missing or has no such model. (Its own detection loss is wrong before 5.18,
    pull request 48528; trimtab does not use it, so that older ones serve.)"""
    try:
        import transformers
    except ImportError:
        raise input_error(
            "model.architecture: needs transformers",
            got=architecture,
            allowed="an installed transformers",
            fix='pip install "trimtab[train,vision,pretrained]"',
        ) from None
    if not hasattr(transformers, CLASSES[architecture]):
        raise input_error(
            "model.architecture: the installed transformers has no such model",
            got=f"{architecture}, with transformers {transformers.__version__}",
            allowed="a version that has " + CLASSES[architecture],
            fix='pip install -U "transformers>=5.18", or choose another `model.architecture`',
        )


def new_network(config: DetectorModel, *, num_labels: int, seed: int) -> Any:
    """The module with first weights that follow from the seed, in float32 on the CPU, as transformers builds it."""
    import transformers

    check_library(config.architecture)
    settings = network_settings(config, num_labels=num_labels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return getattr(transformers, CLASSES[config.architecture])(settings).float()


def network_settings(config: DetectorModel, *, num_labels: int) -> Any:
    """The configuration object of transformers. InputError for settings of a folder that it cannot read."""
    from transformers import AutoConfig

    given = json.loads(config.settings) if config.settings else _sizes(config)
    off = {"auxiliary_loss": True} if config.architecture == "detr" else OFF
    try:
        if isinstance(given.get("backbone_config"), dict):
            inner = dict(given["backbone_config"])
            given["backbone_config"] = AutoConfig.for_model(inner.pop("model_type"), **inner)
        made = AutoConfig.for_model(config.architecture, **{**given, **off, "num_labels": num_labels})
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise input_error(
            "model.settings: transformers cannot read them",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="what config.json of the model says",
            fix="download config.json again",
        ) from None
    except Exception as error:  # the library's own validation has errors of its own kind
        raise input_error(
            "model: transformers refuses these sizes",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="sizes that fit together",
            fix="name a preset, such as `preset: tiny`",
        ) from None
    return made


def _sizes(config: DetectorModel) -> dict[str, Any]:
    width, dim = config.backbone_width, config.dim
    channels = [width * 2**stage for stage in range(4)]
    backbone = _hgnet(channels) if config.backbone == "hgnet" else _resnet(channels)
    shared: dict[str, Any] = {
        "backbone_config": backbone,
        "d_model": dim,
        "num_queries": config.queries,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feed_forward,
        "decoder_ffn_dim": config.feed_forward,
        "dropout": config.dropout,
    }
    if config.architecture == "detr":
        backbone["out_indices"] = [4]
        return shared
    return {
        **shared,
        "encoder_hidden_dim": dim,
        "encoder_in_channels": channels[1:],
        "decoder_in_channels": [dim] * 3,
        "feat_strides": [*STRIDES],
    }


def _hgnet(channels: list[int]) -> dict[str, Any]:
    """HGNetV2 with the depths of its smallest variant (B0), and these channels."""
    stem = max(16, channels[0] // 2)
    return {
        "model_type": "hgnet_v2",
        "stem_channels": [3, stem, stem],
        "stage_in_channels": [stem, *channels[:3]],
        "stage_mid_channels": [max(16, each // 4) for each in channels],
        "stage_out_channels": channels,
        "stage_num_blocks": [1, 1, 2, 1],
        "stage_numb_of_layers": [3, 3, 3, 3],
        "hidden_sizes": channels,
        "depths": [1, 1, 2, 1],
        "embedding_size": stem,
        "out_indices": [2, 3, 4],
    }


def _resnet(channels: list[int]) -> dict[str, Any]:
    return {
        "model_type": "resnet",
        "layer_type": "basic",
        "embedding_size": channels[0],
        "hidden_sizes": channels,
        "depths": [RESNET_DEPTH] * 4,
        "out_indices": [2, 3, 4],
    }
