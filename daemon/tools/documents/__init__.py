"""The reading of PDFs, office documents and tables from untrusted sources, in a separate process with limits."""
