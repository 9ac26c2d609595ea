// RUN: tw-opt %s -permute-arrays -split-input-file | FileCheck %s

// Image and result are channels-last: so are what pads the one and what is copied to the other.
// CHECK-LABEL: func.func @channels_last
// CHECK-DAG: %[[PADDED:.*]] = memref.alloc() : memref<6x6x4xf32>
// CHECK-DAG: %[[SUM:.*]] = memref.alloc() : memref<4x4x8xf32>
// CHECK: affine.for %[[Y:.*]] = 0 to 6
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 6
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 4
// CHECK-NEXT: affine.store %{{.*}}, %[[PADDED]][%[[Y]], %[[X]], %[[C]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 4
// CHECK-NEXT: %[[V:.*]] = affine.load %{{.*}}[%[[Y]], %[[X]], %[[C]]]
// CHECK-NEXT: affine.store %[[V]], %[[PADDED]][%[[Y]] + 1, %[[X]] + 1, %[[C]]]
// CHECK: affine.load %[[PADDED]][%[[Y:.*]] + %[[P:.*]], %[[X:.*]] + %[[Q:.*]], %[[C:.*]]]
// CHECK: affine.store %{{.*}}, %[[SUM]][%[[Y]], %[[X]], %[[O:.*]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[O:.*]] = 0 to 8
// CHECK-NEXT: %[[V:.*]] = affine.load %[[SUM]][%[[Y]], %[[X]], %[[O]]]
// CHECK-NEXT: affine.store %[[V]], %{{.*}}[%[[Y]], %[[X]], %[[O]]]
func.func @channels_last(%x: memref<4x4x4xf32>, %w: memref<8x4x3x3xf32>, %z: memref<4x4x8xf32>)
    attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<4x6x6xf32>
  %sum = memref.alloc() : memref<8x4x4xf32>
  affine.for %c = 0 to 4 {
    affine.for %i = 0 to 6 {
      affine.for %j = 0 to 6 {
        affine.store %zero, %padded[%c, %i, %j] : memref<4x6x6xf32>
      }
    }
  }
  affine.for %c = 0 to 4 {
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        %v = affine.load %x[%i, %j, %c] : memref<4x4x4xf32>
        affine.store %v, %padded[%c, %i + 1, %j + 1] : memref<4x6x6xf32>
      }
    }
  }
  affine.for %o = 0 to 8 {
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        affine.store %zero, %sum[%o, %i, %j] : memref<8x4x4xf32>
      }
    }
  }
  affine.for %o = 0 to 8 {
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        affine.for %c = 0 to 4 {
          affine.for %p = 0 to 3 {
            affine.for %q = 0 to 3 {
              %a = affine.load %padded[%c, %i + %p, %j + %q] : memref<4x6x6xf32>
              %b = affine.load %w[%o, %c, %p, %q] : memref<8x4x3x3xf32>
              %s = affine.load %sum[%o, %i, %j] : memref<8x4x4xf32>
              %m = arith.mulf %a, %b : f32
              %t = arith.addf %s, %m : f32
              affine.store %t, %sum[%o, %i, %j] : memref<8x4x4xf32>
            }
          }
        }
      }
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      affine.for %o = 0 to 8 {
        %v = affine.load %sum[%o, %i, %j] : memref<8x4x4xf32>
        affine.store %v, %z[%i, %j, %o] : memref<4x4x8xf32>
      }
    }
  }
  return
}

// -----

