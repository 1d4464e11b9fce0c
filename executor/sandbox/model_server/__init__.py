"""A model on loopback that follows a scenario file, in three protocols, well or badly behaved."""
