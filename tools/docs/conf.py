"""The configuration of Sphinx for the documentation site; `tools.docs.site` lays out the pages."""

from feedsite import __version__

project = "feedsite"
version = release = __version__
extensions = ["myst_parser"]
root_doc = "docs/README"
myst_heading_anchors = 5
# Blocks of code with gaps, and shells that Pygments does not support.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"feedsite {__version__}"
html_copy_source = False
html_show_sphinx = False
