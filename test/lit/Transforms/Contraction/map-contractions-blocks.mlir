// RUN: tw-opt %s -map-contractions -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// A unit of several rows: A is read in place as fragments, B from panels that interleave pairs of k; the accumulators
// begin as zeros in tile registers and are stored whole.
// CHECK-LABEL: func.func private @tiles
// CHECK-DAG:   %[[PANELS:.*]] = memref.alloc() {{.*}} : memref<{{.*}}x32x64xbf16>
// CHECK-COUNT-4: tile.zero : <16x16xf32, {{.*}}, "AmxRows">
// CHECK:       affine.for {{.*}} iter_args
// CHECK:         tile.load %[[PANELS]]{{.*}} -> !tile.fragment<32x16xbf16, {{.*}}, "AmxPairs">
// CHECK:         tile.load %arg0{{.*}} -> !tile.fragment<16x32xbf16, {{.*}}, "AmxRows">
// CHECK:         tile.mma {{.*}} {unit = "cpu.amx_tdpbf16"}
// CHECK-COUNT-4: tile.store {{.*}} %arg2
module attributes {tilewright.target = "cpu:sapphire-rapids", tilewright.force = "rows=2,vectors=2,lanes_on=n,pack_scalars=0"} {
func.func private @tiles(%A: memref<128x64xbf16>, %B: memref<64x64xbf16>, %C: memref<128x64xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 128 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<128x64xf32> } }
  affine.for %i = 0 to 128 { affine.for %j = 0 to 64 { affine.for %l = 0 to 64 {
    %a = affine.load %A[%i, %l] : memref<128x64xbf16>
    %b = affine.load %B[%l, %j] : memref<64x64xbf16>
    %c = affine.load %C[%i, %j] : memref<128x64xf32>
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<128x64xf32>
  } } }
  return
}
}

// -----

// What is missing of rows and k is zero in the panels of A; partial rows and steps that follow pass through a buffer of
// the register tile, row by row.
// CHECK-LABEL: func.func private @partial
// CHECK:       %[[TILE:.*]] = memref.alloc() {{.*}} : memref<32x32xf32>
// CHECK:       tile.mma
// CHECK:       tile.store {{.*}} %[[TILE]]
// CHECK:       affine.for %[[ROW:.*]] = 0 to
// CHECK:         tile.load %[[TILE]][%[[ROW]], 0] {{.*}} -> !tile.fragment<1x16xf32, {{#[a-z0-9]*}}>
// CHECK:         tile.map
// CHECK:         tile.store {{.*}} %arg2
module attributes {tilewright.target = "cpu:sapphire-rapids", tilewright.force = "unit_m=16,rows=2,vectors=2,lanes_on=n"} {
func.func private @partial(%A: memref<70x77xbf16>, %B: memref<77x64xbf16>, %C: memref<70x64xf32>, %bias: memref<64xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<70x64xf32> } }
  affine.for %i = 0 to 70 { affine.for %j = 0 to 64 { affine.for %l = 0 to 77 {
    %a = affine.load %A[%i, %l] : memref<70x77xbf16>
    %b = affine.load %B[%l, %j] : memref<77x64xbf16>
    %c = affine.load %C[%i, %j] : memref<70x64xf32>
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<70x64xf32>
  } } }
  affine.for %i = 0 to 70 { affine.for %j = 0 to 64 {
    %x = affine.load %C[%i, %j] : memref<70x64xf32>
    %y = affine.load %bias[%j] : memref<64xf32>
    %s = arith.addf %x, %y : f32
    affine.store %s, %C[%i, %j] : memref<70x64xf32>
  } }
  return
}
}

// -----

