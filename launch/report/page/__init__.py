"""The HTML page of a comparison: text, tables, and the data of its figures."""
