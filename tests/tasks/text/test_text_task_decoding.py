from tests.language_run import PAIRS, language_parts
from trimtab.errors import input_error
from trimtab.inference import Translator
from trimtab.tasks.text.text_task import five_lines


def test_decoding_that_fails_is_found(parts, monkeypatch):
    def translate(self, lines):
        raise input_error("no piece for this tag")

    monkeypatch.setattr(Translator, "translate", translate)
    results = list(five_lines(parts))
    assert [(each.code, each.severity) for each in results] == [("E201", "error")]
    assert "no piece for this tag" in results[0].message


def test_of_a_language_model_of_both_the_pairs_are_translated_wherever_they_stand(tmp_path, monkeypatch):
    changes = {
        "data.train": [{"text": "train.txt"}, PAIRS["data.train"][0]],
        "data.valid": {"prose": {"text": "dev.txt"}, "ui": PAIRS["data.valid"]},
        "data.max_tokens": 64,
    }
    seen = []
    monkeypatch.setattr(Translator, "translate", lambda self, lines: seen.append(lines))
    assert list(five_lines(language_parts(tmp_path / "both", **changes))) == []
    assert list(five_lines(language_parts(tmp_path / "none", **{**changes, "data.valid": {}}))) == []
    assert [len(lines) for lines in seen] == [5, 1]
    assert all(line for lines in seen for line in lines)
