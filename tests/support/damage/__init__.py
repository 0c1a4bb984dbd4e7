"""Damaged and hostile files, and tools that record what decoders and readers do with them."""
