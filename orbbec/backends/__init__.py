"""Other libraries' functions, done by orbbec."""
