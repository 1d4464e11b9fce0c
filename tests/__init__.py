"""The specification of Proofreel, mirrored folder by folder."""
