"""Metrics, one file each: what a metric is called, how it is written, and how it is computed. Read without torch."""
