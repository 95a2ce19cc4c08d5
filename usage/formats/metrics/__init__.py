"""Formats of run metrics, one small module each: progress and quality of a run, never money."""
