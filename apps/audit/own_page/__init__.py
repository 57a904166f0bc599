"""Proofs for readers about their own home page.

check         compares the page with the tables
archive       the page as a file with its rows, receipt, signature and verifier
signing       signatures with the site's key
code_version  the version and hash of the code, stated in receipts
verify        the program in the archive, which works without the site
"""
