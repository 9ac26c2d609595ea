// RUN: tw-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{layout: `lanes` and `elements` are lists of (row, col) pairs, so their lengths are even}}
func.func private @odd(!tile.fragment<1x2xf32, #tile.layout<elements = [0]>>)

// -----

// expected-error@+1 {{layout: `repeats` is a list of (count, row step, col step), so its length is a multiple of 3}}
func.func private @repeats(!tile.fragment<1x2xf32, #tile.layout<repeats = [2, 0]>>)

// -----

// expected-error@+1 {{unknown part 'rows' of a layout, known: lanes, elements, repeats}}
func.func private @part(!tile.fragment<1x2xf32, #tile.layout<rows = [0]>>)

// -----

// expected-error@+1 {{fragment: the layout puts lane 0, element 1 at (0, 2), outside 1x2}}
func.func private @outside(!tile.fragment<1x2xf32, #tile.layout<elements = [0, 2]>>)

// -----

// expected-error@+1 {{fragment: the layout holds 2 elements, no multiple of the 3 of a 1x3 matrix}}
func.func private @uncovered(!tile.fragment<1x3xf32, #tile.layout<elements = [0, 1]>>)

// -----

// expected-error@+1 {{fragment: the layout holds element (0, 0) 2 times, expected 1}}
func.func private @uneven(!tile.fragment<1x2xf32, #tile.layout<elements = [0, 0]>>)

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @subscripts(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{the access has 1 subscripts, the memref has rank 2}}
  %0 = tile.load %m[%i] elements affine_map<(r, c) -> (r, c)> : memref<4x4xf32> -> !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @elements(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{`elements` must map (r, c) to one offset per dimension of the memref (2), got affine_map<(d0, d1) -> (d1)>}}
  %0 = tile.load %m[%i, %i] elements affine_map<(r, c) -> (c)> : memref<4x4xf32> -> !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @element_type(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{fragment and memref must have one element type, got 'bf16' and 'f32'}}
  %0 = tile.load %m[%i, %i] elements affine_map<(r, c) -> (r, c)> : memref<4x4xf32> -> !tile.fragment<1x2xbf16, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @valid(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{`valid` takes two extents (rows, cols)}}
  %0 = tile.load %m[%i, %i] elements affine_map<(r, c) -> (r, c)> valid(%i) : memref<4x4xf32> -> !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @same_address(%m: memref<4x4xf32>, %x: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{`elements` sends (0, 0) and (0, 1) to the same address}}
  tile.store %x, %m[0, 0] elements affine_map<(r, c) -> (r, 0)> : !tile.fragment<1x2xf32, #row2>, memref<4x4xf32>
  return
}

// -----

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
func.func @depth(%a: !tile.fragment<1x2xf32, #row2>, %b: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{a is m x k and b is k x n, but a has 2 columns and b 1 rows}}
  %0 = tile.mma %a, %b, %a {unit = "acme.fma"} : !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
func.func @product(%a: !tile.fragment<1x1xf32, #one>, %b: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{c must be 1x2 as a and b say, got 1x1}}
  %0 = tile.mma %a, %b, %a {unit = "acme.fma"} : !tile.fragment<1x1xf32, #one>, !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x1xf32, #one>
  return
}

// -----

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @scales(%a: !tile.fragment<1x2xf32, #row2>, %b: !tile.fragment<2x1xf32, #col2>, %c: !tile.fragment<1x1xf32, #one>) {
  // expected-error@+1 {{scales of a 1x2 a and a 2x1 b are 1 x s and s x 1, with an s that divides 2; got 1x2 and 1x1}}
  %0 = tile.mma %a, %b, %c scales(%a, %c) {unit = "acme.mx"} : !tile.fragment<1x2xf32, #row2>, !tile.fragment<2x1xf32, #col2>, !tile.fragment<1x1xf32, #one> scales(!tile.fragment<1x2xf32, #row2>, !tile.fragment<1x1xf32, #one>)
  return
}

// -----

#one = #tile.layout<>
func.func @three_scales(%a: !tile.fragment<1x1xf32, #one>) {
  // expected-error@+1 {{takes scales of a, of b or of both, got 3}}
  %0 = tile.mma %a, %a, %a scales(%a, %a, %a) {unit = "acme.mx"} : !tile.fragment<1x1xf32, #one>, !tile.fragment<1x1xf32, #one>, !tile.fragment<1x1xf32, #one> scales(!tile.fragment<1x1xf32, #one>, !tile.fragment<1x1xf32, #one>, !tile.fragment<1x1xf32, #one>)
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
#one = #tile.layout<>
#quad = #tile.layout<elements = [0, 1, 1, 0]>
func.func @one_scale(%a: !tile.fragment<1x2xf32, #row2>, %b: !tile.fragment<2x1xf32, #col2>, %c: !tile.fragment<1x1xf32, #one>, %s: !tile.fragment<2x2xf32, #quad>) {
  // expected-error@+1 {{scales of a 1x2 a are 1 x s, of a 2x1 b s x 1, with an s that divides 2; got 2x2}}
  %0 = tile.mma %a, %b, %c scales(%s) {unit = "acme.mx"} : !tile.fragment<1x2xf32, #row2>, !tile.fragment<2x1xf32, #col2>, !tile.fragment<1x1xf32, #one> scales(!tile.fragment<2x2xf32, #quad>)
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @map_shape(%a: !tile.fragment<1x2xf32, #row2>, %b: !tile.fragment<2x1xf32, #col2>) {
  // expected-error@+1 {{inputs and results have one shape and layout}}
  %0 = tile.map(%x = %a, %y = %b) : (!tile.fragment<1x2xf32, #row2>, !tile.fragment<2x1xf32, #col2>) -> !tile.fragment<1x2xf32, #row2> {
    tile.yield %x : f32
  }
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @map_yield(%a: !tile.fragment<1x2xf32, #row2>) {
  %0 = tile.map(%x = %a) : (!tile.fragment<1x2xf32, #row2>) -> !tile.fragment<1x2xbf16, #row2> {
    // expected-error@+1 {{must yield ('bf16'), one scalar of the element type per result, got ('f32')}}
    tile.yield %x : f32
  }
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @map_memory(%a: !tile.fragment<1x2xf32, #row2>, %m: memref<f32>) {
  // expected-error@+1 {{region may hold element-wise mappable ops and constants only, found 'memref.load'}}
  %0 = tile.map(%x = %a) : (!tile.fragment<1x2xf32, #row2>) -> !tile.fragment<1x2xf32, #row2> {
    %y = memref.load %m[] : memref<f32>
    tile.yield %y : f32
  }
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @reduce(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{dimension 1 of 1x2 gives 1x1, got 1x2}}
  %0 = tile.reduce %a dimension 1 : !tile.fragment<1x2xf32, #row2> -> !tile.fragment<1x2xf32, #row2> {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @index() {
  // expected-error@+1 {{gives integers or indices, got 'f32'}}
  %0 = tile.index 1 : !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
func.func @broadcast(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{cannot broadcast 1x2 to 1x4: extents must agree or be 1}}
  %0 = tile.broadcast %a : !tile.fragment<1x2xf32, #row2> -> !tile.fragment<1x4xf32, #row4>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @convert(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{changes the layout only}}
  %0 = tile.convert %a : !tile.fragment<1x2xf32, #row2> -> !tile.fragment<1x2xbf16, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @join(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{needs two fragments or more, got 1}}
  %0 = tile.join %a : !tile.fragment<1x2xf32, #row2> -> !tile.fragment<1x2xf32, #row2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
func.func @join(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{of 2 '!tile.fragment<1x2xf32, #tile.layout<elements = [0, 1]>>' is a '!tile.fragment<1x4xf32, #tile.layout<elements = [0, 1, 0, 2]>>', got}}
  %0 = tile.join %a, %a : !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2> -> !tile.fragment<1x4xf32, #tile.layout<elements = [0, 2, 0, 1]>>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @transpose(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{takes as many fragments as a power of two, got 3}}
  %0, %1 = tile.transpose %a, %a, %a : !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2> -> !tile.fragment<2x1xf32, #col2>, !tile.fragment<2x1xf32, #col2>
  return
}

// -----

#quad = #tile.layout<elements = [0, 1, 1, 0]>
func.func @transpose(%a: !tile.fragment<2x2xf32, #quad>) {
  // expected-error@+1 {{takes rows (1 x c) or columns (r x 1), got '!tile.fragment<2x2xf32}}
  %0 = tile.transpose %a : !tile.fragment<2x2xf32, #quad> -> !tile.fragment<2x2xf32, #quad>
  return
}

// -----

#lanes = #tile.layout<lanes = [0, 1]>
#one = #tile.layout<>
func.func @transpose(%a: !tile.fragment<1x2xf32, #lanes>) {
  // expected-error@+1 {{takes a power of two of elements in order on one lane, got '!tile.fragment<1x2xf32, #tile.layout<lanes = [0, 1]>>'}}
  %0, %1 = tile.transpose %a : !tile.fragment<1x2xf32, #lanes> -> !tile.fragment<1x1xf32, #one>, !tile.fragment<1x1xf32, #one>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @transpose(%a: !tile.fragment<1x2xf32, #row2>, %b: !tile.fragment<1x2xf16, #row2>) {
  // expected-error@+1 {{takes fragments of one type}}
  %0, %1 = tile.transpose %a, %b : !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf16, #row2> -> !tile.fragment<2x1xf32, #col2>, !tile.fragment<2x1xf32, #col2>
  return
}

// -----

#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @transpose(%a: !tile.fragment<1x2xf32, #row2>) {
  // expected-error@+1 {{of 2 '!tile.fragment<1x2xf32, #tile.layout<elements = [0, 1]>>' gives 2 '!tile.fragment<2x1xf32, #tile.layout<elements = [1, 0]>>'}}
  %0 = tile.transpose %a, %a : !tile.fragment<1x2xf32, #row2>, !tile.fragment<1x2xf32, #row2> -> !tile.fragment<2x1xf32, #col2>
  return
}

// -----

// expected-error@+1 {{arrangement: swizzleAgain (3) must be above swizzleShift (3) of a swizzle}}
#swizzle = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3, swizzleAgain = 3>

// -----

// expected-error@+1 {{arrangement: swizzleShift (2) must be at least swizzleBits (3), or a bit would be XOR-ed with itself}}
#swizzle = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 2>

// -----

func.func @arranged() {
  // expected-error@+1 {{an arranged buffer may be used by tile.load, tile.store, tile.copy and tile.fill only}}
  %s = tile.alloc() {arrangement = #tile.arrangement<padding = 8>} : memref<8x8xf32>
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{used by 'memref.load' here}}
  %x = memref.load %s[%c0, %c0] : memref<8x8xf32>
  return
}

// -----

func.func @copy_box(%m: memref<8x8xf32>, %p: memref<8x8xf32>) {
  // expected-error@+1 {{`elements` of the destination must map the 2 dimensions of the box to 2 offsets}}
  %t = tile.copy %m[0, 0] elements affine_map<(p, q) -> (p, q)> to %p[0, 0] elements affine_map<(p) -> (p, p)> shape [8, 8] : memref<8x8xf32>, memref<8x8xf32>
  return
}

// -----

func.func @copy_valid(%m: memref<8x8xf32>, %p: memref<8x8xf32>, %n: index) {
  // expected-error@+1 {{`valid` needs one extent per dimension of the box, 2}}
  %t = tile.copy %m[0, 0] elements affine_map<(p, q) -> (p, q)> to %p[0, 0] elements affine_map<(p, q) -> (p, q)> shape [8, 8] valid(%n) : memref<8x8xf32>, memref<8x8xf32>
  return
}

// -----

func.func @copy_bounded(%m: memref<8x8xf32>, %p: memref<8xf32>) {
  // expected-error@+1 {{`bounded` names dimensions of the source, of which there are 2, each at most once and in order; got array<i64: 0, 2>}}
  %t = tile.copy %m[0, 0] elements affine_map<(p) -> (p, 0)> to %p[0] elements affine_map<(p) -> (p)> shape [8] {bounded = array<i64: 0, 2>} : memref<8x8xf32>, memref<8xf32>
  return
}

// -----

func.func @load_bounded(%m: memref<8x8xf32>) {
  // expected-error@+1 {{`bounded` names dimensions of the memref, of which there are 2, each at most once and in order; got array<i64: 1, 0>}}
  %f = tile.load %m[0, 0] elements affine_map<(r, c) -> (r, c)> {bounded = array<i64: 1, 0>} : memref<8x8xf32> -> !tile.fragment<1x1xf32, #tile.layout<>>
  return
}

// -----

func.func @copy_clipped_and_bounded(%m: memref<8x8xf32>, %p: memref<8xf32>) {
  // expected-error@+1 {{is `clipped` and `bounded`; points outside of the source are either left alone or zero}}
  %t = tile.copy %m[0, 0] elements affine_map<(p) -> (p, 0)> to %p[0] elements affine_map<(p) -> (p)> shape [8] {bounded = array<i64: 0>, clipped} : memref<8x8xf32>, memref<8xf32>
  return
}

// -----

func.func @fill(%m: memref<8x8xf32>, %x: bf16) {
  // expected-error@+1 {{value must have the element type of the buffer, 'f32', got 'bf16'}}
  tile.fill %m, %x : memref<8x8xf32>, bf16
  return
}

// -----

func.func @level() {
  // expected-error@+1 {{needs the name of a level of the chip}}
  tile.parallel (%i) to (4) level "" {
  }
  return
}

// -----

// expected-error@+1 {{layout: more than 16777216 elements over all lanes}}
func.func private @endless(!tile.fragment<1x2xf32, #tile.layout<elements = [0, 1], repeats = [4096, 0, 1, 16777216, 0, 1]>>)

// -----

// expected-error@+1 {{layout: the base (0, 9223372036854775807) is negative or above 1048576}}
func.func private @far(!tile.fragment<1x2xf32, #tile.layout<elements = [0, 9223372036854775807]>>)

// -----

func.func @multiply_shape(%a: memref<64x64xi8>, %b: memref<32x64xi8>, %c: memref<64x64xi32>, %i: index, %more: i1) {
  // expected-error@+1 {{operand B has tiles of 32 x 64; the shape needs 64 x 64}}
  %u = tile.multiply %a[%i, %i], %b[%i, %i] to %c[%i, %i] accumulate %more shape [64, 64, 64] {unit = "acme.array"}
     : memref<64x64xi8>, memref<32x64xi8>, memref<64x64xi32>
  return
}

// -----

func.func @multiply_rank(%a: memref<2x64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>, %i: index, %more: i1) {
  // expected-error@+1 {{operand A has rank 3 and 2 indices; it needs at least two and one index for each}}
  %u = tile.multiply %a[%i, %i], %b[%i, %i] to %c[%i, %i] accumulate %more shape [64, 64, 64] {unit = "acme.array"}
     : memref<2x64x64xi8>, memref<64x64xi8>, memref<64x64xi32>
  return
}

// -----

func.func @multiply_valid(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>, %i: index, %more: i1) {
  // expected-error@+1 {{`valid` needs three extents, of m, n and k; got 2}}
  %u = tile.multiply %a[%i, %i], %b[%i, %i] to %c[%i, %i] accumulate %more shape [64, 64, 64] valid[%i, %i] {unit = "acme.array"}
     : memref<64x64xi8>, memref<64x64xi8>, memref<64x64xi32>
  return
}

// -----

func.func @copy_pad(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %n: index) {
  // expected-error@+1 {{`padTo` needs one positive number of points per dimension of the box, 2, got array<i64: 32, 0>}}
  %t = tile.copy %a[0, 0] elements affine_map<(p, q) -> (p, q)> to %b[0, 0] elements affine_map<(p, q) -> (p, q)>
         shape [64, 64] valid(%n, 64) {padTo = array<i64: 32, 0>} : memref<64x64xi8>, memref<64x64xi8>
  return
}

// -----

// expected-error@+1 {{schedule: reductions in 0 parts; there is at least one}}
func.func private @step() attributes {tile.schedule = #tile.schedule<level = "core", members = 1, parts = 0>}

// -----

// expected-error@+1 {{schedule: 2 passes in steps of 0 iterations; there is at least one, and several have steps}}
func.func private @passes() attributes {tile.schedule = #tile.schedule<level = "core", members = 1, passes = 2>}

// -----

// expected-error@+1 {{schedule: a step of -1 iterations; 0 is none, other steps have at least one}}
func.func private @step() attributes {tile.schedule = #tile.schedule<level = "core", members = 1, step = -1>}

// -----

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
#col4 = #tile.layout<elements = [1, 0, 2, 0]>
func.func @index_shape(%a: !tile.fragment<1x2xf16, #row2>, %b: !tile.fragment<4x1xf16, #col4>, %c: !tile.fragment<1x1xf32, #one>, %p: !tile.fragment<1x1xi8, #one>) {
  // expected-error@+1 {{the index of a 1x2 a has its shape and elements of i8, got 1x1 of 'i8'}}
  %0 = tile.mma %a, %b, %c index(%p) {unit = "acme.sparse"} : !tile.fragment<1x2xf16, #row2>, !tile.fragment<4x1xf16, #col4>, !tile.fragment<1x1xf32, #one> index(!tile.fragment<1x1xi8, #one>)
  return
}

// -----

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
#col2 = #tile.layout<elements = [1, 0]>
func.func @index_dense(%a: !tile.fragment<1x2xf16, #row2>, %b: !tile.fragment<2x1xf16, #col2>, %c: !tile.fragment<1x1xf32, #one>, %p: !tile.fragment<1x2xi8, #row2>) {
  // expected-error@+1 {{with an index a keeps some of each group along k, but it has 2 columns, and b 2 rows}}
  %0 = tile.mma %a, %b, %c index(%p) {unit = "acme.sparse"} : !tile.fragment<1x2xf16, #row2>, !tile.fragment<2x1xf16, #col2>, !tile.fragment<1x1xf32, #one> index(!tile.fragment<1x2xi8, #row2>)
  return
}
