"""Earlier posts: posts that members wrote on other sites, imported from their archives. Optional.

They are stored as documents, not as posts: they keep their dates, have separate pages, and are in no timeline.

archive_file   a Mastodon archive: the zip file, its posts, its pictures
html_text      the text of a post in HTML
actions        creating and deleting earlier posts
queries        reading the earlier posts that a viewer may see
"""
