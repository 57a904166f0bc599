"""The pictures of a post, as rows and files."""

from collections.abc import Sequence
from functools import partial

from django.core.files.storage import default_storage
from django.db import transaction

from apps.posts.content import Picture
from apps.posts.drafts import NewPicture
from apps.posts.models import Attachment, Post


def attach(post: Post, pictures: Sequence[NewPicture]) -> list[Picture]:
    """Store pictures with a post that was just written, in its transaction."""
    return [
        Picture.of(
            Attachment.objects.create(
                post=post,
                position=position,
                file=picture.file,
                width=picture.width,
                height=picture.height,
                alt=picture.alt,
            )
        )
        for position, picture in enumerate(pictures)
    ]


def pictures_of(post: Post) -> list[Picture]:
    """The pictures of a post, in order."""
    return [Picture.of(one) for one in Attachment.objects.filter(post=post).order_by("position")]


def detach(post: Post) -> None:
    """Delete the pictures of a post; the files after the commit, unless another post shows them too."""
    attachments = Attachment.objects.filter(post=post)
    names = set(attachments.values_list("file", flat=True))
    attachments.delete()
    shared = set(Attachment.objects.filter(file__in=names).values_list("file", flat=True))
    for name in names - shared:
        transaction.on_commit(partial(default_storage.delete, name))
