"""Month end: settlement files as vendors make them, matched with the record, each difference with its cause."""
