"""Training runs and their metrics."""
