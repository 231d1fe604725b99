"""A training toolkit for transformers that makes the small decisions of a run come out right.

The map, from what a person types down to what a number means. Higher may import lower; names with a bar between them
are strangers. The contract `line` in `pyproject.toml` says the same, and a test compares.

    __main__                                    the command as a module
    cli                                         one file a command, nothing heavy before it runs
    demo | averaging | replaying | vocabulary | lab | tuning   demo; checkpoint averaging; replay; vocabularies; tuning
    report                                      a run as a page, from its folder alone
    launch | inspection | cleaning | adapters | exporting | shortlisting | serving | probing | doctor | multilingual
    training                                    the loop on one page, the checks before it, the records along it
    build | parts                               introduces the stages to one another; single parts for other loops
    tasks                                       what differs between tasks: data, batches, loss, checks, validation
    evaluation                                  how likely a model finds given texts, how good its own are
    inference                                   a checkpoint ready to translate
    export                                      other forms of a model: written, proven, opened again
    device | choices                            where it runs; what a recipe leaves open
    data | model | loss | step | guard | watch | checkpoint | decode | checks | fit | trackers   stages; linter; planner
    config | distributed | run_clock            the recipe, read without torch; the ranks of a run; how far it is
    types | progress | gpu | metrics | run_findings   what travels; progress; kernels; metrics; texts of findings
    finding | arguments | world | logit_tiles | host_memory   what rules and guards say; arguments; processes; leaves
    errors | units                              what goes wrong; numbers that remember their unit
"""

# Type checkers know the name. Nothing is imported here that a command would wait for before it can take a Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from trimtab.averaging.average import average as average
    from trimtab.averaging.soup import greedy_soup as greedy_soup
    from trimtab.checkpoint.log_table import read_metrics as read_metrics
    from trimtab.checks.check import check as check
    from trimtab.checks.convert import convert as convert
    from trimtab.cleaning import clean_files as clean_files
    from trimtab.cleaning import clean_recipe as clean_recipe
    from trimtab.config.load import load_recipe as load_recipe
    from trimtab.decode.mbr import Mbr as Mbr
    from trimtab.decode.sampling import Sampling as Sampling
    from trimtab.decode.search import Search as Search
    from trimtab.device import set_threads as set_threads
    from trimtab.evaluation.comparison import compare as compare
    from trimtab.evaluation.pairs import score as score
    from trimtab.evaluation.reranking import load_reranker as load_reranker
    from trimtab.evaluation.texts import evaluate_text as evaluate_text
    from trimtab.evaluation.translations import evaluate as evaluate
    from trimtab.export.quantized import Quantized as Quantized
    from trimtab.exporting import export_model as export_model
    from trimtab.inference.generating import generate as generate
    from trimtab.inference.generating import load_generator as load_generator
    from trimtab.inference.load import load_model as load_model
    from trimtab.inference.terminology import open_glossary as open_glossary
    from trimtab.inference.together import load_translator as load_translator
    from trimtab.inspection import inspect_recipe as inspect_recipe
    from trimtab.launch import smoke as smoke
    from trimtab.launch import train as train
    from trimtab.multilingual import multilingual_recipe as multilingual_recipe
    from trimtab.replaying.replay import replay as replay
    from trimtab.serving.limits import ServeLimits as ServeLimits
    from trimtab.serving.models import ServeOptions as ServeOptions
    from trimtab.serving.serve import serve as serve
    from trimtab.serving.serve import start_server as start_server
    from trimtab.shortlisting import build_shortlist as build_shortlist
    from trimtab.tasks.classification.classifier import load_classifier as load_classifier
    from trimtab.tasks.detection.detector import load_detector as load_detector
    from trimtab.tasks.diffusion.autoencoder import load_autoencoder as load_autoencoder
    from trimtab.tasks.diffusion.generator import load_image_generator as load_image_generator
    from trimtab.tasks.image_classification.classifier import load_image_classifier as load_image_classifier
    from trimtab.tasks.recognition.recognizer import load_recognizer as load_recognizer
    from trimtab.tuning.largest import find_micro_batch as find_micro_batch
    from trimtab.tuning.largest import find_rank as find_rank
    from trimtab.tuning.learning_rate import find_learning_rate as find_learning_rate
    from trimtab.tuning.noise_scale import find_noise_scale as find_noise_scale
    from trimtab.vocabulary.surgery import extend_vocabulary as extend_vocabulary
    from trimtab.vocabulary.surgery import trim_vocabulary as trim_vocabulary

__version__ = "0.1.0"

HOMES = {
    "average": "trimtab.averaging.average",
    "greedy_soup": "trimtab.averaging.soup",
    "export_model": "trimtab.exporting",
    "Quantized": "trimtab.export.quantized",
    "build_shortlist": "trimtab.shortlisting",
    "convert": "trimtab.checks.convert",
    "check": "trimtab.checks.check",
    "clean_files": "trimtab.cleaning",
    "clean_recipe": "trimtab.cleaning",
    "load_recipe": "trimtab.config.load",
    "read_metrics": "trimtab.checkpoint.log_table",
    "set_threads": "trimtab.device",
    "train": "trimtab.launch",
    "smoke": "trimtab.launch",
    "evaluate": "trimtab.evaluation.translations",
    "compare": "trimtab.evaluation.comparison",
    "evaluate_text": "trimtab.evaluation.texts",
    "inspect_recipe": "trimtab.inspection",
    "score": "trimtab.evaluation.pairs",
    "multilingual_recipe": "trimtab.multilingual",
    "replay": "trimtab.replaying.replay",
    "generate": "trimtab.inference.generating",
    "load_classifier": "trimtab.tasks.classification.classifier",
    "load_detector": "trimtab.tasks.detection.detector",
    "load_autoencoder": "trimtab.tasks.diffusion.autoencoder",
    "load_image_classifier": "trimtab.tasks.image_classification.classifier",
    "load_image_generator": "trimtab.tasks.diffusion.generator",
    "load_recognizer": "trimtab.tasks.recognition.recognizer",
    "load_generator": "trimtab.inference.generating",
    "Mbr": "trimtab.decode.mbr",
    "Sampling": "trimtab.decode.sampling",
    "Search": "trimtab.decode.search",
    "load_model": "trimtab.inference.load",
    "serve": "trimtab.serving.serve",
    "start_server": "trimtab.serving.serve",
    "ServeLimits": "trimtab.serving.limits",
    "ServeOptions": "trimtab.serving.models",
    "load_reranker": "trimtab.evaluation.reranking",
    "load_translator": "trimtab.inference.together",
    "open_glossary": "trimtab.inference.terminology",
    "find_learning_rate": "trimtab.tuning.learning_rate",
    "find_micro_batch": "trimtab.tuning.largest",
    "find_noise_scale": "trimtab.tuning.noise_scale",
    "find_rank": "trimtab.tuning.largest",
    "trim_vocabulary": "trimtab.vocabulary.surgery",
    "extend_vocabulary": "trimtab.vocabulary.surgery",
}
"""Where each public function lives. They are fetched when first asked for, so that reading a recipe loads no torch."""

__all__ = ["__version__", *HOMES]


def __getattr__(name: str) -> "Any":
    if name in HOMES:
        from importlib import import_module

        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module 'trimtab' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is, also before any of it was fetched."""
    return sorted(__all__)
