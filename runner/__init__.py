"""The launcher: installs packages, starts the servers, the site and its workers, and stops them.

It needs the Python standard library alone and never imports Django; `./run` calls it.
"""
