"""Exact solutions of small boards."""
