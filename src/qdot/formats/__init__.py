"""Files that describe mechanisms: reading them into records, and writing them."""
