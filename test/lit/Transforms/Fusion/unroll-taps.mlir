// RUN: tw-opt %s --unroll-taps --canonicalize --cse --split-input-file | FileCheck %s

// A window of 2 x 2 at a distance of two: all taps are written out, in their order.
// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[IN:.*]]: memref<64x112x112xf32>, %[[OUT:.*]]: memref<64x56x56xf32>)
// CHECK:      affine.for %[[C:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[Y:.*]] = 0 to 56
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 56
// CHECK-NEXT: %[[V:.*]] = affine.load %[[OUT]][%[[C]], %[[Y]], %[[X]]]
// CHECK-NEXT: %[[T:.*]] = affine.load %[[IN]][%[[C]], %[[Y]] * 2, %[[X]] * 2]
// CHECK-NEXT: %[[V1:.*]] = arith.maximumf %[[V]], %[[T]]
// CHECK-NEXT: %[[T:.*]] = affine.load %[[IN]][%[[C]], %[[Y]] * 2, %[[X]] * 2 + 1]
// CHECK-NEXT: %[[V2:.*]] = arith.maximumf %[[V1]], %[[T]]
// CHECK-NEXT: %[[T:.*]] = affine.load %[[IN]][%[[C]], %[[Y]] * 2 + 1, %[[X]] * 2]
// CHECK-NEXT: %[[V3:.*]] = arith.maximumf %[[V2]], %[[T]]
// CHECK-NEXT: %[[T:.*]] = affine.load %[[IN]][%[[C]], %[[Y]] * 2 + 1, %[[X]] * 2 + 1]
// CHECK-NEXT: %[[V4:.*]] = arith.maximumf %[[V3]], %[[T]]
// CHECK-NEXT: affine.store %[[V4]], %[[OUT]][%[[C]], %[[Y]], %[[X]]]
// CHECK-NOT:  affine.for
module attributes {tilewright.target = "cpu:zen4"} {
func.func @window(%in: memref<64x112x112xf32>, %out: memref<64x56x56xf32>) {
  affine.for %c = 0 to 64 {
    affine.for %y = 0 to 56 {
      affine.for %x = 0 to 56 {
        affine.for %ky = 0 to 2 {
          affine.for %kx = 0 to 2 {
            %a = affine.load %in[%c, %y * 2 + %ky, %x * 2 + %kx] : memref<64x112x112xf32>
            %b = affine.load %out[%c, %y, %x] : memref<64x56x56xf32>
            %m = arith.maximumf %b, %a : f32
            affine.store %m, %out[%c, %y, %x] : memref<64x56x56xf32>
          }
        }
      }
    }
  }
  return
}
}

// -----

// 169 taps of windows that overlap are more than four times 32 registers: the outer loop of taps moves around the row. Loops are in
// the order of the result.
// CHECK-LABEL: func.func @large_window
// CHECK-SAME: (%[[IN:.*]]: memref<64x124x124xf32>, %[[OUT:.*]]: memref<64x112x112xf32>)
// CHECK:      affine.for %[[C:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[Y:.*]] = 0 to 112
// CHECK-NEXT: affine.for %[[KY:.*]] = 0 to 13
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 112
// CHECK-NEXT: affine.load %[[OUT]][%[[C]], %[[Y]], %[[X]]]
// CHECK-COUNT-13: affine.load %[[IN]][%[[C]], %[[Y]] + %[[KY]], %[[X]]{{.*}}]
// CHECK:      affine.store %{{.*}}, %[[OUT]][%[[C]], %[[Y]], %[[X]]]
module attributes {tilewright.target = "cpu:zen4"} {
func.func @large_window(%in: memref<64x124x124xf32>, %out: memref<64x112x112xf32>) {
  affine.for %y = 0 to 112 {
    affine.for %x = 0 to 112 {
      affine.for %c = 0 to 64 {
        affine.for %ky = 0 to 13 {
          affine.for %kx = 0 to 13 {
            %a = affine.load %in[%c, %y + %ky, %x + %kx] : memref<64x124x124xf32>
            %b = affine.load %out[%c, %y, %x] : memref<64x112x112xf32>
            %s = arith.addf %b, %a : f32
            affine.store %s, %out[%c, %y, %x] : memref<64x112x112xf32>
          }
        }
      }
    }
  }
  return
}
}

// -----

