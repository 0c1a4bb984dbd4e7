"""Files that are broken or made to do harm, and what becomes of them."""
