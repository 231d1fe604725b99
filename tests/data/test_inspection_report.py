import dataclasses
import json

from trimtab.data.inspection_report import (
    CorpusReport,
    Overlap,
    Quantiles,
    Reason,
    Report,
    Side,
    example,
    render,
)

LENGTHS = Quantiles(1, 2, 20, 90, 1234, 5678)
SIDE = Side(tokens=LENGTHS, words=LENGTHS, unknown_rate=0.00125, byte_rate=0.5, characters_per_token=3.456)
CORPUS = CorpusReport(
    name="prose/train",
    pairs=121_655,
    inspected=100,
    kept=90,
    source=SIDE,
    target=SIDE,
    target_per_source=1.05,
    too_long=4,
    dropped={"length": Reason(6, (example(7, "one", "eins"),)), "too_long": Reason(4, ())},
    same_share=0.25,
    duplicate_share=0.125,
)
REPORT = Report(
    max_tokens=256,
    train=(CORPUS,),
    valid=(dataclasses.replace(CORPUS, name="dev", inspected=121_655),),
    overlap=(Overlap(valid="dev", train="prose/train", count=3, share=0.03),),
)


def test_every_number_of_the_report_is_in_the_text():
    text = render(REPORT)
    for part in (
        "prose/train (train): 121,655 pairs, 100 inspected, 90 kept",
        "dev (valid): 121,655 pairs, 90 kept",
        "1         2        20        90     1,234     5,678",
        "3.46 characters a token, 0.125% unknown, 50.000% spelled in bytes",
        "1.05 target tokens for each source token",
        "source is target in 25.00%",
        "12.50% are exact duplicates",
        "4 longer than 256 tokens",
        "dropped, length: 6",
        "line 7: one  |  eins",
        "dev in prose/train: 3 sources (3.00%)",
    ):
        assert part in text


def test_a_report_without_overlap_does_not_speak_of_it():
    assert "overlap" not in render(dataclasses.replace(REPORT, overlap=()))


def test_a_report_is_plain_enough_for_json():
    again = json.loads(json.dumps(dataclasses.asdict(REPORT)))
    assert again["train"][0]["dropped"]["length"]["examples"] == [
        {"line": 7, "source": "one", "target": "eins"}
    ]


def test_an_example_is_cut_and_shows_control_characters():
    shown = example(1, "x" * 100, "a\x00\x1b[2J\nb" + "\u2028" * 100)
    assert shown.line == 1
    assert shown.source == "x" * 80
    assert shown.target.startswith(r"a\x00\x1b[2J\nb\u2028")
    assert len(shown.target) == 80
    assert shown.target.isprintable()
