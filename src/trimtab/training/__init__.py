"""The training loop on one page, the checks before it, validation and logs."""
