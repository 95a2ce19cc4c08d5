"""Measurements, each with its baseline in the same run. `make bench` prints them; no test is ever timed."""
