"""Messages as the standards write them: their own examples, and the device's side."""

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.checks import run_checks

from apps.push import encryption
from apps.push.encryption import (
    check_key,
    decoded,
    device_keys,
    encoded,
    encrypted,
    public_key,
    seal,
    sealed_message,
    topic_of,
    unseal,
)
from tests.support.push_service import Device, Received, claims_of


def test_the_example_of_rfc_8291():
    """Its appendix A: keys, salt and text, and what comes of them."""
    own = ec.derive_private_key(
        int.from_bytes(decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), ec.SECP256R1()
    )
    keys = device_keys(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    body = encrypted(
        b"When I grow up, I want to be a watermelon", keys, own, decoded("DGv6ra1nlYgDCS1FRnbzlw")
    )
    assert encoded(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("standard", [True, False])
def test_only_the_device_reads_it_and_the_site_has_signed_it(standard):
    device, another = Device(), Device()
    message = sealed_message(
        '{"title": "你好"}'.encode(), "https://push.example:8443/abc", device_keys(**device.keys), standard=standard
    )  # fmt: skip
    arrived = Received(
        "/abc", {name.lower(): value for name, value in message.headers.items()}, message.body
    )
    assert device.read(arrived) == {"title": "你好"}
    with pytest.raises(InvalidTag):
        another.read(arrived)
    claims, site = claims_of(arrived)
    assert claims["aud"] == "https://push.example:8443"
    assert site == public_key()


def test_no_two_messages_are_encrypted_alike():
    keys = device_keys(**Device().keys)
    bodies = {sealed_message(b"{}", "https://push.example/", keys).body for _number in range(3)}
    assert len(bodies) == 3


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [("", ""), ("AAAA", "BTBZMqHH6r4Tts7J_aSIgg"), (encoded(b"\4" + bytes(64)), "BTBZMqHH6r4Tts7J_aSIgg"),
     (Device().keys["p256dh"], "short"), ("ü", "ü"), ("a", "a")],
    ids=["empty", "short", "no point", "short secret", "letters", "a"],
)  # fmt: skip
def test_what_are_no_keys(p256dh, auth):
    with pytest.raises(ValueError):  # noqa: PT011 -- of several libraries
        device_keys(p256dh, auth)


def test_keys_in_plain_base64_are_the_same():
    device = Device()
    keys = {name: value.replace("-", "+").replace("_", "/") + "=" for name, value in device.keys.items()}  # fmt: skip
    assert device_keys(**keys) == device_keys(**device.keys)


def test_a_sealed_token_is_read_with_the_keys_of_the_site_alone(settings):
    sealed = seal("rillapp_secret")
    assert "secret" not in sealed
    assert unseal(sealed) == "rillapp_secret"
    before, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    assert unseal(sealed) == ""
    settings.SECRET_KEY_FALLBACKS = [before]
    assert unseal(sealed) == "rillapp_secret"


def test_a_topic_has_at_most_32_characters_of_base64url():
    assert topic_of("favourite-1-2") == topic_of("favourite-1-2") != topic_of("favourite-1-3")
    assert len(topic_of("x")) == 32


@pytest.mark.parametrize(("key", "in_production", "found"), [
    ("", False, []), ("", True, ["push.W001"]), ("no key", False, ["push.E001"]), ("AAAA", True, ["push.E001"]),
    (encoded(b"\xff" * 32), False, ["push.E001"]), (encoded(b"\1" * 32), True, []),
])  # fmt: skip
def test_the_check_says_when_the_key_is_missing_or_none(settings, key, in_production, found):
    settings.VAPID_PRIVATE_KEY, settings.PRODUCTION = key, in_production
    assert [message.id for message in check_key()] == found


def test_the_check_is_run(settings):
    settings.VAPID_PRIVATE_KEY = "no key"
    assert "push.E001" in {message.id for message in run_checks(tags=["security"])}


def test_without_a_key_nothing_is_sealed(settings):
    settings.VAPID_PRIVATE_KEY = ""
    assert public_key() == ""
    with pytest.raises(ValueError, match="VAPID_PRIVATE_KEY"):
        sealed_message(b"", "https://push.example/", device_keys(**Device().keys))


def test_the_signature_ends_within_a_day(monkeypatch):
    monkeypatch.setattr(encryption, "time", lambda: 1000.5)
    device = Device()
    message = sealed_message(b"{}", "https://push.example/", device_keys(**device.keys))
    arrived = Received("/", {name.lower(): value for name, value in message.headers.items()}, b"")
    assert 1000 < claims_of(arrived)[0]["exp"] <= 1000 + 24 * 3600
