"""Foreign systems to practise on, each a real server on a loopback port."""
