"""Checks on the built parts before step 1, in seconds: what is wrong is reported before training starts, as findings.

A family of checks is a file. `every_check` asks them in turn and leaves the parts as it found them; a
task has its own, and the examples that all of them look at.
"""

from trimtab.training.preflight.every_check import preflight as preflight
