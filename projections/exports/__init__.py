"""What leaves the house: evidence bundles, and the verifier that needs no trust in us."""
