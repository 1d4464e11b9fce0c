"""The append side of the record, on real databases."""
