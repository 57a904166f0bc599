"""Earlier posts: posts that members wrote on other sites, imported from their archives. Optional.

They are documents, not posts: with their own dates, on separate pages, and never in a timeline.

archive_file   a Mastodon archive: the zip file, its posts, its pictures
html_text      the text of a post in HTML
actions        creating and deleting earlier posts
queries        which earlier posts a viewer sees
"""
