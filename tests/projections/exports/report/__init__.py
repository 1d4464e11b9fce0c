"""Reports: the desk's figures, in formats that other people and tools read."""
