"""The pure core: facts, commands, decisions, the format of the record. No I/O, no clock, no randomness."""
