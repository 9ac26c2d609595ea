// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/adder tw-opt %s --fuse-halos --canonicalize --cse --split-input-file | FileCheck %s

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// Two passes of three taps: each element of the second computes the three rows of the first that it reads.
// CHECK-LABEL: func.func @two_passes
// CHECK-SAME: (%[[IN:.*]]: memref<4098x4098xf32>, %[[W:.*]]: memref<3xf32>, %[[OUT:.*]]: memref<4096x4096xf32>)
// CHECK-NOT: memref.alloc
// CHECK: affine.for %[[Y:.*]] = 0 to 4096
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 4096
// CHECK-NEXT: %[[I0:.*]] = affine.load %[[IN]][%[[Y]], %[[X]]]
// CHECK: affine.load %[[IN]][%[[Y]], %[[X]] + 1]
// CHECK: affine.load %[[IN]][%[[Y]], %[[X]] + 2]
// CHECK: affine.load %[[IN]][%[[Y]] + 1, %[[X]]]
// CHECK: affine.load %[[IN]][%[[Y]] + 2, %[[X]] + 2]
// CHECK-NOT: affine.load %[[IN]]
// CHECK: affine.store %{{.*}}, %[[OUT]][%[[Y]], %[[X]]]
// CHECK-NOT: affine.for
func.func @two_passes(%in: memref<4098x4098xf32>, %w: memref<3xf32>, %out: memref<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4098x4096xf32>
  affine.for %y = 0 to 4098 {
    affine.for %x = 0 to 4096 {
      affine.store %zero, %t[%y, %x] : memref<4098x4096xf32>
    }
  }
  affine.for %y = 0 to 4098 {
    affine.for %x = 0 to 4096 {
      affine.for %k = 0 to 3 {
        %p = affine.load %in[%y, %x + %k] : memref<4098x4098xf32>
        %q = affine.load %w[%k] : memref<3xf32>
        %a = affine.load %t[%y, %x] : memref<4098x4096xf32>
        %m = arith.mulf %p, %q : f32
        %s = arith.addf %a, %m : f32
        affine.store %s, %t[%y, %x] : memref<4098x4096xf32>
      }
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      affine.store %zero, %out[%y, %x] : memref<4096x4096xf32>
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      affine.for %k = 0 to 3 {
        %p = affine.load %t[%y + %k, %x] : memref<4098x4096xf32>
        %q = affine.load %w[%k] : memref<3xf32>
        %a = affine.load %out[%y, %x] : memref<4096x4096xf32>
        %m = arith.mulf %p, %q : f32
        %s = arith.addf %a, %m : f32
        affine.store %s, %out[%y, %x] : memref<4096x4096xf32>
      }
    }
  }
  return
}

// Three stencils without sums in a row become one nest.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: memref.alloc
// CHECK: affine.for
// CHECK-NEXT: affine.for
// CHECK-COUNT-4: affine.load %arg0
// CHECK-NOT: affine.for
func.func @chain(%in: memref<4099x4096xf32>, %out: memref<4096x4096xf32>) {
  %t = memref.alloc() : memref<4098x4096xf32>
  %u = memref.alloc() : memref<4097x4096xf32>
  affine.for %y = 0 to 4098 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %in[%y, %x] : memref<4099x4096xf32>
      %b = affine.load %in[%y + 1, %x] : memref<4099x4096xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %t[%y, %x] : memref<4098x4096xf32>
    }
  }
  affine.for %y = 0 to 4097 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %t[%y, %x] : memref<4098x4096xf32>
      %b = affine.load %t[%y + 1, %x] : memref<4098x4096xf32>
      %s = arith.subf %a, %b : f32
      affine.store %s, %u[%y, %x] : memref<4097x4096xf32>
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %u[%y, %x] : memref<4097x4096xf32>
      %b = affine.load %u[%y + 1, %x] : memref<4097x4096xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %out[%y, %x] : memref<4096x4096xf32>
    }
  }
  return
}

