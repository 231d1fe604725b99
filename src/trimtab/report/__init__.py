"""A run as a page: read from its folder alone, in one file that loads nothing, or live while training writes."""
