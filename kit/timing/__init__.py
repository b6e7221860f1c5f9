"""How time is taken: one module per method."""
