"""Deletes preview images when their post or author has changed."""

from apps.events.actions import Payload, handles
from apps.syndication.preview_image import delete_images_of_author, delete_images_of_post


@handles("post_edited")
@handles("post_deleted")
def delete_post_image(payload: Payload) -> None:
    delete_images_of_post(payload["post_id"])


@handles("account_changed")
def delete_author_images(payload: Payload) -> None:
    delete_images_of_author(payload["user_id"])
