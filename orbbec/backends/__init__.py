"""Other libraries' functions, implemented by orbbec."""
