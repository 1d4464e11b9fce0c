"""Running: the task stream, the loop over orders, recovery after a crash, clock and ids."""
