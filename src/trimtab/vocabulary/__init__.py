"""Vocabulary surgery: pieces of a trained model taken away or added, with a proof that nothing else changed."""