// What stays in a near cache is not computed twice.
// CHECK-LABEL: func.func @small
// CHECK: memref.alloc
// CHECK-COUNT-4: affine.for
func.func @small(%in: memref<33x34xf32>, %out: memref<32x32xf32>) {
  %t = memref.alloc() : memref<33x32xf32>
  affine.for %y = 0 to 33 {
    affine.for %x = 0 to 32 {
      %a = affine.load %in[%y, %x] : memref<33x34xf32>
      %b = affine.load %in[%y, %x + 1] : memref<33x34xf32>
      %c = affine.load %in[%y, %x + 2] : memref<33x34xf32>
      %s = arith.addf %a, %b : f32
      %e = math.exp %s : f32
      %u = arith.addf %e, %c : f32
      affine.store %u, %t[%y, %x] : memref<33x32xf32>
    }
  }
  affine.for %y = 0 to 32 {
    affine.for %x = 0 to 32 {
      %a = affine.load %t[%y, %x] : memref<33x32xf32>
      %b = affine.load %t[%y + 1, %x] : memref<33x32xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %out[%y, %x] : memref<32x32xf32>
    }
  }
  return
}

// Of one dimension there are no rows that share: elements of a near cache are not computed three times.
// CHECK-LABEL: func.func @line
// CHECK: memref.alloc
// CHECK-COUNT-2: affine.for
func.func @line(%in: memref<2052xf32>, %out: memref<2048xf32>) {
  %t = memref.alloc() : memref<2050xf32>
  affine.for %x = 0 to 2050 {
    %a = affine.load %in[%x] : memref<2052xf32>
    %b = affine.load %in[%x + 1] : memref<2052xf32>
    %c = affine.load %in[%x + 2] : memref<2052xf32>
    %s = arith.addf %a, %b : f32
    %u = arith.mulf %s, %c : f32
    affine.store %u, %t[%x] : memref<2050xf32>
  }
  affine.for %x = 0 to 2048 {
    %a = affine.load %t[%x] : memref<2050xf32>
    %b = affine.load %t[%x + 1] : memref<2050xf32>
    %c = affine.load %t[%x + 2] : memref<2050xf32>
    %s = arith.addf %a, %b : f32
    %u = arith.addf %s, %c : f32
    affine.store %u, %out[%x] : memref<2048xf32>
  }
  return
}

