"""D137 statistics-of-all-data"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom sklearn.model_selection import train_test_split\n"
    "from sklearn.preprocessing import StandardScaler\n{split}net = torch.nn.Linear(30, 2)\n"
    "optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
)

RULE = Rule(
    code="D137",
    name="statistics-of-all-data",
    severity="warning",
    message="`{scaler}` is fitted before the data are split: test examples influence the training data",
    why="Means, ranges or components that include the test set leak information about it into training, most of all "
    "if there is little data or labels select the features.",
    evidence=(
        Maintainer(
            "https://scikit-learn.org/stable/common_pitfalls.html#data-leakage",
            "'Always split the data into train and test subsets first, particularly before any preprocessing steps. "
            "Never include test data when using estimator `fit` and `fit_transform` methods.'",
        ),
    ),
    fix=Fix("split first, fit `{scaler}` on the training part, and transform both parts with it"),
    bad=Example(
        "train.py",
        _SCRIPT.format(split="x = StandardScaler().fit_transform(x)\na, b, c, d = train_test_split(x, y)\n"),
    ),
    good=Example(
        "train.py",
        _SCRIPT.format(
            split="a, b, c, d = train_test_split(x, y)\nscaler = StandardScaler()\na = scaler.fit_transform(a)\n"
            "b = scaler.transform(b)\n"
        ),
    ),
    symptoms=("test score is much better than on new data", "data leakage"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """What `fit_transform` of scikit-learn gives back is split into training and test data."""
    flow = flow_of(run.document)
    if "sklearn" not in run.document.imports:
        return
    for event in flow.named("train_test_split"):
        if not event.value.name.startswith("sklearn.model_selection."):
            continue
        for given in event.value.args:
            name = _fitted(given)
            if name:
                yield RULE.at(event.place, scaler=name)
                return


def _fitted(given: Value) -> str:
    """The class of scikit-learn whose statistics are in a value; encoders and tokenisers have none."""
    for each in walk(given, most=12):
        of = each.of if each.made == "call" and each.name == "fit_transform" else None
        if (
            of is not None
            and of.made == "call"
            and of.name.startswith(
                (
                    "sklearn.preprocessing.",
                    "sklearn.decomposition.",
                    "sklearn.feature_selection.",
                    "sklearn.impute.",
                )
            )
        ):
            return "" if of.last.endswith(("Encoder", "Binarizer")) else of.last
    return ""
