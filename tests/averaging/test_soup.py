import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

import trimtab
from tests.averaging.made import made, variant
from tests.language_run import language_recipe
from trimtab.averaging.members import Member, open_member
from trimtab.averaging.soup import cook, greedy_soup
from trimtab.averaging.validation_scores import ValidationScorer, ValidationScores
from trimtab.errors import InputError
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


class Point(Member):
    """A model of one number."""

    def __init__(self, value):
        object.__setattr__(self, "value", value)

    @property
    def label(self):
        return f"run@{self.value}"

    def load(self):
        return {"x": torch.tensor([self.value], dtype=torch.float64)}


class Distance(ValidationScorer):
    """The nearer to a target the better, told as a loss or as a score."""

    def __init__(self, target, metric):
        self.metric, self.chosen, self.target = metric, "valid", target

    def measure(self, weights):
        distance = abs(float(weights["x"]) - self.target)
        return ValidationScores(losses={}, score=distance if self.metric == "loss" else -distance)


def by_the_paper(values, target):
    """Recipe 1 of arXiv 2203.05482, with nothing kept between the steps."""
    order = sorted(values, key=lambda value: abs(value - target))
    soup = []
    for value in order:
        now = abs(sum(soup) / len(soup) - target) if soup else math.inf
        if abs(sum([*soup, value]) / (len(soup) + 1) - target) <= now:
            soup.append(value)
    return soup


@given(
    st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=7, unique_by=abs),
    st.sampled_from(["loss", "chrf"]),
)
def test_it_is_the_soup_of_the_paper_and_never_worse_than_the_best_single_one(values, metric):
    scorer = Distance(0.0, metric)
    members = [Point(value) for value in values]
    singles = {member.label: scorer.measure(member.load()) for member in members}
    soup = cook(members, singles, scorer)
    assert [member.value for member in soup.members] == by_the_paper(values, 0.0)
    assert abs(float(soup.weights["x"])) <= min(map(abs, values)) + 1e-12
    assert [each.taken for each in soup.tried].count(True) == len(soup.members)
    alone = [abs(each.score) for each in soup.tried]
    assert alone == sorted(alone)


def test_one_whose_score_is_no_number_is_left_out_and_said():
    scorer = Distance(0.0, "chrf")
    members = [Point(value) for value in (math.nan, 2.0, -1.0)]
    soup = cook(members, {each.label: scorer.measure(each.load()) for each in members}, scorer)
    assert [member.value for member in soup.members] == [-1.0, 2.0]
    last = soup.tried[-1]
    assert (last.label, last.taken, last.with_it) == ("run@nan", False, None)
    with pytest.raises(InputError, match="no checkpoint has a chrf that is a number"):
        cook(members[:1], {"run@nan": ValidationScores(losses={}, score=math.nan)}, scorer)


@pytest.fixture(scope="module")
def bad(run, tmp_path_factory):
    """Runs that went wrong: one whose weights are noise, one whose weights are no numbers."""
    folder, draw = tmp_path_factory.mktemp("bad"), torch.Generator().manual_seed(0)
    member = open_member(f"{run}@40")
    noise = variant(folder / "noise", member, lambda tensor: torch.randn(tensor.shape, generator=draw))
    return noise, variant(folder / "diverged", member, lambda tensor: tensor * math.nan)


@pytest.mark.slow
def test_bad_runs_stay_out_and_it_says_which_went_in_and_what_it_gained(run, bad, tmp_path):
    candidates = [bad[1], f"{run}@30", bad[0], f"{run}@40"]
    report = greedy_soup(candidates, out=tmp_path / "soup", metric="loss")
    noise, diverged = (f"{each}@40" for each in bad)
    taken = {each.label: each.taken for each in report.tried}
    assert taken[noise] is taken[diverged] is False
    assert [each.label for each in report.tried][-2:] == [noise, diverged], "sorted by score"
    compared = report.comparison
    assert compared.gain >= 0
    assert compared.scores["average"] == pytest.approx(
        min(each.with_it for each in report.tried if each.taken), rel=1e-6
    )
    assert report.members == tuple(label for label, went_in in taken.items() if went_in)
    written = load_file(next((tmp_path / "soup" / "checkpoints").glob("*/model.safetensors")))
    members = [open_member(label).load() for label in report.members]
    for name, tensor in written.items():
        exact = torch.stack([each[name].double() for each in members]).mean(0)
        assert torch.equal(tensor, exact.float())
    rendered, card = report.render(), (tmp_path / "soup" / "README.md").read_text()
    assert f"out  {noise}: alone " in rendered
    assert f"| {noise} |" in card
    assert "greedy soup" in card


def test_different_first_weights_are_a_note_since_it_measures(run, tmp_path):
    other = variant(tmp_path / "other", open_member(f"{run}@30"), lambda tensor: tensor)
    recipe = tmp_path / "other" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("seed: 1", "seed: 2"))
    report = greedy_soup([f"{run}@40", other], out=tmp_path / "soup", metric="loss")
    assert report.notes[0].endswith("another first weights; only what helped was averaged")


@pytest.mark.slow
def test_runs_of_a_language_model_are_chosen_by_the_bits_of_their_validation_texts(tmp_path):
    texts = train(language_recipe(tmp_path), out=tmp_path / "run").run
    draw = torch.Generator().manual_seed(0)
    last = open_member(f"{texts}@20")
    noise = variant(tmp_path / "noise", last, lambda tensor: torch.randn(tensor.shape, generator=draw))
    near = variant(tmp_path / "near", last, lambda tensor: tensor * 1.001)
    report = greedy_soup([noise, near, str(texts)], out=tmp_path / "soup", metric="bits_per_byte")
    taken = {each.label: each.taken for each in report.tried}
    assert taken[f"{noise}@20"] is False
    compared = report.comparison
    assert (compared.metric, compared.lower_is_better, compared.how) == ("bits_per_byte", True, "6 documents")
    found = trimtab.evaluate_text(str(tmp_path / "soup"), text=tmp_path / "dev.txt")
    assert compared.scores["average"] == pytest.approx(found.bits_per_byte, rel=1e-6)
    best = min(score for label, score in compared.scores.items() if label != "average")
    assert compared.scores["average"] <= best
    assert f"alone {compared.scores[f'{noise}@20']:.4f}" in report.render()


def test_without_a_validation_set_nothing_can_be_chosen(tmp_path):
    members = [made(tmp_path / name, **{"data.valid": {}}) for name in "ab"]
    with pytest.raises(InputError, match="its recipe has no validation set"):
        greedy_soup([each.label for each in members], out=tmp_path / "soup")
    assert not (tmp_path / "soup").exists()


def test_another_model_is_refused_before_anything_is_measured(run, tmp_path):
    other = made(tmp_path / "other", **{"model.feed_forward": 40})
    with pytest.raises(InputError, match="another model"):
        greedy_soup([f"{run}@40", other.label], out=tmp_path / "soup")
