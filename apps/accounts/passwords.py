"""The rules of passwords that differ from Django's."""

from django.contrib.auth.password_validation import MinimumLengthValidator
from django.utils.translation import ngettext


class LongEnough(MinimumLengthValidator):
    """Django's rule in our words: its own message is not translated in every language of the site."""

    def get_error_message(self) -> str:
        """What is wrong with a short password."""
        return ngettext(
            "Use at least %(count)d character.",
            "Use at least %(count)d characters.",
            self.min_length,
        ) % {"count": self.min_length}
