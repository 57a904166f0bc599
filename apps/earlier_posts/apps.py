"""The app for earlier posts: posts that members wrote on other sites, imported from archives. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EarlierPostsConfig(AppConfig):
    name = "apps.earlier_posts"
    verbose_name = _("earlier posts")

    def ready(self) -> None:
        """Add the import of archives, pages, a profile link, served folders, a file in exports, and an erasure step."""
        from apps.earlier_posts import actions, privacy  # noqa: PLC0415 -- needs the models
        from apps.earlier_posts.archive_file import Archive, posts_of  # noqa: PLC0415 -- needs the models
        from apps.earlier_posts.models import FOLDER, FOLLOWERS_FOLDER  # noqa: PLC0415 -- needs the models
        from apps.earlier_posts.queries import HAS_EARLIER_POSTS, is_served  # noqa: PLC0415 -- needs the models
        from apps.media.hooks import SERVED_FOLDERS, ServedFolder  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE, POSTS, Posts  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import INSERTS, PAGES, PROFILE_LINKS, Insert, ProfileLink  # noqa: PLC0415 -- needs the models

        POSTS.add(
            Posts(
                Archive,
                posts_of,
                actions.prepare_pictures,
                actions.make_earlier_post,
                actions.remove_earlier_post,
            )
        )
        PAGES.add("apps.earlier_posts.pages")
        INSERTS.add(
            Insert("import", "earlier_posts/_import.html"),
            Insert("import_report", "earlier_posts/_report.html"),
        )
        PROFILE_LINKS.add(ProfileLink(HAS_EARLIER_POSTS, "/earlier", _("Earlier posts")))
        for folder in (FOLDER, FOLLOWERS_FOLDER):
            SERVED_FOLDERS.add(ServedFolder(folder, is_served))
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.earlier_posts)