// Sums of rows one below the other share what they load, so 25 taps are written out for sixteen registers; but not with weights, which
// would have to be loaded again for each vector.
// CHECK-LABEL: func.func @fewer_registers
// CHECK:      affine.for %[[Y:.*]] = 0 to 108
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 108
// CHECK-NEXT: affine.load
// CHECK-COUNT-25: affine.load %{{.*}}[%[[Y]]{{.*}}, %[[X]]{{.*}}]
// CHECK:      affine.store
// CHECK:      affine.for %[[Y:.*]] = 0 to 108
// CHECK-NEXT: affine.for %[[KY:.*]] = 0 to 5
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 108
// CHECK-NOT:  affine.for
module attributes {tilewright.target = "cpu:x86-64-v3"} {
func.func @fewer_registers(%in: memref<112x112xf32>, %w: memref<5x5xf32>, %sums: memref<108x108xf32>, %out: memref<108x108xf32>) {
  affine.for %y = 0 to 108 {
    affine.for %x = 0 to 108 {
      affine.for %ky = 0 to 5 {
        affine.for %kx = 0 to 5 {
          %a = affine.load %in[%y + %ky, %x + %kx] : memref<112x112xf32>
          %b = affine.load %sums[%y, %x] : memref<108x108xf32>
          %s = arith.addf %b, %a : f32
          affine.store %s, %sums[%y, %x] : memref<108x108xf32>
        }
      }
    }
  }
  affine.for %y = 0 to 108 {
    affine.for %x = 0 to 108 {
      affine.for %ky = 0 to 5 {
        affine.for %kx = 0 to 5 {
          %a = affine.load %in[%y + %ky, %x + %kx] : memref<112x112xf32>
          %k = affine.load %w[%ky, %kx] : memref<5x5xf32>
          %b = affine.load %out[%y, %x] : memref<108x108xf32>
          %p = arith.mulf %a, %k : f32
          %s = arith.addf %b, %p : f32
          affine.store %s, %out[%y, %x] : memref<108x108xf32>
        }
      }
    }
  }
  return
}
}

// -----

// All of a picture, channels last: nothing is written out, the channels become the innermost loop.
// CHECK-LABEL: func.func @whole_picture
// CHECK:      affine.for %[[Y:.*]] = 0 to 56
// CHECK-NEXT: affine.for %[[X:.*]] = 0 to 56
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 64
// CHECK-NEXT: affine.load %{{.*}}[%[[C]]]
// CHECK-NEXT: affine.load %{{.*}}[%[[Y]], %[[X]], %[[C]]]
module attributes {tilewright.target = "cpu:zen4"} {
func.func @whole_picture(%in: memref<56x56x64xf32>, %out: memref<64xf32>) {
  affine.for %c = 0 to 64 {
    affine.for %y = 0 to 56 {
      affine.for %x = 0 to 56 {
        %b = affine.load %out[%c] : memref<64xf32>
        %a = affine.load %in[%y, %x, %c] : memref<56x56x64xf32>
        %s = arith.addf %b, %a : f32
        affine.store %s, %out[%c] : memref<64xf32>
      }
    }
  }
  return
}
}

// -----

// Rows of 64 are read side by side: lanes over the taps are cheaper than a gather over the results.
// CHECK-LABEL: func.func @rows
// CHECK:      affine.for %[[I:.*]] = 0 to 1000
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 64
// Three channels are read by loads side by side and shuffles.
// CHECK-LABEL: func.func @channels
// CHECK:      affine.for %[[I:.*]] = 0 to 1000
// CHECK-NEXT: affine.load %{{.*}}[%[[I]]]
// CHECK-NEXT: affine.load %{{.*}}[%[[I]], 0]
// CHECK:      affine.load %{{.*}}[%[[I]], 2]
// CHECK-NOT:  affine.for
module attributes {tilewright.target = "cpu:zen4"} {
func.func @rows(%in: memref<1000x64xf32>, %out: memref<1000xf32>) {
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 64 {
      %b = affine.load %out[%i] : memref<1000xf32>
      %a = affine.load %in[%i, %j] : memref<1000x64xf32>
      %s = arith.addf %b, %a : f32
      affine.store %s, %out[%i] : memref<1000xf32>
    }
  }
  return
}
func.func @channels(%in: memref<1000x3xf32>, %out: memref<1000xf32>) {
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 3 {
      %b = affine.load %out[%i] : memref<1000xf32>
      %a = affine.load %in[%i, %j] : memref<1000x3xf32>
      %s = arith.addf %b, %a : f32
      affine.store %s, %out[%i] : memref<1000xf32>
    }
  }
  return
}
}

