"""The rules about a round: one file each, named by code and fault."""
