"""A trained model in the form of another library, proven to score and translate as the trainer does."""
