import torch

from trimtab.export.hf.llama_opened import OpenedText
from trimtab.export.hf.marian_engine import open_hugging_face
from trimtab.export.target import ContinuesPrompts, Engine, TextEngine, Trained, TranslatesLines
from trimtab.inference import load_model
from trimtab.types import Translates


def test_an_engine_of_a_translator_is_something_that_decoding_takes(exported_run):
    model = open_hugging_face(exported_run, device=torch.device("cpu"))
    assert isinstance(model, Engine)
    assert isinstance(model, Translates)
    assert not isinstance(model, TextEngine)


def test_a_language_model_continues_prompts_and_translates_no_lines(exported_text):
    opened = OpenedText(exported_text)
    assert isinstance(opened, ContinuesPrompts)
    assert not isinstance(opened, TranslatesLines)


def test_a_loaded_run_is_something_that_can_be_exported(trained_run):
    assert isinstance(load_model(str(trained_run), device="cpu"), Trained)
