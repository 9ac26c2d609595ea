"""Programs that answer questions of the cost model about an H200, by plans forced one field at a time.

Each is a shape of programs.py with more keys: `group` (the question), `force` (the module's `tilewright.force`), `words` (of
tw-compile) and `zeros` (inputs of zeros). `questions` says what to read off.
"""

#: Question -> what its rows tell.
QUESTIONS = {
    "launch": "seconds of a launch that does nothing, alone and with clusters: what `launch` of the record is made of",
    "power": "zeros against normal data: what the power limit takes from the clock",
    "ports": "block tiles at the same product, all reads from L2: which unit or port bounds a step",
    "stages": "stages of the multi-stage buffer: how many hide the latency of copies",
    "cluster": "blocks that share B",
    "raster": "rows of tiles that go first (threadblock rasterisation): reads of L2 and of memory",
    "persistent": "persistent clusters of blocks: all multiprocessors, or those of whole quarters",
    "split": "a long sum of one tile, split over blocks (default) or not (--fp=strict)",
    "narrow": "16 rows against 8192 x 8192 weights: columns of a tile, whose rows lie apart in memory",
    "chains": "attention of 4096 tokens: features, rows and keys of a step, who copies, turns at units; what the model of tile programs was fitted to",
    "units": "products by units of one subgroup (mma.sync) against those of a group",
    "rates": "bytes a second of memory (1 GiB) and of L2 (16 MiB)",
}


def experiments(small):
    """Of an H200: 132 multiprocessors, tiles of 128 x 256 in clusters of 2."""
    result = []

    def product(group, label, m, n, k, force="", words=(), zeros=False, kind="f16"):
        result.append({"name": f"{group}-{label}", "kind": "gemm", "type": kind, "m": m, "n": n, "k": k, "group": group,
                       "force": force, "words": list(words), "zeros": zeros})

    def increment(group, label, count):
        result.append({"name": f"{group}-{label}", "kind": "increment", "type": "f32", "m": count, "n": 1, "group": group})

    size, long = (512, 1024) if small else (8192, 16384)
    tile = "group=4,block_m=128,block_n=256"
    increment("launch", "one-block", 32)
    for cluster in (1, 2):
        product("launch", f"cluster-{cluster}", 256, 256, 128, f"{tile},cluster={cluster}")
    product("power", "normal", size, size, size)
    product("power", "zeros", size, size, size, zeros=True)
    m, n = (256, 512) if small else (11 * 128, 12 * 256)  # one wave of tiles of 128 x 256
    for rows, columns in ((128, 128), (256, 128), (128, 256)):
        product("ports", f"{rows}x{columns}", m, n, long, f"group=4,block_m={rows},block_n={columns},cluster=1")
    for stages in (2, 3, 4):
        product("stages", str(stages), size, size, size, f"{tile},cluster=2,stages={stages}")
    for cluster in (1, 2):
        product("cluster", str(cluster), size, size, size, f"{tile},cluster={cluster}")
    for rows in (1, 2) if small else (1, 2, 4, 8, 16):
        product("raster", str(rows), size, size, size, f"{tile},cluster=2,rasterisation_rows={rows}"
                + (",persistent_blocks=2" if small else ""))
    for persistent in (2,) if small else (64, 66):
        product("persistent", str(persistent), size, size, size, f"{tile},cluster=2,persistent_blocks={persistent}")
    for fp in ("default", "strict"):
        product("split", fp, 256, 256, 4096 if small else 65536, words=[f"--fp={fp}"])
    for columns in (64,) if small else (64, 128, 256):
        product("narrow", str(columns), 16, size, size, f"group=4,block_n={columns}")
    tilings = [(128, 128, 128, "turns"), (128, 128, 64, "turns"), (64, 128, 128, "turns"), (64, 128, 64, "turns"), (64, 256, 64, "turns"),
               (128, 128, 128, "engine"), (128, 128, 64, "engine"), (128, 128, 128, "lanes"), (64, 128, 128, "engine"),
               (64, 128, 64, "engine"), (64, 64, 128, "lanes"), (64, 128, 64, "lanes"), (64, 64, 64, "lanes")]
    for features, rows, step, form in tilings[-1:] if small else tilings:
        result.append({"name": f"chains-{features}-{rows}x{step}-{form}", "kind": "attention", "type": "f16",
                       "heads": 2 if small else 8192 // features, "m": 128 if small else 4096, "n": features, "causal": False,
                       "group": "chains", "force": f"chain_rows={rows},chain_step={step},chain_engine={int(form != 'lanes')},"
                                                   f"chain_turns={int(form == 'turns')}"})
    product("units", "subgroup", size, size, size, "group=1")
    product("units", "group", size, size, size, "group=4")
    for mebibytes in (1,) if small else (16, 1024):
        increment("rates", f"{mebibytes}MiB", mebibytes << 18)
    return result
