"""What a person sees: the replay pages, the frame player and the one door for human decisions."""
