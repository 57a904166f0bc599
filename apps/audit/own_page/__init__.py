"""What readers can prove about their own home page.

check     compare it with the tables
archive   take it along: rows, receipt, signature, verifier
signing   the site's key
verify    the program in the archive, which needs no site
"""
