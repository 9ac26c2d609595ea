"""Random networks, frozen and not, against eager in f64; several at once in one graph."""

import pytest
from random_networks import SMALL, Network, forced, verify
from settings import FULL
from test_random_modules import each_alone

TOGETHER = 4
#: How networks run: options of the back end, and what else `verify` and `forced` are told. "lanes": plans as of chips with longer vectors.
WAYS = {
    "one thread": ({}, {}), "threads": ({"threads": 2}, {}), "a dynamic batch": ({}, {"dynamic": True}),
    "bound weights": ({}, {"force": "bound_vectors=1"}), "bound weights, threads": ({"threads": 2}, {"force": "bound_vectors=1"}),
    "bound weights, a dynamic batch": ({}, {"force": "bound_vectors=1", "dynamic": True}),
    "vectors of 16": ({"target": "cpu:zen4", "device": "model"}, {}),
    "emulated": ({"target": "nvidia:H200", "device": "emulator"}, {"sizes": SMALL}),
}
#: In CI, of each way: the networks of some seeds.
SHARE = {"one thread": 8, "bound weights": 8, "bound weights, a dynamic batch": 4, "emulated": 4}


@pytest.mark.parametrize("way, first", [(way, first) for way in WAYS for first in range(0, 200 if FULL else SHARE.get(way, 0), TOGETHER)])
def test_networks(way, first):
    options, more = WAYS[way]
    more = dict(more)
    force, sizes = more.pop("force", ""), more.pop("sizes", None)

    def run(seeds):
        with forced(force):
            verify([Network(seed, sizes) for seed in seeds], **more, **options)
    each_alone(run, [1000 * list(WAYS).index(way) + seed for seed in range(first, first + TOGETHER)])
