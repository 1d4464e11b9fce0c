"""Part of the test suite."""
