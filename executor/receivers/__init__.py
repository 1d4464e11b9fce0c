"""Receiver verification: the records of whoever receives an effect say whether it arrived (C5)."""
