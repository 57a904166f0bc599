"""The launcher: installs packages, starts the servers, the site and its workers, and stops them.

It needs only the Python standard library and never imports Django; `./run` calls it.
"""
