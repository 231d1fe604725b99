"""The loop on one page, the checks before it, the scores and the records along it."""