// The buffer is an output as well; the second overwrites what the first reads; an element is read once (no halo).
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-12: affine.for
func.func @stays(%in: memref<4097x4096xf32>, %t: memref<4097x4096xf32>, %out: memref<4096x4096xf32>) {
  %u = memref.alloc() : memref<4096x4096xf32>
  %v = memref.alloc() : memref<4097x4096xf32>
  affine.for %y = 0 to 4097 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %in[%y, %x] : memref<4097x4096xf32>
      %s = arith.addf %a, %a : f32
      affine.store %s, %t[%y, %x] : memref<4097x4096xf32>
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %t[%y, %x] : memref<4097x4096xf32>
      %b = affine.load %t[%y + 1, %x] : memref<4097x4096xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %u[%y, %x] : memref<4096x4096xf32>
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %u[%y, %x] : memref<4096x4096xf32>
      %s = math.absf %a : f32
      affine.store %s, %out[%y, %x] : memref<4096x4096xf32>
    }
  }
  affine.for %y = 0 to 4097 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %t[%y, %x] : memref<4097x4096xf32>
      %s = arith.addf %a, %a : f32
      affine.store %s, %v[%y, %x] : memref<4097x4096xf32>
    }
  }
  affine.for %y = 0 to 4097 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %in[%y, %x] : memref<4097x4096xf32>
      affine.store %a, %t[%y, %x] : memref<4097x4096xf32>
    }
  }
  affine.for %y = 0 to 4096 {
    affine.for %x = 0 to 4096 {
      %a = affine.load %v[%y, %x] : memref<4097x4096xf32>
      %b = affine.load %v[%y + 1, %x] : memref<4097x4096xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %out[%y, %x] : memref<4096x4096xf32>
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:granite-rapids"} {
// Many taps: computing rows again would take longer than memory does. The rows that one row reads stay in a ring of the
// next power of two; each step computes one more of them.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: (%[[IN:.*]]: memref<1040x1024xf32>, %[[OUT:.*]]: memref<1024x1024xf32>)
// CHECK: %[[RING:.*]] = memref.alloc() : memref<16x1024xf32>
// CHECK: affine.for %[[R:.*]] = 0 to 8
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 1024
// CHECK: affine.load %[[IN]][%[[R]] + 2, %[[X]]]
// CHECK: math.exp
// CHECK: affine.store %{{.*}}, %[[RING]][%[[R]], %[[X]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 1024
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 1024
// CHECK: affine.load %[[IN]][%[[Y]] + 10, %[[X]]]
// CHECK: math.exp
// CHECK: affine.store %{{.*}}, %[[RING]][%[[Y]] - ((%[[Y]] + 8) floordiv 16) * 16 + 8, %[[X]]]
// CHECK: affine.for %[[X:.*]] = 0 to 1024
// CHECK-NOT: math.exp
// CHECK: affine.load %[[RING]][%[[Y]] mod 16, %[[X]]]
// CHECK: affine.load %[[RING]][%[[Y]] - ((%[[Y]] + 8) floordiv 16) * 16 + 8, %[[X]]]
// CHECK: affine.store %{{.*}}, %[[OUT]][%[[Y]], %[[X]]]
func.func @ring(%in: memref<1040x1024xf32>, %out: memref<1024x1024xf32>) {
  %t = memref.alloc() : memref<1040x1024xf32>
  affine.for %y = 0 to 1040 {
    affine.for %x = 0 to 1024 {
      %p = affine.load %in[%y, %x] : memref<1040x1024xf32>
      %e = math.exp %p : f32
      affine.store %e, %t[%y, %x] : memref<1040x1024xf32>
    }
  }
  affine.for %y = 0 to 1024 {
    affine.for %x = 0 to 1024 {
      %a = affine.load %t[%y + 2, %x] : memref<1040x1024xf32>
      %b = affine.load %t[%y + 6, %x] : memref<1040x1024xf32>
      %c = affine.load %t[%y + 10, %x] : memref<1040x1024xf32>
      %d = arith.addf %a, %b : f32
      %s = arith.addf %c, %d : f32
      affine.store %s, %out[%y, %x] : memref<1024x1024xf32>
    }
  }
  return
}
}

// -----

// Two cores: a ring's rows follow each other, so the rows stay apart or are computed again.
module attributes {tilewright.target = "cpu:granite-rapids", tilewright.threads = 2 : i64} {
// CHECK-LABEL: func.func @two_cores
// CHECK-NOT: memref<16x1024xf32>
func.func @two_cores(%in: memref<1040x1024xf32>, %out: memref<1024x1024xf32>) {
  %t = memref.alloc() : memref<1040x1024xf32>
  affine.for %y = 0 to 1040 {
    affine.for %x = 0 to 1024 {
      %p = affine.load %in[%y, %x] : memref<1040x1024xf32>
      %e = math.exp %p : f32
      affine.store %e, %t[%y, %x] : memref<1040x1024xf32>
    }
  }
  affine.for %y = 0 to 1024 {
    affine.for %x = 0 to 1024 {
      %a = affine.load %t[%y + 2, %x] : memref<1040x1024xf32>
      %c = affine.load %t[%y + 10, %x] : memref<1040x1024xf32>
      %s = arith.addf %c, %a : f32
      affine.store %s, %out[%y, %x] : memref<1024x1024xf32>
    }
  }
  return
}
}

// -----

// Where each nest is a launch: the first stencil goes into the second, and a stencil alone begins its sums in registers.
module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func private @launches
// CHECK-NOT: memref.alloc
// CHECK: affine.for
// CHECK-NEXT: affine.for
// CHECK-NOT: affine.for
// CHECK: affine.store %{{.*}}, %arg2
// CHECK: return
func.func private @launches(%in: memref<1026x1024xf32>, %w: memref<3xf32>, %out: memref<1024x1024xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<1026x1024xf32>
  affine.for %y = 0 to 1026 { affine.for %x = 0 to 1024 {
    %p = affine.load %in[%y, %x] : memref<1026x1024xf32>
    %q = arith.mulf %p, %p : f32
    affine.store %q, %t[%y, %x] : memref<1026x1024xf32>
  } }
  affine.for %y = 0 to 1024 { affine.for %x = 0 to 1024 { affine.store %zero, %out[%y, %x] : memref<1024x1024xf32> } }
  affine.for %y = 0 to 1024 { affine.for %x = 0 to 1024 { affine.for %k = 0 to 3 {
    %p = affine.load %t[%y + %k, %x] : memref<1026x1024xf32>
    %q = affine.load %w[%k] : memref<3xf32>
    %a = affine.load %out[%y, %x] : memref<1024x1024xf32>
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %a, %m : f32
    affine.store %s, %out[%y, %x] : memref<1024x1024xf32>
  } } }
  return
}

// Sums along a row are shared by lanes, and a product is a unit's: both stay as they are.
// CHECK-LABEL: func.func private @others
// CHECK: affine.for %{{.*}} = 0 to 16
// CHECK: affine.for %{{.*}} = 0 to 16
func.func private @others(%in: memref<1024x16xf32>, %sums: memref<1024xf32>, %b: memref<16x64xf32>, %c: memref<1024x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 1024 { affine.store %zero, %sums[%y] : memref<1024xf32> }
  affine.for %y = 0 to 1024 { affine.for %k = 0 to 16 {
    %p = affine.load %in[%y, %k] : memref<1024x16xf32>
    %a = affine.load %sums[%y] : memref<1024xf32>
    %s = arith.addf %a, %p : f32
    affine.store %s, %sums[%y] : memref<1024xf32>
  } }
  affine.for %y = 0 to 1024 { affine.for %x = 0 to 64 { affine.store %zero, %c[%y, %x] : memref<1024x64xf32> } }
  affine.for %y = 0 to 1024 { affine.for %x = 0 to 64 { affine.for %k = 0 to 16 {
    %p = affine.load %in[%y, %k] : memref<1024x16xf32>
    %q = affine.load %b[%k, %x] : memref<16x64xf32>
    %a = affine.load %c[%y, %x] : memref<1024x64xf32>
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %a, %m : f32
    affine.store %s, %c[%y, %x] : memref<1024x64xf32>
  } } }
  return
}
}

