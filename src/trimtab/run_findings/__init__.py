"""What a run may find about itself: the text of each finding, in one place, without torch."""
