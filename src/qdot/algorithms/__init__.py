"""The texts: one algorithm a file, as the book writes it, over any scalar.

They take sequences of scalars and return lists of them. `qdot` offers the same functions for arrays and batches.
"""