// -----

// Two results of one window, the largest element and its place: the number of a tap becomes a constant.
// CHECK-LABEL: func.func @place_of_maximum
// CHECK:      affine.for %[[X:.*]] = 0 to 100
// CHECK-NEXT: %[[M:.*]] = affine.load %{{.*}}[%[[X]]] : memref<100xf32>
// CHECK-NEXT: %[[P:.*]] = affine.load %{{.*}}[%[[X]]] : memref<100xi32>
// CHECK-NEXT: %[[A:.*]] = affine.load %{{.*}}[%[[X]] * 2]
// CHECK-NEXT: %[[G:.*]] = arith.cmpf ogt, %[[A]], %[[M]]
// CHECK-NEXT: %[[M1:.*]] = arith.select %[[G]], %[[A]], %[[M]]
// CHECK-NEXT: %[[P1:.*]] = arith.select %[[G]], %c0_i32, %[[P]]
// CHECK-NEXT: %[[A:.*]] = affine.load %{{.*}}[%[[X]] * 2 + 1]
// CHECK-NEXT: %[[G:.*]] = arith.cmpf ogt, %[[A]], %[[M1]]
// CHECK-NEXT: %[[M2:.*]] = arith.select %[[G]], %[[A]], %[[M1]]
// CHECK-NEXT: %[[P2:.*]] = arith.select %[[G]], %c1_i32, %[[P1]]
// CHECK-NEXT: affine.store %[[M2]]
// CHECK-NEXT: affine.store %[[P2]]
module attributes {tilewright.target = "cpu:zen4"} {
func.func @place_of_maximum(%in: memref<200xf32>, %out: memref<100xf32>, %at: memref<100xi32>) {
  affine.for %x = 0 to 100 {
    affine.for %k = 0 to 2 {
      %m = affine.load %out[%x] : memref<100xf32>
      %p = affine.load %at[%x] : memref<100xi32>
      %a = affine.load %in[%x * 2 + %k] : memref<200xf32>
      %g = arith.cmpf ogt, %a, %m : f32
      %n = arith.select %g, %a, %m : f32
      %i = arith.index_cast %k : index to i32
      %q = arith.select %g, %i, %p : i32
      affine.store %n, %out[%x] : memref<100xf32>
      affine.store %q, %at[%x] : memref<100xi32>
    }
  }
  return
}
}

// -----

// A sum that reads its neighbour's result is none of these: it stays as it is.
// CHECK-LABEL: func.func @running
// CHECK:      affine.for %{{.*}} = 0 to 100
// CHECK-NEXT: affine.for %{{.*}} = 0 to 2
module attributes {tilewright.target = "cpu:zen4"} {
func.func @running(%in: memref<200xf32>, %out: memref<101xf32>) {
  affine.for %x = 0 to 100 {
    affine.for %k = 0 to 2 {
      %m = affine.load %out[%x] : memref<101xf32>
      %a = affine.load %in[%x * 2 + %k] : memref<200xf32>
      %s = arith.addf %m, %a : f32
      affine.store %s, %out[%x + 1] : memref<101xf32>
    }
  }
  return
}
}

// -----

