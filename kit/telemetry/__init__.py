"""Who reads the machine: one module per source."""
