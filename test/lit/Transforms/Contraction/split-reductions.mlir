// One tile and a long sum: parts of it in blocks of their own. A sum whose result fills the chip stays whole.
//
// RUN: tw-opt %s -split-input-file -split-reductions | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {

// CHECK-LABEL: @long
// CHECK: %[[P:.*]] = memref.alloc() : memref<[[S:[0-9]+]]x64x64xf32>
// CHECK: affine.for %{{.*}} = 0 to [[S]]
// CHECK:   affine.store %{{.*}}, %[[P]]
// CHECK: affine.for %[[PARTIAL:.*]] = 0 to [[S]]
// CHECK:   affine.for %[[I:.*]] = 0 to 64
// CHECK:     affine.for %[[J:.*]] = 0 to 64
// CHECK:       affine.for %[[L:.*]] = 0 to
// CHECK:         affine.load %arg0[%[[I]], %[[PARTIAL]] * {{[0-9]+}} + %[[L]]
// CHECK:         affine.load %arg1[%[[PARTIAL]] * {{[0-9]+}} + %[[L]]
// CHECK:         affine.store %{{.*}}, %[[P]][%[[PARTIAL]], %[[I]], %[[J]]]
// CHECK: affine.for
// CHECK:   affine.for
// CHECK:     affine.for %[[Q:.*]] = 0 to [[S]]
// CHECK:       affine.load %[[P]][%[[Q]]
// CHECK:       affine.store %{{.*}}, %arg2
func.func private @long(%a: memref<64x16384xf16>, %b: memref<16384x64xf16>, %c: memref<64x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 16384 {
        %x = affine.load %a[%i, %k] : memref<64x16384xf16>
        %y = affine.load %b[%k, %j] : memref<16384x64xf16>
        %s = affine.load %c[%i, %j] : memref<64x64xf32>
        %xw = arith.extf %x : f16 to f32
        %yw = arith.extf %y : f16 to f32
        %p = arith.mulf %xw, %yw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: @wide
// CHECK-NOT: memref.alloc
func.func private @wide(%a: memref<4096x1024xf16>, %b: memref<1024x4096xf16>, %c: memref<4096x4096xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to 1024 {
        %x = affine.load %a[%i, %k] : memref<4096x1024xf16>
        %y = affine.load %b[%k, %j] : memref<1024x4096xf16>
        %s = affine.load %c[%i, %j] : memref<4096x4096xf32>
        %xw = arith.extf %x : f16 to f32
        %yw = arith.extf %y : f16 to f32
        %p = arith.mulf %xw, %yw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<4096x4096xf32>
      }
    }
  }
  return
}
}

// -----

// A part has the plan that is forced, too. Parts of 4 steps are the fastest, but four slices of a block have none to share.

module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: @free
// CHECK: memref.alloc() : memref<64x64x1xf64>
func.func private @free(%a: memref<64x256xf64>, %b: memref<256x1xf64>, %c: memref<64x1xf64>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1 {
      affine.for %k = 0 to 256 {
        %x = affine.load %a[%i, %k] : memref<64x256xf64>
        %y = affine.load %b[%k, %j] : memref<256x1xf64>
        %s = affine.load %c[%i, %j] : memref<64x1xf64>
        %p = arith.mulf %x, %y : f64
        %t = arith.addf %s, %p : f64
        affine.store %t, %c[%i, %j] : memref<64x1xf64>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "subgroups_k=4"} {
// CHECK-LABEL: @forced
// CHECK-NOT: memref.alloc() : memref<64x64x1xf64>
func.func private @forced(%a: memref<64x256xf64>, %b: memref<256x1xf64>, %c: memref<64x1xf64>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1 {
      affine.for %k = 0 to 256 {
        %x = affine.load %a[%i, %k] : memref<64x256xf64>
        %y = affine.load %b[%k, %j] : memref<256x1xf64>
        %s = affine.load %c[%i, %j] : memref<64x1xf64>
        %p = arith.mulf %x, %y : f64
        %t = arith.addf %s, %p : f64
        affine.store %t, %c[%i, %j] : memref<64x1xf64>
      }
    }
  }
  return
}
}

// -----

// The number of parts can be forced, too; one that cuts no whole steps leaves the sum to the model.

module attributes {tilewright.target = "nvidia:A100", tilewright.force = "split_k=4"} {
// CHECK-LABEL: @four
// CHECK: memref.alloc() : memref<4x64x64xf32>
func.func private @four(%a: memref<64x4096xf16>, %b: memref<4096x64xf16>, %c: memref<64x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<64x4096xf16>
        %y = affine.load %b[%k, %j] : memref<4096x64xf16>
        %s = affine.load %c[%i, %j] : memref<64x64xf32>
        %xw = arith.extf %x : f16 to f32
        %yw = arith.extf %y : f16 to f32
        %p = arith.mulf %xw, %yw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100", tilewright.force = "split_k=1"} {
// CHECK-LABEL: @whole
// CHECK-NOT: memref.alloc
func.func private @whole(%a: memref<64x4096xf16>, %b: memref<4096x64xf16>, %c: memref<64x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<64x4096xf16>
        %y = affine.load %b[%k, %j] : memref<4096x64xf16>
        %s = affine.load %c[%i, %j] : memref<64x64xf32>
        %xw = arith.extf %x : f16 to f32
        %yw = arith.extf %y : f16 to f32
        %p = arith.mulf %xw, %yw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100", tilewright.force = "split_k=7"} {
// CHECK-LABEL: @uneven
// CHECK-NOT: memref<7x64x64xf32>
func.func private @uneven(%a: memref<64x4096xf16>, %b: memref<4096x64xf16>, %c: memref<64x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<64x4096xf16>
        %y = affine.load %b[%k, %j] : memref<4096x64xf16>
        %s = affine.load %c[%i, %j] : memref<64x64xf32>
        %xw = arith.extf %x : f16 to f32
        %yw = arith.extf %y : f16 to f32
        %p = arith.mulf %xw, %yw : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
}
