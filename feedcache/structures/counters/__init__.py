"""Several small counts per id (likes, replies, reads), in Redis in front of PostgreSQL.

    the ids of a service, say of all posts, from the oldest to the newest
    |------------- part "" ------------|------- part "redis://b" -------|   parts: ranges of ids, each on a server
    |  cold  |  cold  :  hot  |  hot   |  hot   |  hot   |  hot   | hot |   buckets: neighbouring ids in one hash
                      ^ floor

    bucket  c{posts}:t300/1:4f2 = mark, name of an id -> record, name of an id -> record, ...
    record  number of fields | revision | values

The results of a read for an id (`CounterStore.answer`), and their consequences (`CounterService`):

    a record                                 its counts
    no record in a bucket that is complete   zeros: it was never counted
    a lost bucket, or a cold one not loaded  ASK_SOURCE: the whole bucket is loaded from PostgreSQL, by one process;
                                             a cold bucket stays until nobody has read it for a while
    a store that is not complete             None: PostgreSQL answers, and a rebuild is enqueued

The floor follows the clock. Buckets from the floor on are hot: a rebuild fills them, puts and increments keep them
current, and they are dropped once they are cold. A bucket has about a hundred records, stored as a listpack. In buckets
of ten records, a record costs about 12 bytes more; beyond `hash-max-listpack-entries` (512), Redis converts the bucket
into a hash table of 70 bytes per record. So a busy site sets shorter buckets and, if a second is too long, splits them
by author.

Most services have one part, at the address in the settings; the topology can split one that outgrows its server. A part
has its own meta keys and floor, and is built, evicted and moved separately. While a part moves from server A to B:

    topology    read at   put to   counted at   then
    url also
    A   -       A         A        A            `moves.prepare`: B is empty, and closed for increments
    A   B       A         A, B     A            `moves.build` fills B, `moves.hand_over` closes A and opens B
    B   A       B         A, B     B            all processes use B; `moves.forget_left` empties A
    B   -       B         B        B

Modules: `buckets` (find the bucket of an id), `records` (the bytes of a record), `store` (Redis), `service` (Redis or
PostgreSQL), `maintenance` (rebuild, write back, evict, compare), `moves`, and `lua` (keys and scripts).
"""
