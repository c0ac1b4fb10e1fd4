"""Measurements, each a command that prints a table: `make bench`, or `python -m benchmarks NAME`."""