// Two results ask for two orders, and the second array is summed in rows: both stay.
// CHECK-LABEL: func.func @stays
// CHECK: memref.alloc() : memref<8x16xf32>
// CHECK: memref.alloc() : memref<16x32xf32>
func.func @stays(%x: memref<8x32xf32>, %y: memref<32x16xf32>, %z: memref<8x16xf32>, %t: memref<16x8xf32>,
                 %r: memref<16xf32>) attributes {tilewright.kernel} {
  %sum = memref.alloc() : memref<8x16xf32>
  %turned = memref.alloc() : memref<16x32xf32>
  affine.for %j = 0 to 16 {
    affine.for %k = 0 to 32 {
      %v = affine.load %y[%k, %j] : memref<32x16xf32>
      affine.store %v, %turned[%j, %k] : memref<16x32xf32>
    }
  }
  affine.for %j = 0 to 16 {
    affine.for %k = 0 to 32 {
      %v = affine.load %turned[%j, %k] : memref<16x32xf32>
      %s = affine.load %r[%j] : memref<16xf32>
      %a = arith.addf %s, %v : f32
      affine.store %a, %r[%j] : memref<16xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 16 {
      affine.for %k = 0 to 32 {
        %a = affine.load %x[%i, %k] : memref<8x32xf32>
        %b = affine.load %turned[%j, %k] : memref<16x32xf32>
        %s = affine.load %sum[%i, %j] : memref<8x16xf32>
        %m = arith.mulf %a, %b : f32
        %v = arith.addf %s, %m : f32
        affine.store %v, %sum[%i, %j] : memref<8x16xf32>
      }
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 16 {
      %v = affine.load %sum[%i, %j] : memref<8x16xf32>
      affine.store %v, %z[%i, %j] : memref<8x16xf32>
    }
  }
  affine.for %j = 0 to 16 {
    affine.for %i = 0 to 8 {
      %v = affine.load %sum[%i, %j] : memref<8x16xf32>
      affine.store %v, %t[%j, %i] : memref<16x8xf32>
    }
  }
  return
}

// -----

// A stack of two phases stays as it is: interleaved, each sum would touch every other element.
// CHECK-LABEL: func.func @phases
// CHECK: memref.alloc() : memref<2x4x8xf32>
func.func @phases(%x: memref<4x8xf32>, %w: memref<4x4x2xf32>, %z: memref<4x8x2xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %stack = memref.alloc() : memref<2x4x8xf32>
  affine.for %o = 0 to 4 { affine.for %i = 0 to 8 { affine.store %zero, %stack[0, %o, %i] : memref<2x4x8xf32> } }
  affine.for %o = 0 to 4 { affine.for %i = 0 to 8 { affine.for %c = 0 to 4 {
    %a = affine.load %x[%c, %i] : memref<4x8xf32>
    %b = affine.load %w[%c, %o, 0] : memref<4x4x2xf32>
    %s = affine.load %stack[0, %o, %i] : memref<2x4x8xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %stack[0, %o, %i] : memref<2x4x8xf32>
  } } }
  affine.for %o = 0 to 4 { affine.for %i = 0 to 8 { affine.store %zero, %stack[1, %o, %i] : memref<2x4x8xf32> } }
  affine.for %o = 0 to 4 { affine.for %i = 0 to 8 { affine.for %c = 0 to 4 {
    %a = affine.load %x[%c, %i] : memref<4x8xf32>
    %b = affine.load %w[%c, %o, 1] : memref<4x4x2xf32>
    %s = affine.load %stack[1, %o, %i] : memref<2x4x8xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %stack[1, %o, %i] : memref<2x4x8xf32>
  } } }
  affine.for %o = 0 to 4 { affine.for %i = 0 to 8 { affine.for %r = 0 to 2 {
    %v = affine.load %stack[%r, %o, %i] : memref<2x4x8xf32>
    affine.store %v, %z[%o, %i, %r] : memref<4x8x2xf32>
  } } }
  return
}

// -----

// A depthwise convolution of a channels-last image: image, sums and loops end with the channels, and so does a copy of the
// filter, which is smaller.
// CHECK-LABEL: func.func @depthwise
// CHECK-DAG: %[[PADDED:.*]] = memref.alloc() : memref<6x6x8xf32>
// CHECK-DAG: %[[SUM:.*]] = memref.alloc() : memref<4x4x8xf32>
// CHECK: %[[FILTER:.*]] = memref.alloc() {{.*}} : memref<3x3x8xf32>
// CHECK: affine.load %arg1[%[[C:.*]], %[[P:.*]], %[[Q:.*]]] : memref<8x3x3xf32>
// CHECK-NEXT: affine.store %{{.*}}, %[[FILTER]][%[[P]], %[[Q]], %[[C]]]
// CHECK: affine.for %[[Y:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 4
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 8
// CHECK-NEXT: affine.for %[[P:.*]] = 0 to 3
// CHECK-NEXT: affine.for %[[Q:.*]] = 0 to 3
// CHECK: affine.load %[[PADDED]][%[[Y]] + %[[P]], %[[X]] + %[[Q]], %[[C]]]
// CHECK: affine.load %[[FILTER]][%[[P]], %[[Q]], %[[C]]]
// CHECK: affine.store %{{.*}}, %[[SUM]][%[[Y]], %[[X]], %[[C]]]
func.func @depthwise(%x: memref<4x4x8xf32>, %w: memref<8x3x3xf32>, %z: memref<4x4x8xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<8x6x6xf32>
  %sum = memref.alloc() : memref<8x4x4xf32>
  affine.for %c = 0 to 8 { affine.for %i = 0 to 6 { affine.for %j = 0 to 6 { affine.store %zero, %padded[%c, %i, %j] : memref<8x6x6xf32> } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 {
    %v = affine.load %x[%i, %j, %c] : memref<4x4x8xf32>
    affine.store %v, %padded[%c, %i + 1, %j + 1] : memref<8x6x6xf32>
  } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.store %zero, %sum[%c, %i, %j] : memref<8x4x4xf32> } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
    %a = affine.load %padded[%c, %i + %p, %j + %q] : memref<8x6x6xf32>
    %b = affine.load %w[%c, %p, %q] : memref<8x3x3xf32>
    %s = affine.load %sum[%c, %i, %j] : memref<8x4x4xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %sum[%c, %i, %j] : memref<8x4x4xf32>
  } } } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 {
    %v = affine.load %sum[%c, %i, %j] : memref<8x4x4xf32>
    affine.store %v, %z[%i, %j, %c] : memref<4x4x8xf32>
  } } }
  return
}

