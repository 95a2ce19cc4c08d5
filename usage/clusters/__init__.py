"""Clusters: how many cards there are, when they stand still, and what nobody held."""
