"""What reads the record: folds, read models, settlement attribution, exports and reports."""
