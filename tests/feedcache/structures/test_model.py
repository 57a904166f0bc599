"""The tiers beside a plain dict: whatever happens to the nodes, a read gives the present value or nothing.

Two clients that know nothing of each other take turns; the listener's second passes for both after every fault.
"""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import make
from tests.feedcache.pools import LABELS, a_second_passes

pytestmark = pytest.mark.long

KEYS = ["key:0", "key:4"]  # one in each slot of Main
TTL = 300

clients = st.integers(0, 1)
steps = st.one_of(
    *[st.tuples(st.just("set"), clients, st.sets(st.sampled_from(KEYS), min_size=1))] * 3,
    st.tuples(st.just("delete"), clients, st.sampled_from(KEYS)),
    st.tuples(st.just("update"), clients, st.sampled_from(KEYS)),
    st.tuples(st.just("read"), clients, st.just(None)),
    st.tuples(st.just("load"), clients, st.sampled_from(KEYS)),
    st.tuples(st.just("kill"), clients, st.sampled_from(LABELS)),
    *[st.tuples(st.just("freeze"), clients, st.sampled_from(LABELS))] * 2,
    *[st.tuples(st.just("return"), clients, st.sampled_from(LABELS))] * 2,
    st.tuples(st.just("flush"), clients, st.sampled_from(LABELS)),
    st.tuples(st.just("second"), clients, st.just(None)),
    st.tuples(st.just("pause"), clients, st.just(None)),
)


class Model:
    def __init__(self, pools):
        self.pools = pools
        self.pair = [pools.client(), pools.client()]
        self.truth = {}
        self.number = 0

    def do(self, what, client, with_what):
        getattr(self, what)(self.pair[client], with_what)

    def new(self):
        self.number += 1
        return b"%d" % self.number

    def set(self, cache, keys):
        values = {key: self.new() for key in keys}
        self.truth |= values
        cache.set_many(values, ttl_seconds=TTL)
        self.settle(cache)

    def delete(self, cache, key):
        self.truth.pop(key, None)
        cache.delete_many([key])
        self.settle(cache)

    def update(self, cache, key):
        value = self.new()
        if key in self.truth:
            self.truth[key] = value
            cache.update(key, lambda _old: value, ttl_seconds=TTL)
            self.settle(cache)

    def read(self, cache, _nothing):
        found = cache.get_many(KEYS)
        assert found == {key: self.truth.get(key) for key in found}

    def load(self, cache, key):
        """What a reader does who misses."""
        read = cache.read([key])
        if not read.items and key in self.truth:
            cache.fill(read, {key.encode(): make(Kind.VALUE, self.truth[key], TTL)})
            self.settle(cache)

    def kill(self, _cache, label):
        self.pools.kill(label)
        self.second(None, None)

    def freeze(self, _cache, label):
        if self.pools.servers[label].child.running():
            self.pools.freeze(label)

    def flush(self, _cache, label):
        """It lost its memory, as by a quick restart."""
        self.pools.kill(label)
        self.pools.bring_back(label)

    def second(self, _cache, _nothing):
        for cache in self.pair:
            a_second_passes(cache)

    def pause(self, _cache, _nothing):
        time.sleep(0.04)

    def settle(self, cache):
        """What was sent without an answer has arrived, where it can; the other client hears of what has not."""
        for node in cache.nodes():
            node.ping()
        self.second(None, None)


setattr(Model, "return", lambda self, _cache, label: self.pools.bring_back(label))


def test_never_an_old_value(pools, quick):
    @settings(
        max_examples=15,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(steps, min_size=10, max_size=40))
    def run(script):
        pools.reset()
        model = Model(pools)
        try:
            for what, client, with_what in script:
                model.do(what, client, with_what)
                model.read(model.pair[0], None)
                model.read(model.pair[1], None)
        finally:
            for cache in model.pair:
                for node in cache.nodes():
                    node.retire()
            pools.clients.clear()

    run()


@pytest.fixture
def quick(cache_settings):
    cache_settings.memcached_timeout_seconds = 0.1
