"""Reads PDFs, office documents and tables that anybody may have made: in a process of its own, within limits."""
