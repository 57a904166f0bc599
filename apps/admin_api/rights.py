"""Who may ask: staff with the rights of the staff pages, which are Django's permissions."""

from rest_framework.request import Request

from apps.accounts.models import User
from apps.api.authentication import staff_of, viewer_of


def reader_of(request: Request, app: str, model: str) -> User:
    """The member of staff, if the admin shows them the rows of a model: by the permission to view or to change them.
    NotAllowed.
    """
    change = f"{app}.change_{model}"
    is_changer = viewer_of(request).has_perm(change)
    return staff_of(request, change if is_changer else f"{app}.view_{model}")
