"""The facts, decisions and record format of Proofreel: pure, without I/O, clock or randomness."""
