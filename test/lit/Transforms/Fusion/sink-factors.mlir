// RUN: tw-opt %s -sink-factors -split-input-file | FileCheck %s

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// The quotient by a row's sum leaves the sum of products; the nest that would only copy disappears with its array.
// CHECK-LABEL: func.func @quotient
// CHECK-SAME: (%[[E:.*]]: memref<32x256xf32>, %[[L:.*]]: memref<32xf32>, %[[V:.*]]: memref<256x64xf32>, %[[O:.*]]: memref<32x64xf32>)
// CHECK-NOT: memref.alloc
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK: affine.for %[[I:.*]] = 0 to 32
// CHECK-NEXT: affine.for %[[D:.*]] = 0 to 64
// CHECK-NEXT: %[[S:.*]] = affine.load %[[O]][%[[I]], %[[D]]]
// CHECK-NEXT: %[[H:.*]] = affine.load %[[L]][%[[I]]]
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[H]]
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[S]], %[[INVERSE]]
// CHECK-NEXT: affine.store %[[Q]], %[[O]][%[[I]], %[[D]]]
func.func @quotient(%e: memref<32x256xf32>, %l: memref<32xf32>, %v: memref<256x64xf32>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %q = arith.divf %x, %h : f32
      affine.store %q, %p[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x = affine.load %p[%i, %j] : memref<32x256xf32>
        %y = affine.load %v[%j, %d] : memref<256x64xf32>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %s, %m : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// Of a nest that computes more, the factor alone goes: here it stands first.
// CHECK-LABEL: func.func @rest_stays
// CHECK: math.exp
// CHECK-NEXT: affine.store
// CHECK: arith.addf
// CHECK: arith.mulf
func.func @rest_stays(%e: memref<32x256xf32>, %l: memref<32xf32>, %v: memref<256x64xf32>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %y = math.exp %x : f32
      %q = arith.mulf %h, %y : f32
      affine.store %q, %p[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x = affine.load %p[%i, %j] : memref<32x256xf32>
        %y = affine.load %v[%j, %d] : memref<256x64xf32>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %s, %m : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids", tilewright.fp = "strict"} {
// Sums keep their terms.
// CHECK-LABEL: func.func @strict
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK-NOT: arith.divf
func.func @strict(%e: memref<32x256xf32>, %l: memref<32xf32>, %v: memref<256x64xf32>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %q = arith.divf %x, %h : f32
      affine.store %q, %p[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x = affine.load %p[%i, %j] : memref<32x256xf32>
        %y = affine.load %v[%j, %d] : memref<256x64xf32>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %s, %m : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// A factor of each term of the sum is none of the sum.
// CHECK-LABEL: func.func @of_terms
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK-NOT: arith.divf
func.func @of_terms(%e: memref<32x256xf32>, %l: memref<256xf32>, %v: memref<256x64xf32>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%j] : memref<256xf32>
      %q = arith.divf %x, %h : f32
      affine.store %q, %p[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x = affine.load %p[%i, %j] : memref<32x256xf32>
        %y = affine.load %v[%j, %d] : memref<256x64xf32>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %s, %m : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// The sum goes on with what the result had before: that is not to be divided.
// CHECK-LABEL: func.func @goes_on
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK-NOT: arith.divf
func.func @goes_on(%e: memref<32x256xf32>, %l: memref<32xf32>, %v: memref<256x64xf32>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %p = memref.alloc() : memref<32x256xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %q = arith.divf %x, %h : f32
      affine.store %q, %p[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x = affine.load %p[%i, %j] : memref<32x256xf32>
        %y = affine.load %v[%j, %d] : memref<256x64xf32>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %s, %m : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// Exponentials at the maximum are at most one: f16 holds them before they are divided.
// CHECK-LABEL: func.func @narrow
// CHECK: math.exp
// CHECK-NEXT: affine.store
// CHECK-NOT: arith.divf
// CHECK: arith.truncf
// CHECK: arith.addf
// CHECK: arith.divf
func.func @narrow(%x: memref<32x256xf32>, %v: memref<256x64xf16>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<32xf32>
  %l = memref.alloc() : memref<32xf32>
  %e = memref.alloc() : memref<32x256xf32>
  %p = memref.alloc() : memref<32x256xf16>
  affine.for %i = 0 to 32 {
    affine.store %least, %m[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %m[%i] : memref<32xf32>
      %b = affine.load %x[%i, %j] : memref<32x256xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<32xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<32x256xf32>
      %b = affine.load %m[%i] : memref<32xf32>
      %c = arith.subf %a, %b : f32
      %d = math.exp %c : f32
      affine.store %d, %e[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.store %zero, %l[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %l[%i] : memref<32xf32>
      %b = affine.load %e[%i, %j] : memref<32x256xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %l[%i] : memref<32xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x1 = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %q = arith.divf %x1, %h : f32
      %t = arith.truncf %q : f32 to f16
      affine.store %t, %p[%i, %j] : memref<32x256xf16>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x1 = affine.load %p[%i, %j] : memref<32x256xf16>
        %y = affine.load %v[%j, %d] : memref<256x64xf16>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %x2 = arith.extf %x1 : f16 to f32
        %y2 = arith.extf %y : f16 to f32
        %m1 = arith.mulf %x2, %y2 : f32
        %t = arith.addf %s, %m1 : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// Nothing bounds these: f16 might not hold them before they are divided.
// CHECK-LABEL: func.func @unbounded
// CHECK: arith.divf
// CHECK-NEXT: arith.truncf
// CHECK-NOT: arith.divf
func.func @unbounded(%x: memref<32x256xf32>, %v: memref<256x64xf16>, %o: memref<32x64xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<32xf32>
  %l = memref.alloc() : memref<32xf32>
  %e = memref.alloc() : memref<32x256xf32>
  %p = memref.alloc() : memref<32x256xf16>
  affine.for %i = 0 to 32 {
    affine.store %least, %m[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %m[%i] : memref<32xf32>
      %b = affine.load %x[%i, %j] : memref<32x256xf32>
      %c = arith.minimumf %a, %b : f32
      affine.store %c, %m[%i] : memref<32xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<32x256xf32>
      %b = affine.load %m[%i] : memref<32xf32>
      %c = arith.subf %a, %b : f32
      %d = math.exp %c : f32
      affine.store %d, %e[%i, %j] : memref<32x256xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.store %zero, %l[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %a = affine.load %l[%i] : memref<32xf32>
      %b = affine.load %e[%i, %j] : memref<32x256xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %l[%i] : memref<32xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 256 {
      %x1 = affine.load %e[%i, %j] : memref<32x256xf32>
      %h = affine.load %l[%i] : memref<32xf32>
      %q = arith.divf %x1, %h : f32
      %t = arith.truncf %q : f32 to f16
      affine.store %t, %p[%i, %j] : memref<32x256xf16>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.store %zero, %o[%i, %d] : memref<32x64xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %d = 0 to 64 {
      affine.for %j = 0 to 256 {
        %x1 = affine.load %p[%i, %j] : memref<32x256xf16>
        %y = affine.load %v[%j, %d] : memref<256x64xf16>
        %s = affine.load %o[%i, %d] : memref<32x64xf32>
        %x2 = arith.extf %x1 : f16 to f32
        %y2 = arith.extf %y : f16 to f32
        %m1 = arith.mulf %x2, %y2 : f32
        %t = arith.addf %s, %m1 : f32
        affine.store %t, %o[%i, %d] : memref<32x64xf32>
      }
    }
  }
  return
}
}

// -----

// A sum of nothing is zero, a quotient by its sum of weights is not.
// CHECK-LABEL: func.func @of_unknown_size
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK-NOT: arith.divf
module attributes {tilewright.target = "cpu:x86-64-v4"} {
func.func @of_unknown_size(%e: memref<32x?xf32>, %l: memref<32xf32>, %v: memref<?x8xf32>, %o: memref<32x8xf32>, %n: index) attributes {tilewright.kernel} {
  %p = memref.alloc(%n) : memref<32x?xf32>
  affine.for %i = 0 to 32 { affine.for %j = 0 to %n {
    %x = affine.load %e[%i, %j] : memref<32x?xf32>
    %y = affine.load %l[%i] : memref<32xf32>
    %q = arith.divf %x, %y : f32
    affine.store %q, %p[%i, %j] : memref<32x?xf32>
  } }
  affine.for %i = 0 to 32 { affine.for %d = 0 to 8 { affine.for %j = 0 to %n {
    %x = affine.load %p[%i, %j] : memref<32x?xf32>
    %y = affine.load %v[%j, %d] : memref<?x8xf32>
    %sum = affine.load %o[%i, %d] : memref<32x8xf32>
    %xy = arith.mulf %x, %y : f32
    %more = arith.addf %sum, %xy : f32
    affine.store %more, %o[%i, %d] : memref<32x8xf32>
  } } }
  return
}
}
