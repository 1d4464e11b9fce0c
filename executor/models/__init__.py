"""Models that drive a screen: three protocols, one vocabulary, validated before a finger moves (C1 to C9)."""
