"""Capacity: what is asked and approved in time, held against the cards there are and those that are reserved."""
