"""Readers and writers of files that describe mechanisms."""