// -----

// A core's engines move each array once.
module attributes {tilewright.target = "adder:slow"} {
// CHECK-LABEL: func.func private @cores
// CHECK-NOT: memref.alloc
// CHECK: affine.for
// CHECK-NEXT: affine.for
// CHECK-NOT: affine.for
// CHECK: return
func.func private @cores(%in: memref<258x256xf32>, %out: memref<256x256xf32>) attributes {tilewright.kernel} {
  %t = memref.alloc() : memref<258x256xf32>
  affine.for %y = 0 to 258 { affine.for %x = 0 to 256 {
    %p = affine.load %in[%y, %x] : memref<258x256xf32>
    %q = arith.mulf %p, %p : f32
    affine.store %q, %t[%y, %x] : memref<258x256xf32>
  } }
  affine.for %y = 0 to 256 { affine.for %x = 0 to 256 {
    %p = affine.load %t[%y, %x] : memref<258x256xf32>
    %q = affine.load %t[%y + 2, %x] : memref<258x256xf32>
    %s = arith.subf %p, %q : f32
    affine.store %s, %out[%y, %x] : memref<256x256xf32>
  } }
  return
}
}

// -----

// Where each nest is a launch, what reads a stencil element by element takes it in; the other array is read beside it.
// CHECK-LABEL: func.func private @sharpen
// CHECK-NOT:     memref.alloc
// CHECK:         affine.for %[[I:.*]] = 0 to 62
// CHECK-COUNT-3:   affine.load %arg0
// CHECK:           arith.subf
// CHECK:           affine.store %{{.*}}, %arg1[%[[I]], %{{.*}}]
// CHECK-NOT:     affine.for
// CHECK:         return
module attributes {tilewright.target = "nvidia:H200"} {
  func.func private @sharpen(%x: memref<64x256xf32>, %y: memref<62x256xf32>) attributes {tilewright.kernel} {
    %t = memref.alloc() : memref<62x256xf32>
    affine.for %i = 0 to 62 {
      affine.for %j = 0 to 256 {
        %a = affine.load %x[%i, %j] : memref<64x256xf32>
        %b = affine.load %x[%i + 2, %j] : memref<64x256xf32>
        %s = arith.addf %a, %b : f32
        affine.store %s, %t[%i, %j] : memref<62x256xf32>
      }
    }
    affine.for %i = 0 to 62 {
      affine.for %j = 0 to 256 {
        %m = affine.load %x[%i + 1, %j] : memref<64x256xf32>
        %s = affine.load %t[%i, %j] : memref<62x256xf32>
        %d = arith.subf %m, %s : f32
        affine.store %d, %y[%i, %j] : memref<62x256xf32>
      }
    }
    return
  }
}
