"""Models that other libraries run, as decoding and scoring see them: one file a library."""
