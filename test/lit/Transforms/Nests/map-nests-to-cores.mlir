// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -map-nests-to-cores -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "accelerator:npu"} {
  // Rows are shared out; what is inside stays.
  // CHECK-LABEL: func.func private @rows
  // CHECK: tile.parallel (%[[CORE:.*]]) to (4) level "core" {
  // CHECK:   affine.for %[[I:.*]] = #{{.*}}(%[[CORE]]) to min #{{.*}}(%[[CORE]])
  // CHECK:     affine.for %{{.*}} = 0 to 7
  func.func private @rows(%a: memref<10x7xf32>) attributes {tilewright.kernel} {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 10 {
      affine.for %j = 0 to 7 {
        affine.store %x, %a[%i, %j] : memref<10x7xf32>
      }
    }
    return
  }

  // One row is too few for four cores: the columns are.
  // CHECK-LABEL: func.func private @one_row
  // CHECK: tile.parallel (%[[CORE:.*]]) to (4) level "core" {
  // CHECK:   affine.for %{{.*}} = 0 to 1
  // CHECK:     affine.for %{{.*}} = #{{.*}}(%[[CORE]]){{.*}} to min
  func.func private @one_row(%a: memref<1x?xf32>, %n: index) attributes {tilewright.kernel} {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 1 {
      affine.for %j = 0 to %n {
        affine.store %x, %a[%i, %j] : memref<1x?xf32>
      }
    }
    return
  }

  // A recurrence runs on one core.
  // CHECK-LABEL: func.func private @recurrence
  // CHECK: tile.parallel (%{{.*}}) to (1) level "core" {
  // CHECK:   affine.for %{{.*}} = 1 to 16
  func.func private @recurrence(%a: memref<16xf32>) attributes {tilewright.kernel} {
    affine.for %i = 1 to 16 {
      %x = affine.load %a[%i - 1] : memref<16xf32>
      affine.store %x, %a[%i] : memref<16xf32>
    }
    return
  }

  // What vectorize-nests made parallel; a buffer of one nest is private to its core.
  // CHECK-LABEL: func.func private @vectors
  // CHECK-NOT: alloca
  // CHECK: tile.parallel (%[[CORE:.*]]) to (4) level "core" {
  // CHECK:   memref.alloca() : memref<8xf32>
  // CHECK:   affine.for %{{.*}} = #{{.*}}(%[[CORE]]) to min
  // CHECK-NOT: affine.parallel
  func.func private @vectors(%a: memref<64x16xf32>) attributes {tilewright.kernel} {
    %x = arith.constant dense<1.0> : vector<16xf32>
    %s = memref.alloca() : memref<8xf32>
    affine.parallel (%i) = (0) to (64) {
      %y = affine.load %s[0] : memref<8xf32>
      affine.vector_store %x, %a[%i, 0] : memref<64x16xf32>, vector<16xf32>
    }
    return
  }

  // Straight code, as of a short row in vectors: what one operation computes, another one uses on the same core. Each core
  // computes masks itself.
  // CHECK-LABEL: func.func private @straight
  // CHECK: tile.parallel (%{{.*}}) to (1) level "core" {
  // CHECK-NEXT:   %[[MASK:.*]] = vector.create_mask
  // CHECK-NEXT:   %[[X:.*]] = vector.load
  // CHECK-NEXT:   %[[Y:.*]] = arith.addf %[[X]], %[[X]]
  // CHECK-NEXT:   vector.maskedstore %{{.*}}, %[[MASK]], %[[Y]]
  // CHECK-NEXT: }
  // CHECK: tile.parallel (%{{.*}}) to (4) level "core" {
  // CHECK:   affine.for
  func.func private @straight(%a: memref<16xf32>, %b: memref<64xf32>, %n: index) attributes {tilewright.kernel} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<16xf32>, vector<16xf32>
    %mask = vector.create_mask %n : vector<16xi1>
    %y = arith.addf %x, %x : vector<16xf32>
    vector.maskedstore %a[%c0], %mask, %y : memref<16xf32>, vector<16xi1>, vector<16xf32>
    affine.for %i = 0 to 64 {
      %z = affine.load %b[%i] : memref<64xf32>
      affine.store %z, %b[%i] : memref<64xf32>
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  func.func private @between(%a: memref<1xf32>) attributes {tilewright.kernel} {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<1xf32>
    // expected-error @below {{stands between two operations on cores, one of which uses what the other computed}}
    tile.parallel (%core) to (4) level "core" {
    }
    memref.store %x, %a[%c0] : memref<1xf32>
    return
  }
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
  // expected-error @below {{chip nvidia:A100 has no cores with a scratchpad}}
  func.func private @other(%a: memref<16xf32>) attributes {tilewright.kernel} {
    return
  }
}
