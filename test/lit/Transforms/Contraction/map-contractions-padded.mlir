// Convolutions whose image has zeros around it read the image itself: copies take zeros outside of it, and the padded
// buffer is not written.
//
// RUN: tw-opt %s -map-contractions | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @rows
// CHECK-NOT: memref.alloc
// CHECK-NOT: affine.store
// CHECK: tile.copy %arg0[{{.*}} - 1, 0] elements #{{.*}} shape [{{.*}}] {bounded = array<i64: 1, 2>}
// CHECK: tile.mma
func.func @rows(%x: memref<2x16x16x32xf16>, %w: memref<3x3x32x64xf16>, %y: memref<2x16x16x64xf32>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<2x18x18x32xf16>
  affine.for %n = 0 to 2 {
    affine.for %h = 0 to 18 {
      affine.for %v = 0 to 18 {
        affine.for %c = 0 to 32 {
          affine.store %zero, %p[%n, %h, %v, %c] : memref<2x18x18x32xf16>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %h = 0 to 16 {
      affine.for %v = 0 to 16 {
        affine.for %c = 0 to 32 {
          %e = affine.load %x[%n, %h, %v, %c] : memref<2x16x16x32xf16>
          affine.store %e, %p[%n, %h + 1, %v + 1, %c] : memref<2x18x18x32xf16>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %h = 0 to 16 {
      affine.for %v = 0 to 16 {
        affine.for %f = 0 to 64 {
          affine.for %r = 0 to 3 {
            affine.for %s = 0 to 3 {
              affine.for %c = 0 to 32 {
                %a = affine.load %p[%n, %h + %r, %v + %s, %c] : memref<2x18x18x32xf16>
                %b = affine.load %w[%r, %s, %c, %f] : memref<3x3x32x64xf16>
                %d = affine.load %y[%n, %h, %v, %f] : memref<2x16x16x64xf32>
                %ae = arith.extf %a : f16 to f32
                %be = arith.extf %b : f16 to f32
                %m = arith.mulf %ae, %be : f32
                %s0 = arith.addf %d, %m : f32
                affine.store %s0, %y[%n, %h, %v, %f] : memref<2x16x16x64xf32>
              }
            }
          }
        }
      }
    }
  }
  return
}

// Other values around it than zeros; and an image that is written before the buffer is read.
// CHECK-LABEL: func.func @ones
// CHECK: %[[P:.*]] = memref.alloc
// CHECK: tile.copy %[[P]]
// CHECK-NOT: bounded
func.func @ones(%x: memref<16x32xf16>, %w: memref<3x32x64xf16>, %y: memref<16x64xf32>) {
  %one = arith.constant 1.0 : f16
  %p = memref.alloc() : memref<18x32xf16>
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      affine.store %one, %p[%h, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      %e = affine.load %x[%h, %c] : memref<16x32xf16>
      affine.store %e, %p[%h + 1, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %f = 0 to 64 {
      affine.for %r = 0 to 3 {
        affine.for %c = 0 to 32 {
          %a = affine.load %p[%h + %r, %c] : memref<18x32xf16>
          %b = affine.load %w[%r, %c, %f] : memref<3x32x64xf16>
          %d = affine.load %y[%h, %f] : memref<16x64xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %y[%h, %f] : memref<16x64xf32>
        }
      }
    }
  }
  return
}

// Arrays of a function that others of the program call may be one: the results may lie on the image.
// CHECK-LABEL: func.func private @overlapping
// CHECK: %[[P:.*]] = memref.alloc
// CHECK: tile.copy %[[P]]
// CHECK-NOT: bounded
func.func private @overlapping(%x: memref<16x32xf16>, %w: memref<3x32x64xf16>, %y: memref<16x64xf32>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<18x32xf16>
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %p[%h, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      %e = affine.load %x[%h, %c] : memref<16x32xf16>
      affine.store %e, %p[%h + 1, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %f = 0 to 64 {
      affine.for %r = 0 to 3 {
        affine.for %c = 0 to 32 {
          %a = affine.load %p[%h + %r, %c] : memref<18x32xf16>
          %b = affine.load %w[%r, %c, %f] : memref<3x32x64xf16>
          %d = affine.load %y[%h, %f] : memref<16x64xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %y[%h, %f] : memref<16x64xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @written
// CHECK: %[[P:.*]] = memref.alloc
// CHECK: tile.copy %[[P]]
// CHECK-NOT: bounded
func.func @written(%x: memref<16x32xf16>, %w: memref<3x32x64xf16>, %y: memref<16x64xf32>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<18x32xf16>
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %p[%h, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      %e = affine.load %x[%h, %c] : memref<16x32xf16>
      affine.store %e, %p[%h + 1, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %x[%h, %c] : memref<16x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %f = 0 to 64 {
      affine.for %r = 0 to 3 {
        affine.for %c = 0 to 32 {
          %a = affine.load %p[%h + %r, %c] : memref<18x32xf16>
          %b = affine.load %w[%r, %c, %f] : memref<3x32x64xf16>
          %d = affine.load %y[%h, %f] : memref<16x64xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %y[%h, %f] : memref<16x64xf32>
        }
      }
    }
  }
  return
}

// Something else reads the buffer: it stays for that.
// CHECK-LABEL: func.func @shared
// CHECK: %[[P:.*]] = memref.alloc
// CHECK: affine.store %{{.*}}, %[[P]]
// CHECK: tile.copy %arg0{{.*}}{bounded = array<i64: 0>}
// CHECK: affine.load %[[P]]
func.func @shared(%x: memref<16x32xf16>, %w: memref<3x32x64xf16>, %y: memref<16x64xf32>, %z: memref<18x32xf16>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<18x32xf16>
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %p[%h, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      %e = affine.load %x[%h, %c] : memref<16x32xf16>
      affine.store %e, %p[%h + 1, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %f = 0 to 64 {
      affine.for %r = 0 to 3 {
        affine.for %c = 0 to 32 {
          %a = affine.load %p[%h + %r, %c] : memref<18x32xf16>
          %b = affine.load %w[%r, %c, %f] : memref<3x32x64xf16>
          %d = affine.load %y[%h, %f] : memref<16x64xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %y[%h, %f] : memref<16x64xf32>
        }
      }
    }
  }
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      %e = affine.load %p[%h, %c] : memref<18x32xf16>
      affine.store %e, %z[%h, %c] : memref<18x32xf16>
    }
  }
  return
}

// The inside is computed from what a convolution before has summed, for a number of images that only the run shows: it is
// stored from the sums of that one into a buffer without zeros, which this one reads.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: memref.alloc{{.*}}18x32xf16
// CHECK: %[[I:.*]] = memref.alloc(%arg4) : memref<?x16x32xf16>
// CHECK-NOT: affine.store
// CHECK: tile.store %{{.*}}, %[[I]]
// CHECK-NOT: affine.store
// CHECK: tile.copy %[[I]]{{.*}}{bounded = array<i64: 1>}
// CHECK-NOT: affine.store
func.func @computed(%x: memref<?x16x32xf16>, %w: memref<32x32xf16>, %v: memref<3x32x64xf16>, %y: memref<?x16x64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f16
  %none = arith.constant 0.0 : f32
  %c = memref.alloc(%n) : memref<?x16x32xf32>
  %p = memref.alloc(%n) : memref<?x18x32xf16>
  affine.for %i = 0 to %n {
    affine.for %h = 0 to 16 {
      affine.for %f = 0 to 32 {
        affine.store %none, %c[%i, %h, %f] : memref<?x16x32xf32>
      }
    }
  }
  affine.for %i = 0 to %n {
    affine.for %h = 0 to 16 {
      affine.for %f = 0 to 32 {
        affine.for %k = 0 to 32 {
          %a = affine.load %x[%i, %h, %k] : memref<?x16x32xf16>
          %b = affine.load %w[%k, %f] : memref<32x32xf16>
          %d = affine.load %c[%i, %h, %f] : memref<?x16x32xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %c[%i, %h, %f] : memref<?x16x32xf32>
        }
      }
    }
  }
  affine.for %i = 0 to %n {
    affine.for %h = 0 to 18 {
      affine.for %f = 0 to 32 {
        affine.store %zero, %p[%i, %h, %f] : memref<?x18x32xf16>
      }
    }
  }
  affine.for %i = 0 to %n {
    affine.for %h = 0 to 16 {
      affine.for %f = 0 to 32 {
        %e = affine.load %c[%i, %h, %f] : memref<?x16x32xf32>
        %m = arith.maximumf %e, %none : f32
        %t = arith.truncf %m : f32 to f16
        affine.store %t, %p[%i, %h + 1, %f] : memref<?x18x32xf16>
      }
    }
  }
  affine.for %i = 0 to %n {
    affine.for %h = 0 to 16 {
      affine.for %f = 0 to 64 {
        affine.for %r = 0 to 3 {
          affine.for %k = 0 to 32 {
            %a = affine.load %p[%i, %h + %r, %k] : memref<?x18x32xf16>
            %b = affine.load %v[%r, %k, %f] : memref<3x32x64xf16>
            %d = affine.load %y[%i, %h, %f] : memref<?x16x64xf32>
            %ae = arith.extf %a : f16 to f32
            %be = arith.extf %b : f16 to f32
            %m = arith.mulf %ae, %be : f32
            %s = arith.addf %d, %m : f32
            affine.store %s, %y[%i, %h, %f] : memref<?x16x64xf32>
          }
        }
      }
    }
  }
  return
}

// What else reads the buffer than contractions would need a copy of the inside behind: it is computed into the buffer.
// CHECK-LABEL: func.func @computed_for_two
// CHECK: %[[P:.*]] = memref.alloc() : memref<18x32xf16>
// CHECK-NOT: memref.alloc
// CHECK: arith.negf
// CHECK-NEXT: affine.store %{{.*}}, %[[P]][%{{.*}} + 1, %{{.*}}]
// CHECK-NOT: bounded
func.func @computed_for_two(%x: memref<16x32xf16>, %w: memref<3x32x64xf16>, %y: memref<16x64xf32>, %z: memref<18x32xf16>) {
  %zero = arith.constant 0.0 : f16
  %p = memref.alloc() : memref<18x32xf16>
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %p[%h, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %c = 0 to 32 {
      %e = affine.load %x[%h, %c] : memref<16x32xf16>
      %m = arith.negf %e : f16
      affine.store %m, %p[%h + 1, %c] : memref<18x32xf16>
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %f = 0 to 64 {
      affine.for %r = 0 to 3 {
        affine.for %c = 0 to 32 {
          %a = affine.load %p[%h + %r, %c] : memref<18x32xf16>
          %b = affine.load %w[%r, %c, %f] : memref<3x32x64xf16>
          %d = affine.load %y[%h, %f] : memref<16x64xf32>
          %ae = arith.extf %a : f16 to f32
          %be = arith.extf %b : f16 to f32
          %m = arith.mulf %ae, %be : f32
          %s = arith.addf %d, %m : f32
          affine.store %s, %y[%h, %f] : memref<16x64xf32>
        }
      }
    }
  }
  affine.for %h = 0 to 18 {
    affine.for %c = 0 to 32 {
      %e = affine.load %p[%h, %c] : memref<18x32xf16>
      affine.store %e, %z[%h, %c] : memref<18x32xf16>
    }
  }
  return
}
}
