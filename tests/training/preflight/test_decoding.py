from trimtab.errors import input_error
from trimtab.training.preflight.decoding import five_lines
from trimtab.translator import Translator


def test_decoding_that_fails_is_found(parts, monkeypatch):
    def translate(self, lines):
        raise input_error("no piece for this tag")

    monkeypatch.setattr(Translator, "translate", translate)
    results = list(five_lines(parts))
    assert [(each.code, each.severity) for each in results] == [("E201", "error")]
    assert "no piece for this tag" in results[0].message
