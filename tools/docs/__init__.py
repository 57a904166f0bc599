"""The documentation: pages and drawings that are generated from the code, and the site made of all pages."""
