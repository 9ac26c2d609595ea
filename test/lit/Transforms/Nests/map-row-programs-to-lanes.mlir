// Nests over the same rows in one grid; what depends on other rows, or on memory that lanes would race for, stays apart.
//
// RUN: tw-opt %s -split-input-file -map-row-programs-to-lanes | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {

// Two reductions, three phases: the input and the exponentials stay in the scratchpad, the result alone is written.
// CHECK-LABEL: @softmax
// CHECK-SAME: (%[[A:.*]]: memref<300x1000xf32>, %[[R:.*]]: memref<300x1000xf32>)
// CHECK: tile.parallel (%[[I:.*]]) to (300) level "grid"
// CHECK-DAG: %[[KEPT:.*]] = tile.alloc() : memref<1x1024xf32, "shared">
// CHECK-DAG: %[[EXP:.*]] = tile.alloc() : memref<1x1024xf32, "shared">
// CHECK-DAG: %[[MAX:.*]] = tile.alloc() : memref<1x[[N:[0-9]+]]xf32, "shared">
// CHECK: tile.parallel (%[[W:.*]]) to ([[N]]) level "block"
// CHECK:   %[[X:.*]] = tile.load %[[A]]{{.*}} valid
// CHECK:   tile.store %[[X]], %{{.*}} memref<1x1024xf32, "shared">
// CHECK:   tile.map
// CHECK:     arith.select
// CHECK:   %[[M:.*]] = tile.reduce {{.*}} dimension 1
// CHECK:     arith.maximumf
// CHECK:   tile.store %[[M]], %[[MAX]]
// CHECK: tile.parallel (%{{.*}}) to ([[N]]) level "block"
// CHECK-COUNT-2: affine.load %{{.*}} memref<1x[[N]]xf32, "shared">
// CHECK:     math.exp
// CHECK:   tile.store %{{.*}} memref<1x1024xf32, "shared">
// CHECK:   tile.reduce {{.*}} dimension 1
// CHECK: tile.parallel (%{{.*}}) to ([[N]]) level "block"
// CHECK-NOT: tile.load %[[A]]
// CHECK:     arith.divf
// CHECK:   tile.store %{{.*}}, %[[R]]{{.*}} valid
// CHECK-NOT: affine.for
func.func private @softmax(%a: memref<300x1000xf32>, %r: memref<300x1000xf32>) attributes {tilewright.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<300xf32>
  %e = memref.alloc() : memref<300x1000xf32>
  %s = memref.alloc() : memref<300xf32>
  affine.for %i = 0 to 300 {
    affine.store %low, %m[%i] : memref<300xf32>
  }
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1000 {
      %x = affine.load %a[%i, %j] : memref<300x1000xf32>
      %t = affine.load %m[%i] : memref<300xf32>
      %y = arith.maximumf %x, %t : f32
      affine.store %y, %m[%i] : memref<300xf32>
    }
  }
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1000 {
      %x = affine.load %a[%i, %j] : memref<300x1000xf32>
      %t = affine.load %m[%i] : memref<300xf32>
      %d = arith.subf %x, %t : f32
      %y = math.exp %d : f32
      affine.store %y, %e[%i, %j] : memref<300x1000xf32>
    }
  }
  affine.for %i = 0 to 300 {
    affine.store %zero, %s[%i] : memref<300xf32>
  }
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1000 {
      %x = affine.load %e[%i, %j] : memref<300x1000xf32>
      %t = affine.load %s[%i] : memref<300xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<300xf32>
    }
  }
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1000 {
      %x = affine.load %e[%i, %j] : memref<300x1000xf32>
      %t = affine.load %s[%i] : memref<300xf32>
      %y = arith.divf %x, %t : f32
      affine.store %y, %r[%i, %j] : memref<300x1000xf32>
    }
  }
  return
}

