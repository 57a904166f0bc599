"""The launcher: sets up packages, starts the servers, the site and its workers, and stops them.

Runs on the Python standard library alone and never imports Django; `./run` is its front door.
"""
