"""The commands of `muzero2048`: a file each, with its options and the function that it calls.

The files are imported for every command and for --help, so they import what they call within their functions.
"""
