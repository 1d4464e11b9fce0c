"""The gauntlet: seeded faults of a vendor's pages and books, run by loops with and without guards.

Rules: every loop follows the same script and knows the right element whenever it looks; a fault lands at the same
seeded moment for all of them; what happened is read from the vendor's own book and never from a loop's own record.
"""
