// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/adder tw-opt %s -split-input-file -schedule-chains | FileCheck %s

// Scores of 2048 x 2048 go through memory between two products: rows of them stay in the second cache instead.
module attributes {tilewright.target = "cpu:x86-64-v4"} {
  // CHECK-LABEL: func.func private @large
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 1, ops = 5, loops = [<loop = 13, tile = 1, spread = true>, <loop = 14, tile = {{[0-9]+}}>], placements = [<array = 0, at = 14, memory = "l2">, <array = 3, at = 14, memory = "l2">]>
  func.func private @large(%q: memref<8x2048x64xf32>, %k: memref<8x2048x64xf32>, %v: memref<8x2048x64xf32>, %o: memref<8x2048x64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    %s = memref.alloc() : memref<8x2048x2048xf32>
    %p = memref.alloc() : memref<8x2048x2048xf32>
    affine.for %h = 0 to 8 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 {
      affine.store %zero, %s[%h, %i, %j] : memref<8x2048x2048xf32>
    } } }
    affine.for %h = 0 to 8 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 { affine.for %d = 0 to 64 {
      %x = affine.load %q[%h, %i, %d] : memref<8x2048x64xf32>
      %y = affine.load %k[%h, %j, %d] : memref<8x2048x64xf32>
      %sum = affine.load %s[%h, %i, %j] : memref<8x2048x2048xf32>
      %xy = arith.mulf %x, %y : f32
      %more = arith.addf %sum, %xy : f32
      affine.store %more, %s[%h, %i, %j] : memref<8x2048x2048xf32>
    } } } }
    affine.for %h = 0 to 8 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 {
      %x = affine.load %s[%h, %i, %j] : memref<8x2048x2048xf32>
      %e = math.exp %x : f32
      affine.store %e, %p[%h, %i, %j] : memref<8x2048x2048xf32>
    } } }
    affine.for %h = 0 to 8 { affine.for %i = 0 to 2048 { affine.for %d = 0 to 64 {
      affine.store %zero, %o[%h, %i, %d] : memref<8x2048x64xf32>
    } } }
    affine.for %h = 0 to 8 { affine.for %i = 0 to 2048 { affine.for %d = 0 to 64 { affine.for %j = 0 to 2048 {
      %x = affine.load %p[%h, %i, %j] : memref<8x2048x2048xf32>
      %y = affine.load %v[%h, %j, %d] : memref<8x2048x64xf32>
      %sum = affine.load %o[%h, %i, %d] : memref<8x2048x64xf32>
      %xy = arith.mulf %x, %y : f32
      %more = arith.addf %sum, %xy : f32
      affine.store %more, %o[%h, %i, %d] : memref<8x2048x64xf32>
    } } } }
    return
  }
}

// -----

// Where engines are slow, hidden values stay in the scratchpad; they have a place there, what comes and goes has none.
module attributes {tilewright.target = "adder:slow"} {
  // CHECK-LABEL: func.func private @scratchpad
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 2, ops = 5, loops = [<loop = 9, tile = {{[0-9]+}}, spread = true>], placements = [<array = 0, at = 9, memory = "scratchpad">, <array = 3, at = 9, memory = "scratchpad">]>
  func.func private @scratchpad(%x: memref<512x16xi8>, %w: memref<16x64xi8>, %u: memref<64x16xi8>, %y: memref<512x16xi32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0 : i32
    %t = memref.alloc() : memref<512x64xi32>
    %n = memref.alloc() : memref<512x64xi8>
    affine.for %i = 0 to 512 { affine.for %j = 0 to 64 { affine.store %zero, %t[%i, %j] : memref<512x64xi32> } }
    affine.for %i = 0 to 512 { affine.for %j = 0 to 64 { affine.for %k = 0 to 16 {
      %a = affine.load %x[%i, %k] : memref<512x16xi8>
      %b = affine.load %w[%k, %j] : memref<16x64xi8>
      %c = affine.load %t[%i, %j] : memref<512x64xi32>
      %aw = arith.extsi %a : i8 to i32
      %bw = arith.extsi %b : i8 to i32
      %p = arith.muli %aw, %bw : i32
      %s = arith.addi %c, %p : i32
      affine.store %s, %t[%i, %j] : memref<512x64xi32>
    } } }
    affine.for %i = 0 to 512 { affine.for %j = 0 to 64 {
      %a = affine.load %t[%i, %j] : memref<512x64xi32>
      %b = arith.trunci %a : i32 to i8
      affine.store %b, %n[%i, %j] : memref<512x64xi8>
    } }
    affine.for %i = 0 to 512 { affine.for %j = 0 to 16 { affine.store %zero, %y[%i, %j] : memref<512x16xi32> } }
    affine.for %i = 0 to 512 { affine.for %j = 0 to 16 { affine.for %k = 0 to 64 {
      %a = affine.load %n[%i, %k] : memref<512x64xi8>
      %b = affine.load %u[%k, %j] : memref<64x16xi8>
      %c = affine.load %y[%i, %j] : memref<512x16xi32>
      %aw = arith.extsi %a : i8 to i32
      %bw = arith.extsi %b : i8 to i32
      %p = arith.muli %aw, %bw : i32
      %s = arith.addi %c, %p : i32
      affine.store %s, %y[%i, %j] : memref<512x16xi32>
    } } }
    return
  }

