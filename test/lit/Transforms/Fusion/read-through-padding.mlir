// Nests that no unit computes read the array inside of a padded buffer, each element behind a guard.
//
// RUN: tw-opt %s --read-through-padding --split-input-file | FileCheck %s

module attributes {tilewright.target = "nvidia:H200"} {
// A maximum of three with -inf around. The middle one is always inside, and has no test.
// CHECK-DAG: #[[LOW:.*]] = affine_set<(d0, d1) : (d0 + d1 - 1 >= 0, -d0 - d1 + 64 >= 0)>
// CHECK-LABEL: func.func @maxima
// CHECK-SAME: (%[[X:.*]]: memref<64xf32>, %[[Y:.*]]: memref<64xf32>)
// CHECK-NOT: memref.alloc
// CHECK: affine.for %[[I:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 3
// CHECK-NEXT: %[[V:.*]] = affine.if #[[LOW]](%[[I]], %[[K]]) -> f32
// CHECK-NEXT: %[[E:.*]] = affine.load %[[X]][%[[I]] + %[[K]] - 1]
// CHECK-NEXT: affine.yield %[[E]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: affine.yield %[[NONE]]
// CHECK: arith.maximumf %{{.*}}, %[[V]]
func.func @maxima(%x: memref<64xf32>, %y: memref<64xf32>) {
  %none = arith.constant 0xFF800000 : f32
  %p = memref.alloc() : memref<66xf32>
  affine.for %i = 0 to 66 {
    affine.store %none, %p[%i] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %e = affine.load %x[%i] : memref<64xf32>
    affine.store %e, %p[%i + 1] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 3 {
      %e = affine.load %p[%i + %k] : memref<66xf32>
      %m = affine.load %y[%i] : memref<64xf32>
      %n = arith.maximumf %m, %e : f32
      affine.store %n, %y[%i] : memref<64xf32>
    }
  }
  return
}

// Taps that are written out: one has a lower bound, one an upper one, and the middle one no test.
// CHECK-LABEL: func.func @written_out
// CHECK: affine.if #{{.*}}(%[[I:.*]]) -> f32
// CHECK-NEXT: affine.load %arg0[%[[I]] - 1]
// CHECK: %[[MIDDLE:.*]] = affine.load %arg0[%[[I]]]
// CHECK-NEXT: affine.if #{{.*}}(%[[I]]) -> f32
// CHECK-NEXT: affine.load %arg0[%[[I]] + 1]
func.func @written_out(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66xf32>
  affine.for %i = 0 to 66 {
    affine.store %zero, %p[%i] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %e = affine.load %x[%i] : memref<64xf32>
    affine.store %e, %p[%i + 1] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %p[%i] : memref<66xf32>
    %b = affine.load %p[%i + 1] : memref<66xf32>
    %c = affine.load %p[%i + 2] : memref<66xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    affine.store %e, %y[%i] : memref<64xf32>
  }
  return
}

// Dynamic sizes: the test compares with the size of the array.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK-NOT: memref.alloc
// CHECK: affine.if #{{.*}}(%[[I:.*]])[%[[N]]] -> f32
// CHECK-NEXT: affine.load %arg0[%[[I]] - 2]
func.func @dynamic(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %all = affine.apply affine_map<()[s0] -> (s0 + 4)>()[%n]
  %p = memref.alloc(%all) : memref<?xf32>
  affine.for %i = 0 to %all {
    affine.store %zero, %p[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %e = affine.load %x[%i] : memref<?xf32>
    affine.store %e, %p[%i + 2] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %a = affine.load %p[%i] : memref<?xf32>
    %b = affine.load %p[%i + 4] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %y[%i] : memref<?xf32>
  }
  return
}

// What is computed into the buffer gets an array of its own.
// CHECK-LABEL: func.func @computed
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<64xf32>
// CHECK: affine.for
// CHECK: math.exp
// CHECK-NEXT: affine.store %{{.*}}, %[[OWN]][%{{.*}}]
// CHECK: affine.for
// CHECK-NEXT: affine.if
// CHECK-NEXT: affine.load %[[OWN]]
// CHECK-NOT: memref<66xf32>
func.func @computed(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66xf32>
  affine.for %i = 0 to 66 {
    affine.store %zero, %p[%i] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %e = affine.load %x[%i] : memref<64xf32>
    %f = math.exp %e : f32
    affine.store %f, %p[%i + 1] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %p[%i] : memref<66xf32>
    %b = affine.load %p[%i + 2] : memref<66xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %y[%i] : memref<64xf32>
  }
  return
}
}

// -----

// What stays: an array that is written before the buffer is read; a buffer that is no array with a constant around;
// one that a contraction reads, too, keeps the buffer for that one alone.
module attributes {tilewright.target = "nvidia:H200"} {
// CHECK-LABEL: func.func @overwritten
// CHECK: memref.alloc
// CHECK-NOT: affine.if
// CHECK: return
func.func @overwritten(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66xf32>
  affine.for %i = 0 to 66 {
    affine.store %zero, %p[%i] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %e = affine.load %x[%i] : memref<64xf32>
    affine.store %e, %p[%i + 1] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    affine.store %zero, %x[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %p[%i + 2] : memref<66xf32>
    affine.store %a, %y[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func.func @partly_filled
// CHECK: memref.alloc
// CHECK-NOT: affine.if
// CHECK: return
func.func @partly_filled(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66xf32>
  affine.for %i = 0 to 65 {
    affine.store %zero, %p[%i] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %e = affine.load %x[%i] : memref<64xf32>
    affine.store %e, %p[%i + 1] : memref<66xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %p[%i] : memref<66xf32>
    affine.store %a, %y[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func.func @product
// CHECK: memref.alloc
// CHECK-NOT: affine.if
// CHECK: return
func.func @product(%x: memref<62x64xf16>, %w: memref<64x64xf16>, %y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<64x64xf16>
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 64 {
      affine.store %zero, %p[%i, %k] : memref<64x64xf16>
    }
  }
  affine.for %i = 0 to 62 {
    affine.for %k = 0 to 64 {
      %e = affine.load %x[%i, %k] : memref<62x64xf16>
      affine.store %e, %p[%i + 1, %k] : memref<64x64xf16>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %a = affine.load %p[%i, %k] : memref<64x64xf16>
        %b = affine.load %w[%k, %j] : memref<64x64xf16>
        %c = affine.load %y[%i, %j] : memref<64x64xf32>
        %ae = arith.extf %a : f16 to f32
        %be = arith.extf %b : f16 to f32
        %m = arith.mulf %ae, %be : f32
        %s = arith.addf %c, %m : f32
        affine.store %s, %y[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
}

// -----

// With caches the buffer stays, and what is around the array is all that is filled: rows above and below, and of the
// other rows what is before and behind them, of different widths here.
module attributes {tilewright.target = "cpu:zen4"} {
// CHECK-LABEL: func.func @border
// CHECK: %[[P:.*]] = memref.alloc() : memref<66x131xf32>
// CHECK-NEXT: affine.for %[[Y:.*]] = 0 to 1
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 131
// CHECK: affine.store %{{.*}}, %[[P]][%[[Y]], %[[X]]]
// CHECK-NEXT: affine.store %{{.*}}, %[[P]][%[[Y]] + 65, %[[X]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 1
// CHECK: affine.store %{{.*}}, %[[P]][%[[Y]] + 1, %[[X]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 2
// CHECK: affine.store %{{.*}}, %[[P]][%[[Y]] + 1, %[[X]] + 129]
// CHECK: affine.for %{{.*}} = 0 to 64
// CHECK-NEXT: affine.for %{{.*}} = 0 to 128
// CHECK-NEXT: affine.load %arg0
func.func @border(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  %none = arith.constant 0xFF800000 : f32
  %p = memref.alloc() : memref<66x131xf32>
  affine.for %i = 0 to 66 {
    affine.for %j = 0 to 131 {
      affine.store %none, %p[%i, %j] : memref<66x131xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %x[%i, %j] : memref<64x128xf32>
      %r = math.absf %e : f32
      affine.store %r, %p[%i + 1, %j + 1] : memref<66x131xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %p[%i + 2, %j + 3] : memref<66x131xf32>
      affine.store %e, %y[%i, %j] : memref<64x128xf32>
    }
  }
  return
}

// What is read before the inside is written is all filled, and so is a small buffer where that is as fast.
// CHECK-LABEL: func.func @read_before
// CHECK: memref.alloc
// CHECK-NEXT: affine.for %{{.*}} = 0 to 66
// CHECK-NEXT: affine.for %{{.*}} = 0 to 131
func.func @read_before(%x: memref<64x128xf32>, %y: memref<64x128xf32>, %z: memref<64x128xf32>) {
  %none = arith.constant 0xFF800000 : f32
  %p = memref.alloc() : memref<66x131xf32>
  affine.for %i = 0 to 66 {
    affine.for %j = 0 to 131 {
      affine.store %none, %p[%i, %j] : memref<66x131xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %p[%i + 1, %j + 1] : memref<66x131xf32>
      affine.store %e, %z[%i, %j] : memref<64x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %x[%i, %j] : memref<64x128xf32>
      affine.store %e, %p[%i + 1, %j + 1] : memref<66x131xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %p[%i + 2, %j + 3] : memref<66x131xf32>
      affine.store %e, %y[%i, %j] : memref<64x128xf32>
    }
  }
  return
}

// Where sums of a product are what is inside, its border is filled before the product, which can then write its result
// into the buffer.
// CHECK-LABEL: func.func @product_inside
// CHECK-SAME: %{{.*}}: memref<64x32xf32>, %{{.*}}: memref<32x128xf32>
// CHECK: %[[SUM:.*]] = memref.alloc() : memref<64x128xf32>
// CHECK-NEXT: %[[P:.*]] = memref.alloc() : memref<66x128xf32>
// CHECK-NEXT: affine.for %{{.*}} = 0 to 1
// CHECK: affine.store %{{.*}}, %[[P]][%{{.*}} + 65, %{{.*}}]
// CHECK: affine.for
// CHECK: affine.store %{{.*}}, %[[SUM]]
// CHECK: affine.for
// CHECK: affine.store %{{.*}}, %[[SUM]]
// CHECK: affine.for
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.load %[[SUM]]
func.func @product_inside(%a: memref<64x32xf32>, %b: memref<32x128xf32>, %y: memref<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<64x128xf32>
  %p = memref.alloc() : memref<66x128xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      affine.store %zero, %s[%i, %j] : memref<64x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      affine.for %k = 0 to 32 {
        %u = affine.load %a[%i, %k] : memref<64x32xf32>
        %v = affine.load %b[%k, %j] : memref<32x128xf32>
        %c = affine.load %s[%i, %j] : memref<64x128xf32>
        %m = arith.mulf %u, %v : f32
        %n = arith.addf %c, %m : f32
        affine.store %n, %s[%i, %j] : memref<64x128xf32>
      }
    }
  }
  affine.for %i = 0 to 66 {
    affine.for %j = 0 to 128 {
      affine.store %zero, %p[%i, %j] : memref<66x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %s[%i, %j] : memref<64x128xf32>
      %r = arith.maximumf %e, %zero : f32
      affine.store %r, %p[%i + 1, %j] : memref<66x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %e = affine.load %p[%i + 2, %j] : memref<66x128xf32>
      affine.store %e, %y[%i, %j] : memref<64x128xf32>
    }
  }
  return
}
}
