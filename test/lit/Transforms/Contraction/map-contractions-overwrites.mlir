// What follows a product runs on its fragments only where that overwrites nothing that other fragments still read.
//
// RUN: tw-opt %s -map-contractions -canonicalize -split-input-file | FileCheck %s

// The state of a loop: blocks that are behind still read A.
// CHECK-LABEL: func.func private @coresWritesA
// CHECK-NOT:     tile.store {{.*}}, %arg0[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg0[
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresWritesA(%A: memref<192x192xf32>, %B: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %A[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// And B.
// CHECK-LABEL: func.func private @coresWritesB
// CHECK-NOT:     tile.store {{.*}}, %arg1[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg1[
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresWritesB(%A: memref<192x192xf32>, %B: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %B[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// The first step reads Z across, the second writes it: only the first runs on fragments.
// CHECK-LABEL: func.func private @coresWritesAcross
// CHECK:         tile.load %arg2[
// CHECK-NOT:     tile.store {{.*}}, %arg2[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg2[
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresWritesAcross(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Z: memref<192x192xf32>, %Y: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %z = affine.load %Z[%j, %i] : memref<192x192xf32>
      %r = arith.addf %c, %z : f32
      affine.store %r, %Y[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %Y[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %Z[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// Where it reads Z in place, both do.
// CHECK-LABEL: func.func private @coresWritesInPlace
// CHECK-NOT:     affine.store
// CHECK:         tile.store {{.*}}, %arg2[
// CHECK-NOT:     affine.store
// CHECK:         return
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresWritesInPlace(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Z: memref<192x192xf32>, %Y: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %z = affine.load %Z[%i, %j] : memref<192x192xf32>
      %r = arith.addf %c, %z : f32
      affine.store %r, %Y[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %Y[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %Z[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// The state of a loop: blocks that are behind still read A, on lanes.
// CHECK-LABEL: func.func private @lanesWritesA
// CHECK-NOT:     tile.store {{.*}}, %arg0[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg0[
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @lanesWritesA(%A: memref<192x192xf32>, %B: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %A[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// And B, on lanes.
// CHECK-LABEL: func.func private @lanesWritesB
// CHECK-NOT:     tile.store {{.*}}, %arg1[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg1[
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @lanesWritesB(%A: memref<192x192xf32>, %B: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %B[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// The first step reads Z across, the second writes it: only the first runs on fragments, on lanes.
// CHECK-LABEL: func.func private @lanesWritesAcross
// CHECK:         tile.load %arg2[
// CHECK-NOT:     tile.store {{.*}}, %arg2[
// CHECK:         affine.for
// CHECK:           arith.maximumf
// CHECK-NEXT:      affine.store {{.*}}, %arg2[
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @lanesWritesAcross(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Z: memref<192x192xf32>, %Y: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %z = affine.load %Z[%j, %i] : memref<192x192xf32>
      %r = arith.addf %c, %z : f32
      affine.store %r, %Y[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %Y[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %Z[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// Where it reads Z in place, both do, on lanes.
// CHECK-LABEL: func.func private @lanesWritesInPlace
// CHECK-NOT:     affine.store
// CHECK:         tile.store {{.*}}, %arg2[
// CHECK-NOT:     affine.store
// CHECK:         return
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @lanesWritesInPlace(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Z: memref<192x192xf32>, %Y: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %z = affine.load %Z[%i, %j] : memref<192x192xf32>
      %r = arith.addf %c, %z : f32
      affine.store %r, %Y[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %Y[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %Z[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// A part of a larger array, as of a concatenation or of one with a border.
// CHECK-LABEL: func.func private @coresWritesPart
// CHECK-NOT:     affine.store
// CHECK:         arith.maximumf
// CHECK:         tile.store %{{.*}}, %arg2[%{{.*}} + 1, %{{.*}} + 100]
// CHECK-NOT:     affine.store
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresWritesPart(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Y: memref<194x512xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = arith.maximumf %c, %zero : f32
      affine.store %r, %Y[%i + 1, %j + 100] : memref<194x512xf32>
    }
  }
  return
}
}

// -----

// Not where other elements of it are read, which other fragments write.
// CHECK-LABEL: func.func private @coresReadsOtherPart
// CHECK-NOT:     tile.store {{.*}}, %arg2[
// CHECK:         affine.load %arg2
// CHECK:         affine.store {{.*}}, %arg2[%{{.*}} + 1, %{{.*}} + 100]
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @coresReadsOtherPart(%A: memref<192x192xf32>, %B: memref<192x192xf32>, %Y: memref<194x512xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %y = affine.load %Y[%i, %j] : memref<194x512xf32>
      %r = arith.addf %c, %y : f32
      affine.store %r, %Y[%i + 1, %j + 100] : memref<194x512xf32>
    }
  }
  return
}
}