// Blocks of 2 x 2 in vector registers; the operands' rows and columns of k lie together.
// CHECK-LABEL: func.func private @blocks
// CHECK:       tile.mma {{.*}} {unit = "cpu.neon_smmla"} : <2x8xi8, {{#[a-z0-9]*}}>, <8x2xi8, {{#[a-z0-9]*}}>, <2x2xi32, {{#[a-z0-9]*}}>
module attributes {tilewright.target = "cpu:neoverse-v1"} {
func.func private @blocks(%A: memref<64x64xi8>, %B: memref<64x64xi8>, %C: memref<64x64xi32>) attributes {tilewright.kernel} {
  %z = arith.constant 0 : i32
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<64x64xi32> } }
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.for %l = 0 to 64 {
    %a = affine.load %A[%i, %l] : memref<64x64xi8>
    %b = affine.load %B[%l, %j] : memref<64x64xi8>
    %c = affine.load %C[%i, %j] : memref<64x64xi32>
    %x = arith.extsi %a : i8 to i32
    %y = arith.extsi %b : i8 to i32
    %p = arith.muli %x, %y : i32
    %s = arith.addi %c, %p : i32
    affine.store %s, %C[%i, %j] : memref<64x64xi32>
  } } }
  return
}
}

// -----

// Dynamic sizes keep the unit: tiles of whole fragments, single ones, and a last one of which a part exists, whose
// panel is filled up with zeros. The last block of k is the only one whose length is dynamic.
// CHECK-LABEL: func.func private @dynamic
// CHECK:       tile.mma {{.*}} {unit = "cpu.amx_tdpbssd"}
// CHECK-NOT:   cpu.avx512
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func private @dynamic(%A: memref<?x?xi8>, %B: memref<?x?xi8>, %C: memref<?x?xi32>, %m: index, %n: index, %k: index) attributes {tilewright.kernel} {
  %z = arith.constant 0 : i32
  affine.for %i = 0 to %m { affine.for %j = 0 to %n { affine.store %z, %C[%i, %j] : memref<?x?xi32> } }
  affine.for %i = 0 to %m { affine.for %j = 0 to %n { affine.for %l = 0 to %k {
    %a = affine.load %A[%i, %l] : memref<?x?xi8>
    %b = affine.load %B[%l, %j] : memref<?x?xi8>
    %c = affine.load %C[%i, %j] : memref<?x?xi32>
    %x = arith.extsi %a : i8 to i32
    %y = arith.extsi %b : i8 to i32
    %p = arith.muli %x, %y : i32
    %s = arith.addi %c, %p : i32
    affine.store %s, %C[%i, %j] : memref<?x?xi32>
  } } }
  return
}
}

// -----

// Dynamic rows of an A that is read in place: only the last fragment, of which a part exists, is packed.
// CHECK-LABEL: func.func private @rows
// CHECK-DAG:   %[[PART:.*]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x2x512xbf16>
// CHECK:       tile.load %arg0[{{.*}}] elements {{.*}} : memref<?x64xbf16>
// CHECK:       tile.load %[[PART]][
module attributes {tilewright.target = "cpu:sapphire-rapids", tilewright.force = "rows=2,vectors=2,lanes_on=n,pack_scalars=0"} {
func.func private @rows(%A: memref<?x64xbf16>, %B: memref<64x64xbf16>, %C: memref<?x64xf32>, %m: index) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to %m { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<?x64xf32> } }
  affine.for %i = 0 to %m { affine.for %j = 0 to 64 { affine.for %l = 0 to 64 {
    %a = affine.load %A[%i, %l] : memref<?x64xbf16>
    %b = affine.load %B[%l, %j] : memref<64x64xbf16>
    %c = affine.load %C[%i, %j] : memref<?x64xf32>
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<?x64xf32>
  } } }
  return
}
}

// -----

