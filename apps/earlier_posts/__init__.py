"""Earlier posts: what members wrote on other sites before, from an archive that they brought along. Optional.

They are documents, not posts: with their own dates, on pages of their own, and never in a timeline.

archive_file  a Mastodon archive: the zip file, its posts, its pictures
html_text     the text of a post in HTML
actions       making and deleting earlier posts
queries       who sees which of them
"""
