import torch

from tests.model.test_encoder_decoder import build
from trimtab.build import EvaluationModel


def test_the_model_itself_is_evaluated_where_nothing_else_is_said():
    model = build()
    assert EvaluationModel(model).copy() is model


def test_the_average_is_evaluated_where_there_is_one_and_half_precision_where_it_is_asked_for():
    model, average = build(), build()
    asked = []

    def averaged(given):
        asked.append(given)
        return average

    assert EvaluationModel(model, averaged).copy() is average
    assert asked == [model]
    narrow = EvaluationModel(model, averaged, torch.bfloat16).copy()
    assert narrow.output_matrix.dtype == torch.bfloat16
    assert average.output_matrix.dtype == torch.float32
    torch.testing.assert_close(narrow.output_matrix.float(), average.output_matrix, atol=1e-2, rtol=1e-2)
