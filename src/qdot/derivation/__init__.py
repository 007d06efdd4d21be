"""Equations of a model, derived in symbols, compared with the engine, and written for people and machines."""
