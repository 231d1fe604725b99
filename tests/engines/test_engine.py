import torch

from trimtab.engines.engine import Engine
from trimtab.engines.hugging_face import open_hugging_face
from trimtab.flow import Translates


def test_what_an_export_is_run_by_is_an_engine_and_so_something_that_decoding_takes(exported_run):
    model = open_hugging_face(exported_run, device=torch.device("cpu"))
    assert isinstance(model, Engine)
    assert isinstance(model, Translates)