// The sums of rows that another nest divides by stay as they are, for one loop over the rows.
// CHECK-LABEL: func.func @normalised_rows
// CHECK:      affine.for %{{.*}} = 0 to 1000
// CHECK-NEXT: affine.for %{{.*}} = 0 to 3
// CHECK:      affine.for %{{.*}} = 0 to 1000
// CHECK-NEXT: affine.for %{{.*}} = 0 to 3
// Where no taps lie side by side, no such loop has lanes over them.
// CHECK-LABEL: func.func @scaled_pictures
// CHECK:      affine.for %{{.*}} = 0 to 9
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64
// CHECK-NEXT: affine.load
// CHECK-NEXT: affine.load %{{.*}}[%{{.*}}, 0, %{{.*}}]
module attributes {tilewright.target = "cpu:zen4"} {
func.func @normalised_rows(%in: memref<1000x3xf32>, %sum: memref<1000xf32>, %out: memref<1000x3xf32>) {
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 3 {
      %b = affine.load %sum[%i] : memref<1000xf32>
      %a = affine.load %in[%i, %j] : memref<1000x3xf32>
      %s = arith.addf %b, %a : f32
      affine.store %s, %sum[%i] : memref<1000xf32>
    }
  }
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 3 {
      %b = affine.load %sum[%i] : memref<1000xf32>
      %a = affine.load %in[%i, %j] : memref<1000x3xf32>
      %s = arith.divf %a, %b : f32
      affine.store %s, %out[%i, %j] : memref<1000x3xf32>
    }
  }
  return
}
func.func @scaled_pictures(%in: memref<9x400x64xf32>, %sum: memref<9x64xf32>, %out: memref<9x400x64xf32>) {
  affine.for %n = 0 to 9 {
    affine.for %c = 0 to 64 {
      affine.for %j = 0 to 4 {
        %b = affine.load %sum[%n, %c] : memref<9x64xf32>
        %a = affine.load %in[%n, %j, %c] : memref<9x400x64xf32>
        %s = arith.addf %b, %a : f32
        affine.store %s, %sum[%n, %c] : memref<9x64xf32>
      }
    }
  }
  affine.for %n = 0 to 9 {
    affine.for %j = 0 to 400 {
      affine.for %c = 0 to 64 {
        %b = affine.load %sum[%n, %c] : memref<9x64xf32>
        %a = affine.load %in[%n, %j, %c] : memref<9x400x64xf32>
        %s = arith.mulf %a, %b : f32
        affine.store %s, %out[%n, %j, %c] : memref<9x400x64xf32>
      }
    }
  }
  return
}
}

// -----

// Sums in their order of 4096 rows: lanes over results would touch a line and a page of their own for each tap, which have left
// the nearest cache before the next tap.
// CHECK-LABEL: func.func @long_rows
// CHECK:      affine.for %[[I:.*]] = 0 to 4096
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 1024
// CHECK-NEXT: affine.load %arg0[%[[I]], %[[K]]]
module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "strict"} {
func.func @long_rows(%in: memref<4096x1024xf32>, %out: memref<4096xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %k = 0 to 1024 {
      %a = affine.load %in[%i, %k] : memref<4096x1024xf32>
      %b = affine.load %out[%i] : memref<4096xf32>
      %s = arith.addf %b, %a : f32
      affine.store %s, %out[%i] : memref<4096xf32>
    }
  }
  return
}
}

// -----

// Where a loop over taps stays, the sum of those that are written out is added to the rest at the end: 16 additions in a row and
// 5, not 80. With sums in their order each begins with the one before.
// CHECK-LABEL: func.func @columns(
// CHECK:       affine.for %{{.*}} = 0 to 16
// CHECK-NEXT:  affine.for
// CHECK-NEXT:    %[[BEFORE:.*]] = affine.load %arg1
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK:         %[[ALL:.*]] = arith.addf %[[BEFORE]], %
// CHECK-NEXT:    affine.store %[[ALL]], %arg1
module attributes {tilewright.target = "cpu:zen4"} {
func.func @columns(%in: memref<16x5x64xf32>, %out: memref<64xf32>) {
  affine.for %c = 0 to 64 {
    affine.for %i = 0 to 16 {
      affine.for %k = 0 to 5 {
        %a = affine.load %in[%i, %k, %c] : memref<16x5x64xf32>
        %b = affine.load %out[%c] : memref<64xf32>
        %s = arith.addf %b, %a : f32
        affine.store %s, %out[%c] : memref<64xf32>
      }
    }
  }
  return
}
}

// -----

// CHECK-LABEL: func.func @columns_in_order(
// CHECK:         %[[BEFORE:.*]] = affine.load %arg1
// CHECK-NEXT:    affine.load %arg0
// CHECK-NEXT:    arith.addf %[[BEFORE]]
module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "strict"} {
func.func @columns_in_order(%in: memref<16x5x64xf32>, %out: memref<64xf32>) {
  affine.for %c = 0 to 64 {
    affine.for %i = 0 to 16 {
      affine.for %k = 0 to 5 {
        %a = affine.load %in[%i, %k, %c] : memref<16x5x64xf32>
        %b = affine.load %out[%c] : memref<64xf32>
        %s = arith.addf %b, %a : f32
        affine.store %s, %out[%c] : memref<64xf32>
      }
    }
  }
  return
}
}