// -----

// Where the results go to planes, nothing ends with the channels.
// CHECK-LABEL: func.func @to_planes
// CHECK: memref.alloc() : memref<8x6x6xf32>
func.func @to_planes(%x: memref<4x4x8xf32>, %w: memref<8x3x3xf32>, %z: memref<8x4x4xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<8x6x6xf32>
  affine.for %c = 0 to 8 { affine.for %i = 0 to 6 { affine.for %j = 0 to 6 { affine.store %zero, %padded[%c, %i, %j] : memref<8x6x6xf32> } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 {
    %v = affine.load %x[%i, %j, %c] : memref<4x4x8xf32>
    affine.store %v, %padded[%c, %i + 1, %j + 1] : memref<8x6x6xf32>
  } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.store %zero, %z[%c, %i, %j] : memref<8x4x4xf32> } } }
  affine.for %c = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
    %a = affine.load %padded[%c, %i + %p, %j + %q] : memref<8x6x6xf32>
    %b = affine.load %w[%c, %p, %q] : memref<8x3x3xf32>
    %s = affine.load %z[%c, %i, %j] : memref<8x4x4xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %z[%c, %i, %j] : memref<8x4x4xf32>
  } } } } }
  return
}

// -----

// Image and sums end with the channels; the filter, which is smaller, does not.
// CHECK-LABEL: func.func @filter_alone
// CHECK: %[[FILTER:.*]] = memref.alloc() {{.*}} : memref<3x3x8xf32>
// CHECK: affine.load %arg1[%[[C:.*]], %[[P:.*]], %[[Q:.*]]] : memref<8x3x3xf32>
// CHECK-NEXT: affine.store %{{.*}}, %[[FILTER]][%[[P]], %[[Q]], %[[C]]]
// CHECK: affine.load %[[FILTER]]
func.func @filter_alone(%x: memref<6x6x8xf32>, %w: memref<8x3x3xf32>, %z: memref<4x4x8xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %c = 0 to 8 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
    %a = affine.load %x[%i + %p, %j + %q, %c] : memref<6x6x8xf32>
    %b = affine.load %w[%c, %p, %q] : memref<8x3x3xf32>
    %s = affine.load %z[%i, %j, %c] : memref<4x4x8xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %z[%i, %j, %c] : memref<4x4x8xf32>
  } } } } }
  return
}

// -----

// Lanes read neighbouring elements as vectors do; temporaries keep their order there.
module attributes {tilewright.target = "nvidia:H200"} {
// CHECK-LABEL: func.func @filter_of_lanes
// CHECK: memref.alloc() : memref<8x4x4xf32>
// CHECK: memref.alloc() {{.*}} : memref<3x3x8xf32>
func.func @filter_of_lanes(%x: memref<6x6x8xf32>, %w: memref<8x3x3xf32>, %z: memref<4x4x8xf32>, %y: memref<4x4x8xf32>, %v: memref<8x8xf32>) attributes {tilewright.kernel} {
  %sum = memref.alloc() : memref<8x4x4xf32>
  affine.for %o = 0 to 8 { affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %c = 0 to 8 {
    %a = affine.load %x[%i, %j, %c] : memref<6x6x8xf32>
    %b = affine.load %v[%o, %c] : memref<8x8xf32>
    %s = affine.load %sum[%o, %i, %j] : memref<8x4x4xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %sum[%o, %i, %j] : memref<8x4x4xf32>
  } } } }
  affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %c = 0 to 8 {
    %a = affine.load %sum[%c, %i, %j] : memref<8x4x4xf32>
    affine.store %a, %y[%i, %j, %c] : memref<4x4x8xf32>
  } } }
  affine.for %i = 0 to 4 { affine.for %j = 0 to 4 { affine.for %c = 0 to 8 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
    %a = affine.load %x[%i + %p, %j + %q, %c] : memref<6x6x8xf32>
    %b = affine.load %w[%c, %p, %q] : memref<8x3x3xf32>
    %s = affine.load %z[%i, %j, %c] : memref<4x4x8xf32>
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    affine.store %t, %z[%i, %j, %c] : memref<4x4x8xf32>
  } } } } }
  return
}
}
