"""Pages of what is found before the first step and while a run runs; the code that finds it stands in `home`.

Those findings carry their numbers with them. Here stands what is the same each time, so that `trimtab explain` and the
index of symptoms know them without torch.
"""

from trimtab.checks.say.seen import built_parts, checkpoints, evaluations, preflight, steps
from trimtab.checks.say.seen.page import SeenPage

PAGES: tuple[SeenPage, ...] = (
    *preflight.PAGES,
    *built_parts.PAGES,
    *evaluations.PAGES,
    *steps.PAGES,
    *checkpoints.PAGES,
)
