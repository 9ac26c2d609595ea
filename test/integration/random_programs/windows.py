"""Random products whose operands are read in every order: windows that lie in each other, strides, rows of larger arrays, reversed sums."""

import numpy as np

#: Elements and sums of a product, and how an element becomes one of the sum.
KINDS = {"f16": ("f32", "arith.extf"), "bf16": ("f32", "arith.extf"), "f32": ("f32", None), "f64": ("f64", None), "i8": ("i32", "arith.extsi")}
SIZES = [1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 31, 32, 33, 48, 64, 65, 67, 96, 97, 101, 128, 130, 192, 257]
TILES = [16, 16, 32, 64, 128]


class Windows:
    """C[m, n] += A * B over k, and over taps of a window; `tw-run --verify` is the judge: there are no arrays of its own."""

    inputs, outputs, options = [], [], ["--verify"]

    def __init__(self, seed, small=False):
        self.rng = np.random.default_rng([seed, 7])
        self.most = (1 << 17) if small else (1 << 20)
        self.text = self.build()

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share):
        return self.rng.random() < share

    def index(self, terms):
        """(expression, elements that it reaches) of the sum of `terms`, (name, count): strided, reversed, behind a begin, in a longer
        array."""
        begin, end = (self.pick([0, 0, 0, 1, 2, 3, 8]), self.pick([0, 0, 0, 1, 3, 5, 8])) if self.chance(0.25) else (0, 0)
        words, reach = [], 0
        for name, count in terms:
            step = self.pick([1, 1, 1, 1, 1, 1, 2, 3])
            reach += step * (count - 1)
            if self.chance(0.1):
                words.append(f"{step * (count - 1)} - %{name} * {step}")
            else:
                words.append(f"%{name} * {step}" if step > 1 else f"%{name}")
        if begin:
            words.append(str(begin))
        return " + ".join(words), begin + reach + 1 + end

    def array(self, groups, kind):
        """Type and place of an operand with a dimension for each of `groups`, in a random order."""
        order = [groups[i] for i in self.rng.permutation(len(groups))]
        pairs = [self.index(group) for group in order]
        return f"memref<{'x'.join(str(extent) for _, extent in pairs)}x{kind}>", ", ".join(place for place, _ in pairs)

    def build(self):
        kind = self.pick(list(KINDS) + ["f16", "i8"])
        sum_, widen = KINDS[kind]
        # Half of the products are shorter than a vector, or than a tile, along a dimension of the result.
        counts = {name: self.pick(SIZES) for name in ("m", "n", "k")}
        if self.chance(0.5):
            counts[self.pick(["m", "n"])] = self.pick([2, 3, 4, 5, 6, 7, 9, 11])
        counts["t"] = self.pick([1, 2, 3, 5]) if self.chance(0.3) else 0
        counts["b"] = self.pick([1, 2, 3]) if self.chance(0.25) else 0
        while np.prod([float(c) for c in counts.values() if c]) > self.most:
            largest = max(("m", "n", "k"), key=counts.get)
            counts[largest] = self.pick([size for size in SIZES if size < counts[largest]])
        m, n, k, t, b = ([(name, counts[name])] for name in "mnktb")
        # A: rows and columns; windows over rows, over the sum, or over both.
        form = self.pick(["plain", "plain", "overlapping", "overlapping", "taps" if counts["t"] else "plain"])
        left = {"plain": [m, k], "overlapping": [m + k], "taps": [m + t, k]}[form]
        right = [k, n]
        if counts["t"]:
            right.append(t)
            if form != "taps":
                left.append(t)
        result = [m, n]
        if counts["b"]:
            left.append(b)
            result.append(b)
            if self.chance(0.5):
                right.append(b)
        a, b_, c = (self.array(groups, type_) for groups, type_ in ((left, kind), (right, kind), (result, sum_)))
        loops = [name for name in ("b", "m", "n", "t", "k") if counts[name]]
        lines = [f"  affine.for %{name} = 0 to {counts[name]} {{" for name in loops]
        lines += [f"  %x = affine.load %A[{a[1]}] : {a[0]}", f"  %y = affine.load %B[{b_[1]}] : {b_[0]}", f"  %s = affine.load %C[{c[1]}] : {c[0]}"]
        x, y = "%x", "%y"
        if widen:
            lines += [f"  %v = {widen} %x : {kind} to {sum_}", f"  %w = {widen} %y : {kind} to {sum_}"]
            x, y = "%v", "%w"
        letter = "i" if sum_ == "i32" else "f"
        lines += [f"  %p = arith.mul{letter} {x}, {y} : {sum_}", f"  %r = arith.add{letter} %s, %p : {sum_}",
                  f"  affine.store %r, %C[{c[1]}] : {c[0]}", "  " + "} " * len(loops), "  return"]
        force = ""
        if self.chance(0.4):
            fields = {"block_m": self.pick(TILES), "block_n": self.pick(TILES), "subgroups_m": self.pick([1, 2]), "subgroups_n": self.pick([1, 2])}
            force = ",".join(f"{name}={value}" for name, value in fields.items())
        body = "\n".join(lines)
        return (f'module attributes {{tilewright.force = "{force}"}} {{\nfunc.func @main(%A: {a[0]}, %B: {b_[0]}, %C: {c[0]}) {{\n{body}\n}}\n}}\n')
