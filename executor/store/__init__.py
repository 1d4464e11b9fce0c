"""The append side of the record and the blobs beside it: ``open_record``, ``open_blobs``."""