  // CHECK-LABEL: func.func private @forced
  // CHECK: tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>]>
  // CHECK-NOT: tile.schedule =
  func.func private @forced(%a: memref<16xf32>) attributes {tilewright.kernel} {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 16 {
      affine.store %x, %a[%i] : memref<16xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>]>}
    return
  }
}

// -----

// Scores that are read by rows and by columns: each sum has scores of its own, in tiles of its own.
module attributes {tilewright.target = "nvidia:H200"} {
  // CHECK-LABEL: func.func private @again
  // CHECK-DAG: memref.alloc() : memref<16x2048x2048xf32>
  // CHECK-DAG: memref.alloc() : memref<16x2048x2048xf16>
  // CHECK-DAG: memref.alloc() : memref<16x2048x2048xf32>
  // CHECK-DAG: memref.alloc() : memref<16x2048x2048xf16>
  // CHECK-COUNT-2: tile.schedule = #tile.schedule<level = "grid", members = {{[0-9]+}}, ops = 6,
  // CHECK-NOT: tile.schedule =
  func.func private @again(%q: memref<16x2048x64xf16>, %k: memref<16x2048x64xf16>, %a: memref<16x2048x64xf32>, %b: memref<16x2048x64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    %s = memref.alloc() : memref<16x2048x2048xf32>
    %p = memref.alloc() : memref<16x2048x2048xf16>
    %own_a = memref.alloc() : memref<16x2048x64xf32>
    %own_b = memref.alloc() : memref<16x2048x64xf32>
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 { affine.store %zero, %s[%h, %i, %j] : memref<16x2048x2048xf32> } } }
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 { affine.for %d = 0 to 64 {
      %0 = affine.load %q[%h, %i, %d] : memref<16x2048x64xf16>
      %1 = affine.load %k[%h, %j, %d] : memref<16x2048x64xf16>
      %2 = affine.load %s[%h, %i, %j] : memref<16x2048x2048xf32>
      %3 = arith.extf %0 : f16 to f32
      %4 = arith.extf %1 : f16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.addf %2, %5 : f32
      affine.store %6, %s[%h, %i, %j] : memref<16x2048x2048xf32>
    } } } }
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %j = 0 to 2048 {
      %0 = affine.load %s[%h, %i, %j] : memref<16x2048x2048xf32>
      %1 = math.exp %0 : f32
      %2 = arith.truncf %1 : f32 to f16
      affine.store %2, %p[%h, %i, %j] : memref<16x2048x2048xf16>
    } } }
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %d = 0 to 64 { affine.store %zero, %own_a[%h, %i, %d] : memref<16x2048x64xf32> } } }
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %d = 0 to 64 { affine.for %j = 0 to 2048 {
      %0 = affine.load %p[%h, %i, %j] : memref<16x2048x2048xf16>
      %1 = affine.load %k[%h, %j, %d] : memref<16x2048x64xf16>
      %2 = affine.load %own_a[%h, %i, %d] : memref<16x2048x64xf32>
      %3 = arith.extf %0 : f16 to f32
      %4 = arith.extf %1 : f16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.addf %2, %5 : f32
      affine.store %6, %own_a[%h, %i, %d] : memref<16x2048x64xf32>
    } } } }
    affine.for %h = 0 to 16 { affine.for %i = 0 to 2048 { affine.for %d = 0 to 64 {
      %0 = affine.load %own_a[%h, %i, %d] : memref<16x2048x64xf32>
      affine.store %0, %a[%h, %i, %d] : memref<16x2048x64xf32>
    } } }
    affine.for %h = 0 to 16 { affine.for %j = 0 to 2048 { affine.for %d = 0 to 64 { affine.store %zero, %own_b[%h, %j, %d] : memref<16x2048x64xf32> } } }
    affine.for %h = 0 to 16 { affine.for %j = 0 to 2048 { affine.for %d = 0 to 64 { affine.for %i = 0 to 2048 {
      %0 = affine.load %p[%h, %i, %j] : memref<16x2048x2048xf16>
      %1 = affine.load %q[%h, %i, %d] : memref<16x2048x64xf16>
      %2 = affine.load %own_b[%h, %j, %d] : memref<16x2048x64xf32>
      %3 = arith.extf %0 : f16 to f32
      %4 = arith.extf %1 : f16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.addf %2, %5 : f32
      affine.store %6, %own_b[%h, %j, %d] : memref<16x2048x64xf32>
    } } } }
    affine.for %h = 0 to 16 { affine.for %j = 0 to 2048 { affine.for %d = 0 to 64 {
      %0 = affine.load %own_b[%h, %j, %d] : memref<16x2048x64xf32>
      affine.store %0, %b[%h, %j, %d] : memref<16x2048x64xf32>
    } } }
    return
  }
}
