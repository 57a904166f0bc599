"""Garbage planted in any key of any cache is a miss: pages stay byte for byte the same."""

import random
import socket
from urllib.parse import unquote_to_bytes

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user, mute_user
from apps.posts.actions.edit import edit_post
from feedcache.connections import timelines
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.services import running

pytestmark = pytest.mark.flows

PLACES = [
    "/api/v1/timelines/home", "/api/v1/timelines/public", "/api/v1/accounts/{alice}/statuses",
    "/api/v1/statuses/{post}",
    "/api/v1/statuses/{post}/context", "/api/v1/accounts/relationships?id[]={alice}",
    "/api/v1/accounts/{alice}/followers",
]  # fmt: skip


def ask(server, line):
    with socket.socket(socket.AF_UNIX) as node:
        node.settimeout(5)
        node.connect(str(server.socket))
        node.sendall(line)
        answer = b""
        while not answer.endswith((b"END\r\n", b"STORED\r\n", b"ERROR\r\n")):
            answer += node.recv(65536)
        return answer


def memcached_keys(server):
    lines = ask(server, b"lru_crawler metadump all\r\n").splitlines()
    return [unquote_to_bytes(line.split(b" ")[0][4:]) for line in lines if line.startswith(b"key=")]


def plant_in_memcached(chance):
    number = 0
    for server in running().memcached:
        for key in memcached_keys(server):
            data = chance.randbytes(chance.choice([0, 1, 7, 16, 300]))
            ask(server, b"set %s 0 0 %d\r\n%s\r\n" % (key, len(data), data))
            number += 1
    return number


def other_type(redis, key, chance):
    redis.delete(key)
    redis.set(key, chance.randbytes(20))


def other_type_again(redis, key, chance):
    redis.delete(key)
    redis.rpush(key, "x", "y")


def spoiled(redis, key, chance):
    """The right type with something senseless in it."""
    kind = redis.type(key)
    if kind == b"zset":
        redis.zadd(key, {"senseless": 0, "": 7.5})
    elif kind == b"hash":
        redis.hset(key, mapping=dict.fromkeys(list(redis.hkeys(key)), chance.randbytes(3)))
    elif kind == b"set":
        redis.delete(key)
        redis.sadd(key, "senseless", -5)
    else:
        redis.set(key, chance.randbytes(5))


@pytest.fixture
def read_all(alice, bob, carol, api_of):
    follow_user(carol, alice)
    follow_user(bob, carol)
    mute_user(bob, make_user())
    posts = [publish(alice, f"post {n}") for n in range(12)]
    edit_post(alice, posts[3].pk, body="post 3, edited")
    publish(carol, "An answer.", reply_to_id=posts[5].pk)
    publish(alice, "Only for those who follow.", visibility="followers")
    repost(carol, posts[5].pk)
    like_post(bob, posts[5].pk)
    deliver()
    api = api_of(bob)
    addresses = [place.format(alice=alice.pk, post=posts[5].pk) for place in PLACES]

    def read():
        responses = [api.get(address) for address in addresses]
        assert [response.status_code for response in responses] == [200] * len(responses)
        return [response.content for response in responses]

    return read


def test_garbage_in_memcached(read_all):
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    right = read_all()
    assert plant_in_memcached(random.Random(1)) >= 12
    assert read_all() == right
    assert read_all() == right


@pytest.mark.parametrize("plant", [other_type, other_type_again, spoiled])
def test_garbage_in_redis(read_all, plant):
    right, redis, chance = read_all(), timelines(), random.Random(2)
    keys = list(redis.scan_iter(count=1000))
    assert keys
    for key in keys:
        plant(redis, key, chance)
    assert read_all() == right
    assert read_all() == right
