"""Network parts: trunks, tuple embeddings, value codec and value tables."""
