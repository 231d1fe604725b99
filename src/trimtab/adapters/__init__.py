"""Parts of trimtab for training loops of other libraries."""