// A mean that the caller gets: one lane writes it behind the last phase. The number of rows is the run's.
// CHECK-LABEL: @mean_too
// CHECK-SAME: (%{{.*}}: memref<?x64xbf16>, %[[R:.*]]: memref<?x64xbf16>, %[[MEAN:.*]]: memref<?xf32>, %{{.*}}: index)
// CHECK: tile.parallel (%{{.*}}) to (symbol(%{{.*}})) level "grid"
// CHECK: tile.store {{.*}}, %[[R]]
// CHECK: tile.parallel (%{{.*}}) to (1) level "subgroup"
// CHECK: affine.store %{{.*}}, %[[MEAN]]
// CHECK-NOT: affine.for
func.func private @mean_too(%a: memref<?x64xbf16>, %r: memref<?x64xbf16>, %mean: memref<?xf32>, %count: index) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %over = arith.constant 64.0 : f32
  affine.for %i = 0 to %count {
    affine.store %zero, %mean[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %count {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<?x64xbf16>
      %w = arith.extf %x : bf16 to f32
      %t = affine.load %mean[%i] : memref<?xf32>
      %y = arith.addf %t, %w : f32
      affine.store %y, %mean[%i] : memref<?xf32>
    }
  }
  affine.for %i = 0 to %count {
    %t = affine.load %mean[%i] : memref<?xf32>
    %y = arith.divf %t, %over : f32
    affine.store %y, %mean[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %count {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<?x64xbf16>
      %w = arith.extf %x : bf16 to f32
      %t = affine.load %mean[%i] : memref<?xf32>
      %d = arith.subf %w, %t : f32
      %y = arith.truncf %d : f32 to bf16
      affine.store %y, %r[%i, %j] : memref<?x64xbf16>
    }
  }
  return
}

// Two places of one array in a row are two rows of elements.
// CHECK-LABEL: @shifted
// CHECK: tile.parallel {{.*}} level "grid"
// CHECK-DAG: tile.load %{{.*}}[%{{[a-z0-9]*}}, %{{[a-z0-9]*}} * {{[0-9]*}}] elements
// CHECK-DAG: tile.load %{{.*}}[%{{[a-z0-9]*}}, %{{[a-z0-9]*}} * {{[0-9]*}} + 1] elements
// CHECK: tile.reduce
// CHECK-NOT: affine.for
func.func private @shifted(%a: memref<300x1025xf32>, %d: memref<300x1024xf32>, %s: memref<300xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1024 {
      %x = affine.load %a[%i, %j] : memref<300x1025xf32>
      %y = affine.load %a[%i, %j + 1] : memref<300x1025xf32>
      %z = arith.subf %y, %x : f32
      affine.store %z, %d[%i, %j] : memref<300x1024xf32>
    }
  }
  affine.for %i = 0 to 300 {
    affine.store %zero, %s[%i] : memref<300xf32>
  }
  affine.for %i = 0 to 300 {
    affine.for %j = 0 to 1024 {
      %x = affine.load %d[%i, %j] : memref<300x1024xf32>
      %t = affine.load %s[%i] : memref<300xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<300xf32>
    }
  }
  return
}

// A load behind a store of its element in one nest.
// CHECK-LABEL: @stored_before
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @stored_before(%a: memref<64x256xf32>, %r: memref<64x256xf32>, %q: memref<64x256xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.divf %x, %t : f32
      affine.store %y, %r[%i, %j] : memref<64x256xf32>
      %z = affine.load %r[%i, %j] : memref<64x256xf32>
      affine.store %z, %q[%i, %j] : memref<64x256xf32>
    }
  }
  return
}

// The second nest reads sums of other rows.
// CHECK-LABEL: @other_rows
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @other_rows(%a: memref<64x256xf32>, %r: memref<64x256xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[63 - %i] : memref<64xf32>
      %y = arith.divf %x, %t : f32
      affine.store %y, %r[%i, %j] : memref<64x256xf32>
    }
  }
  return
}

// Sums begin with what memory holds: one lane would write it while others read. Elements of a row come from its other end.
// CHECK-LABEL: @sums_in_memory
// CHECK-NOT: tile.parallel
// CHECK-LABEL: @backwards
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @sums_in_memory(%a: memref<64x256xf32>, %r: memref<64x256xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.divf %x, %t : f32
      affine.store %y, %r[%i, %j] : memref<64x256xf32>
    }
  }
  return
}

func.func private @backwards(%a: memref<64x256xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<64x256xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%i, %j] : memref<64x256xf32>
      %y = math.exp %x : f32
      affine.store %y, %e[%i, 255 - %j] : memref<64x256xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<64x256xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<64xf32>
    }
  }
  return
}

// A dynamic length of a row: a grid for usual rows, one for the longest that fit a block, and the nests for longer ones.
// CHECK-LABEL: @dynamic_length
// CHECK-SAME: %[[N:[a-z0-9]*]]: index)
// CHECK: %[[SHORT:.*]] = arith.cmpi sle, %{{.*}}, %c1024
// CHECK: scf.if %[[SHORT]] {
// CHECK:   tile.parallel {{.*}} level "grid"
// CHECK:   tile.load %{{.*}} valid
// CHECK: } else {
// CHECK:   %[[FITS:.*]] = arith.cmpi sle
// CHECK:   scf.if %[[FITS]] {
// CHECK:     tile.parallel {{.*}} level "grid"
// CHECK:   } else {
// CHECK-NOT: tile.
// CHECK:     affine.for %{{.*}} = 0 to 64
// CHECK:       affine.for %{{.*}} = 0 to %[[N]]
// CHECK: return
func.func private @dynamic_length(%a: memref<64x?xf32>, %r: memref<64x?xf32>, %n: index) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<64x?xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<64x?xf32>
      %t = affine.load %s[%i] : memref<64xf32>
      %y = arith.divf %x, %t : f32
      affine.store %y, %r[%i, %j] : memref<64x?xf32>
    }
  }
  return
}

}