// Weights o,c,p,q: neither their rows nor k = c are contiguous. 16 rows at a time are read in the order of memory, the
// nine taps of a channel written out, into a buffer where k is contiguous; from there vectors along k are transposed.
// CHECK-LABEL: func.func private @strided_weights
// CHECK-DAG:   %[[PANELS:.*]] = memref.alloc() {{.*}} : memref<{{.*}}x3x3x16x{{.*}}xi8>
// CHECK-DAG:   %[[STAGE:.*]] = memref.alloc() {{.*}} : memref<3x3x16x128xi8>
// CHECK:       affine.for %[[ROW:.*]] = 0 to 16 {
// CHECK-NEXT:    affine.for %[[K:.*]] = 0 to 64 {
// CHECK-COUNT-9:   affine.store %{{.*}}, %[[STAGE]][{{.*}}, {{.*}}, %[[ROW]], %[[K]]]
// CHECK:       affine.vector_load %[[STAGE]]{{.*}} vector<64xi8>
// CHECK:       vector.shuffle
// CHECK:       affine.vector_store %{{.*}}, %[[PANELS]]
module attributes {tilewright.target = "cpu:sapphire-rapids", tilewright.force = "lanes_on=n,vectors=1"} {
func.func private @strided_weights(%X: memref<9x9x64xi8>, %W: memref<32x64x3x3xi8>, %Y: memref<7x7x32xi32>) attributes {tilewright.kernel} {
  %z = arith.constant 0 : i32
  affine.for %h = 0 to 7 { affine.for %w = 0 to 7 { affine.for %o = 0 to 32 { affine.store %z, %Y[%h, %w, %o] : memref<7x7x32xi32> } } }
  affine.for %h = 0 to 7 { affine.for %w = 0 to 7 { affine.for %o = 0 to 32 {
  affine.for %p = 0 to 3 { affine.for %q = 0 to 3 { affine.for %c = 0 to 64 {
    %a = affine.load %X[%h + %p, %w + %q, %c] : memref<9x9x64xi8>
    %b = affine.load %W[%o, %c, %p, %q] : memref<32x64x3x3xi8>
    %y = affine.load %Y[%h, %w, %o] : memref<7x7x32xi32>
    %u = arith.extsi %a : i8 to i32
    %v = arith.extsi %b : i8 to i32
    %m = arith.muli %u, %v : i32
    %s = arith.addi %y, %m : i32
    affine.store %s, %Y[%h, %w, %o] : memref<7x7x32xi32>
  } } } } } }
  return
}
}

// -----

// The same weights in f32 for images by planes: channels and taps of a filter are one run, 40 * 9 elements. Blocks of 16
// of its elements are transposed where they lie, 22 whole ones and one of 8; panels hold them in the same order.
// CHECK-LABEL: func.func private @runs_of_taps
// CHECK:       %[[PANELS:.*]] = memref.alloc() {{.*}} : memref<1x360x16xf32>
// CHECK-NOT:   memref.alloc
// CHECK:       affine.for %[[BLOCK:.*]] = 0 to 22 {
// CHECK-COUNT-16: affine.vector_load %{{.*}}[{{.*}}, ((%[[BLOCK]] * 16) floordiv 3) floordiv 3, {{.*}}] : memref<32x40x3x3xf32>, vector<16xf32>
// CHECK-COUNT-16: affine.vector_store %{{.*}}, %[[PANELS]][0, %[[BLOCK]] * 16{{.*}}, 0]
// CHECK:       vector.maskedload
// CHECK:       affine.vector_store %{{.*}}, %[[PANELS]][0, 352, 0]
// CHECK-NOT:   affine.vector_store %{{.*}}, %[[PANELS]][0, 360, 0]
module attributes {tilewright.target = "cpu:zen4", tilewright.force = "lanes_on=n,vectors=1,pack_vectors=1,k_block=0,pack_scalars=0"} {
func.func private @runs_of_taps(%X: memref<40x9x9xf32>, %W: memref<32x40x3x3xf32>, %Y: memref<32x7x7xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %o = 0 to 32 { affine.for %h = 0 to 7 { affine.for %w = 0 to 7 { affine.store %z, %Y[%o, %h, %w] : memref<32x7x7xf32> } } }
  affine.for %o = 0 to 32 { affine.for %h = 0 to 7 { affine.for %w = 0 to 7 {
  affine.for %c = 0 to 40 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
    %a = affine.load %X[%c, %h + %p, %w + %q] : memref<40x9x9xf32>
    %b = affine.load %W[%o, %c, %p, %q] : memref<32x40x3x3xf32>
    %y = affine.load %Y[%o, %h, %w] : memref<32x7x7xf32>
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %y, %m : f32
    affine.store %s, %Y[%o, %h, %w] : memref<32x7x7xf32>
  } } } } } }
  return
}
}
