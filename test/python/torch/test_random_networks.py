"""Random networks, frozen and not, against eager in f64; several at once in one graph."""

import pytest
from random_networks import SMALL, Network, forced, verify
from settings import FULL
from test_random_modules import each_alone

TOGETHER = 2
BOUND = {"force": "bound_vectors=1"}  # what products pack of weights is packed once, however small it is
#: How networks are made, planned, compiled and called. Vectors of 16 elements: plans of another chip, as code of this machine.
WAYS = {
    "one thread": {}, "two threads": {"threads": 2}, "dynamic batch": {"dynamic": True}, "bound": BOUND, "bound, two threads": {**BOUND, "threads": 2},
    "bound, dynamic batch": {**BOUND, "dynamic": True}, "vectors along rows": {"force": "lanes_on=m"},
    "vectors of 16": {"target": "cpu:zen4", "device": "model"}, "emulated": {"target": "nvidia:H200", "device": "emulator", "sizes": SMALL},
}
#: Networks of each way in CI.
SHARE = {"one thread": 2, "bound": 4, "bound, dynamic batch": 2, "emulated": 2}


@pytest.mark.parametrize("way, first", [(way, first) for way in WAYS for first in range(0, 200 if FULL else SHARE.get(way, 0), TOGETHER)])
def test_networks(way, first):
    def run(seeds, force="", sizes=None, **given):
        with forced(force):
            verify([Network(seed, sizes) for seed in seeds], **given)
    offset = 1000 * list(WAYS).index(way)
    each_alone(lambda seeds: run(seeds, **WAYS[way]), [offset + seed for seed in range(first, first + TOGETHER)])
