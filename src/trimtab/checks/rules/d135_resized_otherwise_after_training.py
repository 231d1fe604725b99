"""D135 resized-otherwise-after-training"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import albumentations as A\n"
    'train_transform = A.Compose([A.{first}, A.HorizontalFlip()], bbox_params=A.BboxParams(format="coco"))\n'
    "infer_transform = A.Compose([A.LongestMaxSize(640), A.PadIfNeeded(640, 640)])\n"
)

RULE = Rule(
    code="D135",
    name="resized-otherwise-after-training",
    severity="warning",
    message="`{squeezed}` in `{one}` squeezes images to one shape, but `{kept}` in `{other}` keeps their aspect ratio",
    why="A model trained on squeezed images sees other proportions in images that keep their aspect ratio: boxes, "
    "letters and faces have another shape in use than in training.",
    evidence=(
        Arithmetic(
            "Squeezing 1920 x 1080 to 640 x 640 scales widths by 0.33 and heights by 0.59; with the longest side at "
            "640, both are scaled by 0.33."
        ),
        Maintainer(
            "https://github.com/Peterande/D-FINE/issues/139",
            "Training and export resize in different ways (title only).",
            opened=False,
        ),
    ),
    fix=Fix("resize in the same way in both, such as to a longest side with padding"),
    bad=Example("train.py", _SCRIPT.format(first="Resize(640, 640)")),
    good=Example("train.py", _SCRIPT.format(first="LongestMaxSize(640), A.PadIfNeeded(640, 640)")),
    tips=("S0-111",),
    symptoms=("good in training, bad in use", "boxes are shifted after export"),
)
_OF_TRAINING = ("train", "trn")
_OF_USE = ("val", "test", "infer", "eval", "pred", "export", "deploy", "serve")
_KEEPING = frozenset({"LongestMaxSize", "SmallestMaxSize", "PadIfNeeded", "Pad"})
_COMPOSING = ("Compose", "Sequential")


def check(run: Description) -> Iterator[Diagnosis]:
    """Two chains of transforms of one script, named for training and for use: one squeezes, the other does not."""
    chains = [event for event in flow_of(run.document).named(*_COMPOSING) if event.value.label]
    for one in chains:
        for other in chains:
            if _is_for(one, _OF_TRAINING) and _is_for(other, _OF_USE):
                yield from _compared(one, other)
                return


def _compared(one: Event, other: Event) -> Iterator[Diagnosis]:
    trained, used = _ways(one.value), _ways(other.value)
    squeezed, kept = trained & {"Resize"}, used - {"Resize"}
    if not (squeezed and kept):
        squeezed, kept, one, other = used & {"Resize"}, trained - {"Resize"}, other, one
    # A chain that does both resizes what it has cut to one shape before.
    if squeezed and kept and len(trained & {"Resize"}) + len(used & {"Resize"}) == 1:
        yield RULE.at(
            one.place,
            squeezed="Resize",
            one=one.value.label,
            kept=sorted(kept)[0],
            other=other.value.label,
        )


def _ways(chain: Value) -> set[str]:
    """How a chain brings images to a size: squeezed to two numbers, or by one side; `RandomResizedCrop` and other crops
    count as neither."""
    found = set[str]()
    for each in walk(chain):
        if each.made not in ("call", "object"):
            continue
        if each.last in _KEEPING or each.last.lower() == "letterbox":
            found.add(each.last)
        elif each.last == "Resize" and _has_two_sides(each):
            found.add("Resize")
        elif "Crop" in each.last:
            return set()
    return found


def _has_two_sides(resize: Value) -> bool:
    """`Resize(640, 640)` of albumentations, `Resize((640, 640))` of torchvision and of both."""
    size = resize.argument(0, "size")
    if size is not None and size.made == "list":
        return len(size.args) == 2
    if not resize.name.startswith(("albumentations.", "A.")):
        return False
    return len(resize.args) >= 2 or {"height", "width"} <= resize.keywords.keys()


def _is_for(event: Event, words: tuple[str, ...]) -> bool:
    return any(word in event.value.label.lower() for word in words)
