"""The syndication app. Optional; it has no tables."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SyndicationConfig(AppConfig):
    name = "apps.syndication"
    verbose_name = _("syndication")

    def ready(self) -> None:
        """Add feeds for feed readers, and preview images of posts without visible pictures."""
        from apps.syndication.feeds import FORMS  # noqa: PLC0415 -- needs the models
        from apps.syndication.preview_image import HEIGHT, WIDTH  # noqa: PLC0415 -- needs the settings
        from apps.web.hooks import (  # noqa: PLC0415 -- needs the models
            DRAWN_PICTURES,
            OTHER_FORMS,
            PAGES,
            DrawnPicture,
            OtherForm,
        )

        PAGES.add("apps.syndication.pages")
        OTHER_FORMS.add(
            *(OtherForm(form.name, f".{key}", form.media_type) for key, form in FORMS.items())
        )
        DRAWN_PICTURES.add(DrawnPicture("/card.png", WIDTH, HEIGHT))
