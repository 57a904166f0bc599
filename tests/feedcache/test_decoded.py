import tracemalloc

import orjson
import pytest

from feedcache.local_cache import CachedDecoder, exact_size


def refuse_nothing(data):
    if data == b"garbage":
        raise ValueError(data)
    return [data]


def test_the_same_bytes_are_decoded_once():
    decode = CachedDecoder(refuse_nothing, maximum=10)
    first = decode(b"one")
    assert decode(bytes(bytearray(b"one"))) is first
    assert decode(b"two") is not first


def test_what_nobody_asks_for_goes_and_what_is_asked_for_stays():
    decode = CachedDecoder(refuse_nothing, maximum=10)
    kept, gone = decode(b"kept"), decode(b"gone")
    for number in range(100):
        decode(b"%d" % number)
        assert decode(b"kept") is kept
        assert len(decode) <= 20
    assert decode(b"gone") is not gone


def test_long_values_and_errors_are_not_kept():
    decode = CachedDecoder(refuse_nothing, maximum=10, max_bytes=3)
    assert decode(b"long") is not decode(b"long")
    for _ in range(2):
        with pytest.raises(ValueError, match="garbage"):
            decode(b"garbage")
    assert len(decode) == 0


def test_many_are_decoded_together_and_garbage_spoils_no_other():
    decode = CachedDecoder(refuse_nothing, maximum=2)
    first = decode(b"one")
    for _ in range(2):  # when the young ones are full, the others are still found
        one, nothing, two, three = decode.many([b"one", b"garbage", b"two", b"three"])
        assert (one, nothing, two, three) == ([b"one"], None, [b"two"], [b"three"])
        assert one is first


def test_everything_can_be_forgotten():
    decode = CachedDecoder(refuse_nothing, maximum=10)
    first = decode(b"one")
    decode.clear()
    assert decode(b"one") is not first


def test_a_copy_takes_no_more_memory_than_its_bytes():
    account = {f"key {number}": "words" for number in range(80)}

    def kilobytes_each(encode):
        tracemalloc.start()
        held = [encode(account) for _ in range(100)]
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size / len(held) / 1024

    encoded = orjson.dumps(account)
    assert exact_size(encoded) == encoded
    assert kilobytes_each(orjson.dumps) > 2 * len(encoded) / 1024
    assert kilobytes_each(lambda value: exact_size(orjson.dumps(value))) < 1.1 * len(encoded) / 1024
