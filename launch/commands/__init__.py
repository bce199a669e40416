"""The commands of `muzero2048`: their options, and the functions that they call.

The files are imported for every command and for --help, so they import what they call within their functions.
"""
