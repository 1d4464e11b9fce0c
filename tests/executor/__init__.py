"""Specifications of `executor`."""
