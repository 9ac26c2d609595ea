// RUN: tw-opt %s --vectorize-nests --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tw-opt %s --vectorize-nests --split-input-file 2>&1 | FileCheck %s --check-prefix=REMARKS --implicit-check-not="nothing is stored"
// REMARKS: this nest stays scalar: no loop's iterations are contiguous

// A row reduction: several accumulators, one masked tail, one sum of the lanes.
// CHECK-LABEL: func.func private @rows
// CHECK:         affine.for %[[I:.*]] = 0 to 8
// CHECK:           scf.for %{{.*}} = %c0 to %c192 step %c64 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:           vector.load
// CHECK:           vector.maskedload
// CHECK:           arith.select
// CHECK:           vector.reduction <add>
// CHECK:           memref.store
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @rows(%x: memref<8x210xf32>, %s: memref<8xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 210 {
        %a = affine.load %x[%i, %j] : memref<8x210xf32>
        %b = affine.load %s[%i] : memref<8xf32>
        %c = arith.addf %b, %a : f32
        affine.store %c, %s[%i] : memref<8xf32>
      }
    }
    return
  }
}

// -----

// A column reduction keeps the order of the rows: four of them add to a vector of sums at once, the rest one by one.
// CHECK-LABEL: func.func private @columns
// CHECK:         affine.for %{{.*}} = 0 to 2
// CHECK:           scf.for
// CHECK:             vector.load %arg1
// CHECK-COUNT-4:     vector.load %arg0
// CHECK:             vector.store {{.*}}, %arg1
// CHECK:         affine.for %{{.*}} = 8 to 10
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @columns(%x: memref<10x64xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 10 {
      affine.for %j = 0 to 64 {
        %a = affine.load %x[%i, %j] : memref<10x64xf32>
        %b = affine.load %s[%j] : memref<64xf32>
        %c = arith.addf %b, %a : f32
        affine.store %c, %s[%j] : memref<64xf32>
      }
    }
    return
  }
}

// -----

// Strict floating point keeps the order of a sum; a maximum has no order.
// CHECK-LABEL: func.func private @strict
// CHECK:         affine.for
// CHECK-NOT:       vector
// CHECK:           arith.addf
// CHECK:         vector.reduction <maximumf>
module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "strict"} {
  func.func private @strict(%x: memref<64xf32>, %s: memref<f32>, %m: memref<f32>) attributes {tilewright.kernel} {
    // expected-remark @below {{this nest stays scalar: no loop's iterations are contiguous in all stores}}
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%j] : memref<64xf32>
      %b = affine.load %s[] : memref<f32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[] : memref<f32>
    }
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%j] : memref<64xf32>
      %b = affine.load %m[] : memref<f32>
      %c = arith.maximumf %b, %a : f32
      affine.store %c, %m[] : memref<f32>
    }
    return
  }
}

// -----

// Large outputs go past the caches in whole lines, after a head up to the boundary; equal shapes are one loop.
// CHECK-LABEL: func.func private @stream
// CHECK:         memref.collapse_shape
// CHECK:         memref.extract_aligned_pointer_as_index
// CHECK:         scf.if
// CHECK:           vector.maskedstore
// CHECK:         scf.for
// CHECK:           vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @stream(%x: memref<4096x4097xf32>, %y: memref<4096x4097xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 4096 {
      affine.for %j = 0 to 4097 {
        %a = affine.load %x[%i, %j] : memref<4096x4097xf32>
        %b = arith.addf %a, %a : f32
        affine.store %b, %y[%i, %j] : memref<4096x4097xf32>
      }
    }
    return
  }
}

// -----

// Mixed widths take as many lanes as the widest has; a dynamic tail is masked at run time.
// CHECK-LABEL: func.func private @convert
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} : memref<?xbf16>, vector<16xbf16>
// CHECK:           arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:         vector.create_mask
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @convert(%n: index, %x: memref<?xbf16>, %y: memref<?xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to %n {
      %a = affine.load %x[%i] : memref<?xbf16>
      %b = arith.extf %a : bf16 to f32
      affine.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}

// -----

// What a later iteration reads cannot become lanes.
// CHECK-LABEL: func.func private @recurrence
// CHECK-NOT:     vector
// CHECK:         return
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @recurrence(%x: memref<65xf32>) attributes {tilewright.kernel} {
    // expected-remark @below {{this nest stays scalar: a buffer is read and written at different places}}
    affine.for %i = 0 to 64 {
      %a = affine.load %x[%i] : memref<65xf32>
      affine.store %a, %x[%i + 1] : memref<65xf32>
    }
    return
  }
}

// -----

// A transposition: lanes run along the outer loop, whose neighbours are stored side by side; cores share its blocks.
// CHECK-LABEL: func.func private @transposition
// CHECK:         affine.parallel (%{{.*}}) = (0) to (125)
// CHECK:           affine.for %{{.*}} = 0 to 125
// CHECK:             scf.for
// CHECK:             vector.store
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 2 : i64} {
  func.func private @transposition(%x: memref<4000x2000xf32>, %y: memref<2000x4000xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 4000 {
      affine.for %j = 0 to 2000 {
        %a = affine.load %x[%i, %j] : memref<4000x2000xf32>
        %b = math.absf %a : f32
        affine.store %b, %y[%j, %i] : memref<2000x4000xf32>
      }
    }
    return
  }
}

// -----

// Rows that two passes read run on several cores, keep their scratch row private, and fetch the next row early.
// CHECK-LABEL: func.func private @row_program
// CHECK:         affine.parallel (%{{.*}}) = (0) to (3000)
// CHECK-DAG:       memref.alloca() {{.*}} : memref<f32>
// CHECK-DAG:       memref.alloca() {{.*}} : memref<1000xf32>
// CHECK:           memref.prefetch %arg0{{.*}}, read, locality<3>, data
// CHECK:           math.exp
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 2 : i64} {
  func.func private @row_program(%x: memref<3000x1000xf32>, %y: memref<3000x1000xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 3000 {
      %s = memref.alloc() : memref<f32>
      %e = memref.alloc() : memref<1000xf32>
      affine.store %zero, %s[] : memref<f32>
      affine.for %j = 0 to 1000 {
        %a = affine.load %x[%i, %j] : memref<3000x1000xf32>
        %d = math.exp %a : f32
        affine.store %d, %e[%j] : memref<1000xf32>
        %b = affine.load %s[] : memref<f32>
        %c = arith.addf %b, %d : f32
        affine.store %c, %s[] : memref<f32>
      }
      affine.for %j = 0 to 1000 {
        %a = affine.load %e[%j] : memref<1000xf32>
        %b = affine.load %s[] : memref<f32>
        %c = arith.divf %a, %b : f32
        affine.store %c, %y[%i, %j] : memref<3000x1000xf32>
      }
    }
    return
  }
}

// -----

// Rows of 8 KiB of four arrays do not fit the first cache beside the next ones, which come into the second. Three eighths
// of the last cache do not hold the arrays: a result that is only written goes past the caches, and the lines of one that
// is read again are fetched before they are written.
// CHECK-LABEL: func.func private @long_rows
// CHECK:           memref.prefetch %arg0{{.*}}, read, locality<2>, data
// CHECK:           memref.prefetch %arg1{{.*}}, read, locality<2>, data
// CHECK:           memref.prefetch %arg2{{.*}}, write, locality<2>, data
// CHECK-NOT:       memref.prefetch {{.*}}, write
// CHECK:           vector.store {{.*}}, %arg2
// CHECK-NOT:       nontemporal
// CHECK:           vector.store {{.*}}, %arg3{{.*}} {alignment = 64 : i64, nontemporal = true}
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 1 : i64} {
  func.func private @long_rows(%x0: memref<512x2048xf32>, %x1: memref<512x2048xf32>, %y: memref<512x2048xf32>, %z: memref<512x2048xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 512 {
      %s = memref.alloc() : memref<f32>
      affine.store %zero, %s[] : memref<f32>
      affine.for %j = 0 to 2048 {
        %l0 = affine.load %x0[%i, %j] : memref<512x2048xf32>
        %l1 = affine.load %x1[%i, %j] : memref<512x2048xf32>
        %t1 = arith.addf %l0, %l1 : f32
        affine.store %t1, %y[%i, %j] : memref<512x2048xf32>
        %m = arith.mulf %t1, %t1 : f32
        %b = affine.load %s[] : memref<f32>
        %c = arith.addf %b, %m : f32
        affine.store %c, %s[] : memref<f32>
      }
      affine.for %j = 0 to 2048 {
        %a = affine.load %y[%i, %j] : memref<512x2048xf32>
        %b = affine.load %s[] : memref<f32>
        %c = arith.mulf %a, %b : f32
        affine.store %c, %z[%i, %j] : memref<512x2048xf32>
      }
    }
    return
  }
}

// -----

// Vectors of half a line: two stores go past the caches side by side after a head of less than a vector, functions
// go on together, and each line of the next row is fetched once.
// CHECK-LABEL: func.func private @half_lines
// CHECK:         scf.for {{.*}} step %c32
// CHECK-COUNT-2:   memref.prefetch %arg0
// CHECK-NOT:       memref.prefetch
// CHECK-COUNT-4:   vector.load
// CHECK-COUNT-4:   math.exp
// CHECK-COUNT-4:   arith.addf
// CHECK:         arith.andi %{{.*}}, %c31
// CHECK:         scf.for {{.*}} step %c16
// CHECK-COUNT-2:   vector.store {{.*}}, %arg1{{.*}} {alignment = 32 : i64, nontemporal = true}
module attributes {tilewright.target = "cpu:x86-64-v3", tilewright.threads = 1 : i64} {
  func.func private @half_lines(%x: memref<2048x1024xf32>, %y: memref<2048x1024xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 2048 {
      %s = memref.alloc() : memref<f32>
      affine.store %zero, %s[] : memref<f32>
      affine.for %j = 0 to 1024 {
        %a = affine.load %x[%i, %j] : memref<2048x1024xf32>
        %e = math.exp %a : f32
        %b = affine.load %s[] : memref<f32>
        %c = arith.addf %b, %e : f32
        affine.store %c, %s[] : memref<f32>
      }
      affine.for %j = 0 to 1024 {
        %a = affine.load %x[%i, %j] : memref<2048x1024xf32>
        %b = affine.load %s[] : memref<f32>
        %c = arith.divf %a, %b : f32
        affine.store %c, %y[%i, %j] : memref<2048x1024xf32>
      }
    }
    return
  }
}

// -----

// A result that the second cache holds stays there, however much is read for it, and so does what the caches hold.
// CHECK-LABEL: func.func private @short_result
// CHECK-NOT:     nontemporal
// CHECK-LABEL: func.func private @small_arrays
// CHECK-NOT:     nontemporal
// CHECK:         return
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 1 : i64} {
  func.func private @short_result(%x: memref<64x65536xf32>, %y: memref<64x65536xf32>, %z: memref<65536xf32>) attributes {tilewright.kernel} {
    affine.for %j = 0 to 65536 {
      %a = affine.load %x[0, %j] : memref<64x65536xf32>
      %b = affine.load %y[0, %j] : memref<64x65536xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %z[%j] : memref<65536xf32>
    }
    return
  }
  func.func private @small_arrays(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 1024 {
      affine.for %j = 0 to 1024 {
        %a = affine.load %x[%i, %j] : memref<1024x1024xf32>
        %b = arith.mulf %a, %a : f32
        affine.store %b, %y[%i, %j] : memref<1024x1024xf32>
      }
    }
    return
  }
}

// -----

// No cache holds the arrays: lines of the next row that will be written are fetched, too, but for those of the result that
// goes past the caches.
// CHECK-LABEL: func.func private @rows_of_memory
// CHECK:           memref.prefetch %arg2{{.*}}, read, locality<2>, data
// CHECK:           memref.prefetch %arg3{{.*}}, write, locality<2>, data
// CHECK-NOT:       memref.prefetch %arg4
// CHECK:           vector.store {{.*}}, %arg4{{.*}} {alignment = 64 : i64, nontemporal = true}
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 1 : i64} {
  func.func private @rows_of_memory(%x0: memref<940x2048xf32>, %x1: memref<940x2048xf32>, %x2: memref<940x2048xf32>, %y: memref<940x2048xf32>, %z: memref<940x2048xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 940 {
      %s = memref.alloc() : memref<f32>
      affine.store %zero, %s[] : memref<f32>
      affine.for %j = 0 to 2048 {
        %l0 = affine.load %x0[%i, %j] : memref<940x2048xf32>
        %l1 = affine.load %x1[%i, %j] : memref<940x2048xf32>
        %l2 = affine.load %x2[%i, %j] : memref<940x2048xf32>
        %t1 = arith.addf %l0, %l1 : f32
        %t2 = arith.addf %t1, %l2 : f32
        affine.store %t2, %y[%i, %j] : memref<940x2048xf32>
        %m = arith.mulf %t2, %t2 : f32
        %b = affine.load %s[] : memref<f32>
        %c = arith.addf %b, %m : f32
        affine.store %c, %s[] : memref<f32>
      }
      affine.for %j = 0 to 2048 {
        %a = affine.load %y[%i, %j] : memref<940x2048xf32>
        %b = affine.load %s[] : memref<f32>
        %c = arith.mulf %a, %b : f32
        affine.store %c, %z[%i, %j] : memref<940x2048xf32>
      }
    }
    return
  }
}

// -----

// A long chain without rows is cut into ranges of whole vectors.
// CHECK-LABEL: func.func private @ranges
// CHECK:         affine.parallel (%[[T:.*]]) = (0) to (2)
// CHECK:           scf.for
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 2 : i64} {
  func.func private @ranges(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to %n {
      %a = affine.load %x[%i] : memref<?xf32>
      %b = arith.mulf %a, %a : f32
      affine.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}

// -----

// A row that all iterations read and that does not stay in the first cache: four rows at once, one load of it for them.
// CHECK-LABEL: func.func private @bias
// CHECK:         affine.for %{{.*}} = 0 to 2
// CHECK:           scf.for
// CHECK:             %[[B:.*]] = vector.load %arg1
// CHECK-COUNT-4:     vector.load %arg0
// CHECK-NOT:         vector.load %arg1
// CHECK:         affine.for %{{.*}} = 8 to 9
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @bias(%x: memref<9x8192xf32>, %b: memref<8192xf32>, %y: memref<9x8192xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 9 {
      affine.for %j = 0 to 8192 {
        %a = affine.load %x[%i, %j] : memref<9x8192xf32>
        %c = affine.load %b[%j] : memref<8192xf32>
        %s = arith.addf %a, %c : f32
        affine.store %s, %y[%i, %j] : memref<9x8192xf32>
      }
    }
    return
  }
}

// -----

// A short row stays in the first cache, and nothing comes from memory: row after row.
// CHECK-LABEL: func.func private @short_bias
// CHECK:         affine.for %{{.*}} = 0 to 9
// CHECK-NOT:     affine.for
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @short_bias(%x: memref<9x512xf32>, %b: memref<512xf32>, %y: memref<9x512xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 9 {
      affine.for %j = 0 to 512 {
        %a = affine.load %x[%i, %j] : memref<9x512xf32>
        %c = affine.load %b[%j] : memref<512xf32>
        %s = arith.addf %a, %c : f32
        affine.store %s, %y[%i, %j] : memref<9x512xf32>
      }
    }
    return
  }
}

// -----

// What comes from memory runs as four ranges at once; the streamed stores of all of them begin at a line.
// CHECK-LABEL: func.func private @large
// CHECK:         scf.for
// CHECK-COUNT-4:   vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @large(%x: memref<4096x4096xf32>, %y: memref<4096x4096xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 4096 {
      affine.for %j = 0 to 4096 {
        %a = affine.load %x[%i, %j] : memref<4096x4096xf32>
        %s = math.absf %a : f32
        affine.store %s, %y[%i, %j] : memref<4096x4096xf32>
      }
    }
    return
  }
}

// -----

// Neighbours that read the same rows run four at once: LLVM then loads each of the five rows once, and computes from it once.
// CHECK-LABEL: func.func private @rows_of_neighbours
// CHECK:         scf.for
// CHECK-COUNT-4:   vector.store
// CHECK-NOT:       vector.store
// CHECK:         }
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @rows_of_neighbours(%x: memref<17x64xf32>, %y: memref<16x64xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 64 {
        %a = affine.load %x[%i, %j] : memref<17x64xf32>
        %b = affine.load %x[%i + 1, %j] : memref<17x64xf32>
        %s = arith.addf %a, %b : f32
        affine.store %s, %y[%i, %j] : memref<16x64xf32>
      }
    }
    return
  }
}

// -----

// Every third element: three loads side by side, the last of which ends with the last element that is wanted (the 46th of 48
// in a vector's reach), and two shuffles. The masked rest is read likewise: 10 elements, of which the last is the 28th.
// CHECK-LABEL: func.func private @thirds
// CHECK-DAG:     %[[SECOND:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 30 : index
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           %[[BASE:.*]] = arith.muli %[[J]], %c3
// CHECK:           %[[A:.*]] = vector.load %arg0[%[[BASE]]]
// CHECK:           %[[AT:.*]] = arith.addi %[[BASE]], %[[SECOND]]
// CHECK:           %[[B:.*]] = vector.load %arg0[%[[AT]]]
// CHECK:           %[[AB:.*]] = vector.shuffle %[[A]], %[[B]] [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0]
// CHECK:           %[[AT:.*]] = arith.addi %[[BASE]], %[[LAST]]
// CHECK:           %[[C:.*]] = vector.load %arg0[%[[AT]]]
// CHECK:           vector.shuffle %[[AB]], %[[C]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 19, 22, 25, 28, 31]
// CHECK-NOT:     vector.gather
// CHECK:         %[[ON:.*]] = vector.constant_mask [10]
// CHECK:         %[[A:.*]] = vector.load %arg0[%{{.*}}]
// CHECK:         %[[SOME:.*]] = vector.constant_mask [12]
// CHECK:         %[[B:.*]] = vector.maskedload %arg0[%{{.*}}], %[[SOME]]
// CHECK:         vector.shuffle %[[A]], %[[B]]
// CHECK:         vector.maskedstore %arg1[%{{.*}}], %[[ON]]
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @thirds(%x: memref<318xf32>, %y: memref<106xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 106 {
      %a = affine.load %x[%i * 3] : memref<318xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %y[%i] : memref<106xf32>
    }
    return
  }
}

// -----

// Beyond a stride of four one access a lane is cheaper.
// CHECK-LABEL: func.func private @fifths
// CHECK-NOT:     vector.shuffle
// CHECK:         vector.gather
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @fifths(%x: memref<320xf32>, %y: memref<64xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 64 {
      %a = affine.load %x[%i * 5] : memref<320xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %y[%i] : memref<64xf32>
    }
    return
  }
}

// -----

// A loop that stores nothing is none that stays scalar: map-contractions leaves such where a product has no whole panel.
// CHECK-LABEL: func.func private @empty
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @empty() attributes {tilewright.kernel} {
    affine.for %i = 0 to 64 {
    }
    return
  }
}

// -----

// A transposition: squares of 16 x 16 are turned in registers, rows of x along i, rows of y along j; the lanes run over 32 of the
// 40 columns before i goes on. The last 4 of 20 rows come with the 12 before them.
// CHECK-LABEL: func.func private @turned
// CHECK:         affine.for %{{.*}} = 0 to 2
// CHECK:           affine.for %{{.*}} = 0 to 1
// CHECK:             scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c16
// CHECK-COUNT-16:      vector.load %arg0
// CHECK-COUNT-64:      vector.shuffle
// CHECK-COUNT-16:      vector.store {{.*}}, %arg1
// CHECK:             scf.if
// CHECK-COUNT-16:      vector.load %arg0
// CHECK-COUNT-16:      vector.maskedstore %arg1
// CHECK:         affine.for %{{.*}} = 0 to 2
// CHECK:           scf.for
// CHECK:             %[[T:.*]] = arith.addi %{{.*}}, %c4
// CHECK-COUNT-16:    vector.load %arg0[%{{.*}}, %[[T]]]
// CHECK-COUNT-4:     vector.store
// CHECK-NOT:         vector.store
// CHECK:           scf.if
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @turned(%x: memref<40x20xf32>, %y: memref<20x40xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 20 {
      affine.for %j = 0 to 40 {
        %a = affine.load %x[%j, %i] : memref<40x20xf32>
        affine.store %a, %y[%i, %j] : memref<20x40xf32>
      }
    }
    return
  }
}

// -----

// Of unknown sizes: whole squares, and the rest of i as it was.
// CHECK-LABEL: func.func private @turned_dynamic
// CHECK:         affine.for
// CHECK:           affine.for
// CHECK:             scf.for
// CHECK-COUNT-8:       vector.load %arg0
// CHECK-COUNT-8:       vector.store
// CHECK:         affine.for %{{.*}} = #{{.*}}()[%arg2] to %arg2
// CHECK:           affine.for
// CHECK:             affine.load
// CHECK:             affine.store
module attributes {tilewright.target = "cpu:x86-64-v3"} {
  func.func private @turned_dynamic(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %m: index, %n: index) attributes {tilewright.kernel} {
    affine.for %i = 0 to %m {
      affine.for %j = 0 to %n {
        %a = affine.load %x[%j, %i] : memref<?x?xf32>
        affine.store %a, %y[%i, %j] : memref<?x?xf32>
      }
    }
    return
  }
}

// -----

// Both taps of a window read the same two loads side by side.
// CHECK-LABEL: func.func private @pairs
// CHECK:         scf.for
// CHECK:           %[[A:.*]] = vector.load %arg0
// CHECK-NEXT:      arith.addi
// CHECK-NEXT:      %[[B:.*]] = vector.load %arg0
// CHECK-NEXT:      vector.shuffle %[[A]], %[[B]] [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK-NOT:       vector.load
// CHECK:           vector.shuffle %[[A]], %[[B]] [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT:     vector.gather
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @pairs(%x: memref<202xf32>, %y: memref<101xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 101 {
      %a = affine.load %x[%i * 2] : memref<202xf32>
      %b = affine.load %x[%i * 2 + 1] : memref<202xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %y[%i] : memref<101xf32>
    }
    return
  }
}

// -----

// Four rows on other pages are read at once. They go past the caches, so that they must begin alike within their lines: rows of
// 1030 floats do where they are eight apart, here a quarter of 1030 rounded down to it. Shorter rows that no vector ends do not go
// past the caches.
// CHECK-LABEL: func.func private @planes
// CHECK:         affine.for %{{.*}} = 0 to 64
// CHECK-NEXT:      affine.for %[[I:.*]] = 0 to 256
// CHECK-NEXT:        arith.addi %[[I]], %c256
// CHECK-NEXT:        arith.addi %[[I]], %c512
// CHECK-NEXT:        arith.addi %[[I]], %c768
// CHECK:             nontemporal
// CHECK-LABEL: func.func private @short_rows
// CHECK-NOT:     nontemporal
module attributes {tilewright.target = "cpu:granite-rapids"} {
  func.func private @planes(%x: memref<64x1032x1032xf32>, %y: memref<64x1030x1030xf32>) attributes {tilewright.kernel} {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 1030 {
        affine.for %j = 0 to 1030 {
          %a = affine.load %x[%c, %i, %j] : memref<64x1032x1032xf32>
          %b = affine.load %x[%c, %i + 1, %j] : memref<64x1032x1032xf32>
          %e = arith.maximumf %a, %b : f32
          affine.store %e, %y[%c, %i, %j] : memref<64x1030x1030xf32>
        }
      }
    }
    return
  }
  func.func private @short_rows(%x: memref<1024x112x112xf32>, %y: memref<1024x110x110xf32>) attributes {tilewright.kernel} {
    affine.for %c = 0 to 1024 {
      affine.for %i = 0 to 110 {
        affine.for %j = 0 to 110 {
          %a = affine.load %x[%c, %i, %j] : memref<1024x112x112xf32>
          %b = affine.load %x[%c, %i + 1, %j] : memref<1024x112x112xf32>
          %e = arith.maximumf %a, %b : f32
          affine.store %e, %y[%c, %i, %j] : memref<1024x110x110xf32>
        }
      }
    }
    return
  }
}

// -----

// Rows of whole vectors, shorter than a page: past the caches without a head where the array begins at a vector, else not.
// CHECK-LABEL: func.func private @whole_rows
// CHECK:         %[[OFF:.*]] = arith.minui
// CHECK-NEXT:    %[[ALIGNED:.*]] = arith.cmpi eq, %[[OFF]], %c0
// CHECK-NEXT:    scf.if %[[ALIGNED]] {
// CHECK-NOT:       masked
// CHECK:           vector.store {{.*}}, %arg1{{.*}} {alignment = 32 : i64, nontemporal = true}
// CHECK-NOT:       masked
// CHECK:         } else {
// CHECK-NOT:       nontemporal
// CHECK-NOT:       masked
// CHECK:           vector.store {{.*}}, %arg1
// CHECK-NOT:       nontemporal
// CHECK:         return
module attributes {tilewright.target = "cpu:x86-64-v3", tilewright.threads = 1 : i64} {
  func.func private @whole_rows(%x: memref<1024x114x114xf32>, %y: memref<1024x112x112xf32>) attributes {tilewright.kernel} {
    affine.for %c = 0 to 1024 {
      affine.for %i = 0 to 112 {
        affine.for %j = 0 to 112 {
          %a = affine.load %x[%c, %i + 1, %j + 1] : memref<1024x114x114xf32>
          %e = arith.addf %a, %a : f32
          affine.store %e, %y[%c, %i, %j] : memref<1024x112x112xf32>
        }
      }
    }
    return
  }
}

// -----

// Rows of sums that read one row together: four at once, and what four leave by itself. All chains together are as many as
// keep the units busy.
// CHECK-LABEL: func.func private @matvec
// CHECK:         affine.for %{{.*}} = 0 to 16
// CHECK:           scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-5:     vector.load
// CHECK-NOT:         vector.load
// CHECK-COUNT-4:   vector.reduction <add>
// CHECK:         affine.for %{{.*}} = 0 to 2
// CHECK-COUNT-1:   vector.reduction <add>
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @matvec(%x: memref<66x64xf32>, %y: memref<64xf32>, %s: memref<66xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 66 {
      affine.store %zero, %s[%i] : memref<66xf32>
      affine.for %k = 0 to 64 {
        %a = affine.load %x[%i, %k] : memref<66x64xf32>
        %b = affine.load %y[%k] : memref<64xf32>
        %c = affine.load %s[%i] : memref<66xf32>
        %p = arith.mulf %a, %b : f32
        %t = arith.addf %c, %p : f32
        affine.store %t, %s[%i] : memref<66xf32>
      }
    }
    return
  }
}

// -----

// Rows of their own that stay in a cache are summed one by one, and so are sums that read what the row before wrote.
// CHECK-LABEL: func.func private @near
// CHECK:         affine.for %{{.*}} = 0 to 64
// CHECK:         affine.for %{{.*}} = 0 to 63
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @near(%x: memref<64x64xf32>, %y: memref<64xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 64 {
      affine.store %zero, %s[%i] : memref<64xf32>
      affine.for %k = 0 to 64 {
        %a = affine.load %x[%i, %k] : memref<64x64xf32>
        %c = affine.load %s[%i] : memref<64xf32>
        %t = arith.addf %c, %a : f32
        affine.store %t, %s[%i] : memref<64xf32>
      }
    }
    affine.for %i = 1 to 64 {
      %before = affine.load %s[%i - 1] : memref<64xf32>
      affine.store %before, %s[%i] : memref<64xf32>
      affine.for %k = 0 to 64 {
        %b = affine.load %y[%k] : memref<64xf32>
        %c = affine.load %s[%i] : memref<64xf32>
        %t = arith.addf %c, %b : f32
        affine.store %t, %s[%i] : memref<64xf32>
      }
    }
    return
  }
}

// -----

// Sums in their order are no lanes, so their rows stay as they are.
// CHECK-LABEL: func.func private @strict
// CHECK:         affine.for %{{.*}} = 0 to 64
module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "strict"} {
  func.func private @strict(%x: memref<64x64xf32>, %y: memref<64xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 64 {
      affine.store %zero, %s[%i] : memref<64xf32>
      // expected-remark @below {{this nest stays scalar: no loop's iterations are contiguous in all stores}}
      affine.for %k = 0 to 64 {
        %a = affine.load %x[%i, %k] : memref<64x64xf32>
        %b = affine.load %y[%k] : memref<64xf32>
        %c = affine.load %s[%i] : memref<64xf32>
        %p = arith.mulf %a, %b : f32
        %t = arith.addf %c, %p : f32
        affine.store %t, %s[%i] : memref<64xf32>
      }
    }
    return
  }
}

// -----

// Arguments of bools are accessed as bytes, of which vectors are made.
// CHECK-LABEL: func.func private @bools
// CHECK-SAME:    (%[[P:.*]]: memref<64xi1>, %[[X:.*]]: memref<64xf32>, %[[Q:.*]]: memref<64xi1>)
// CHECK-DAG:     %[[IN:.*]] = builtin.unrealized_conversion_cast %[[P]] : memref<64xi1> to memref<64xi8>
// CHECK-DAG:     %[[OUT:.*]] = builtin.unrealized_conversion_cast %[[Q]] : memref<64xi1> to memref<64xi8>
// CHECK:         %[[B:.*]] = vector.load %[[IN]][%{{.*}}] : memref<64xi8>, vector<16xi8>
// CHECK:         %[[M:.*]] = arith.cmpi ne, %[[B]], %{{.*}} : vector<16xi8>
// CHECK:         %[[N:.*]] = arith.andi %[[M]], %{{.*}} : vector<16xi1>
// CHECK:         %[[W:.*]] = arith.extui %[[N]] : vector<16xi1> to vector<16xi8>
// CHECK:         vector.store %[[W]], %[[OUT]]
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @bools(%p: memref<64xi1>, %x: memref<64xf32>, %q: memref<64xi1>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 64 {
      %a = affine.load %p[%i] : memref<64xi1>
      %v = affine.load %x[%i] : memref<64xf32>
      %c = arith.cmpf ogt, %v, %zero : f32
      %b = arith.andi %a, %c : i1
      affine.store %b, %q[%i] : memref<64xi1>
    }
    return
  }
}

// -----

// No instruction gathers bytes: each lane would be a load and an insertion, more than a load and a store.
// CHECK-LABEL: func.func private @byte_fifths
// CHECK-NOT:     vector.gather
// CHECK:         affine.load
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @byte_fifths(%x: memref<320xi8>, %y: memref<64xi8>) attributes {tilewright.kernel} {
    // expected-remark @below {{this nest stays scalar: strided accesses would cost more than the vectors save}}
    affine.for %i = 0 to 64 {
      %a = affine.load %x[%i * 5] : memref<320xi8>
      affine.store %a, %y[%i] : memref<64xi8>
    }
    return
  }
}

// -----

// A number of iterations that is data: what it is for the first lane, and what it grows by from lane to lane.
// CHECK-LABEL: func.func private @numbers
// CHECK-DAG:     %[[FAR:.*]] = arith.constant dense<[0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45]> : vector<16xindex>
// CHECK:         affine.for
// CHECK:           vector.broadcast %{{.*}} : index to vector<16xindex>
// CHECK:           arith.addi %{{.*}}, %[[FAR]] : vector<16xindex>
// CHECK:           arith.cmpi sle, %{{.*}} : vector<16xindex>
// CHECK:           arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @numbers(%x: memref<9x64xf32>, %y: memref<9x64xf32>) attributes {tilewright.kernel} {
    %none = arith.constant 0xFF800000 : f32
    affine.for %i = 0 to 9 {
      affine.for %j = 0 to 64 {
        %a = affine.load %x[%i, %j] : memref<9x64xf32>
        %n = affine.apply affine_map<(d0, d1) -> (d0 * 3 + d1 * 64)>(%j, %i)
        %m = affine.apply affine_map<(d0) -> (d0 * 7 + 1)>(%i)
        %c = arith.cmpi sle, %n, %m : index
        %s = arith.select %c, %a, %none : f32
        affine.store %s, %y[%i, %j] : memref<9x64xf32>
      }
    }
    return
  }
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @remainders(%x: memref<9x64xf32>, %y: memref<9x64xf32>) attributes {tilewright.kernel} {
    %none = arith.constant 0xFF800000 : f32
    // expected-remark @below {{this nest stays scalar: an index expression that is used as data is not linear in the loop of the vectors}}
    affine.for %i = 0 to 9 {
      affine.for %j = 0 to 64 {
        %a = affine.load %x[%i, %j] : memref<9x64xf32>
        %n = affine.apply affine_map<(d0) -> (d0 mod 3)>(%j)
        %c = arith.cmpi sle, %n, %i : index
        %s = arith.select %c, %a, %none : f32
        affine.store %s, %y[%i, %j] : memref<9x64xf32>
      }
    }
    return
  }
}

// -----

// Neighbours that share rows go on together, and what all of them read is loaded once for them: four, and the two that
// are left over. A pass over all of them reads more than stays near, so columns are taken in three equal blocks.
// CHECK-LABEL: func.func private @shared_by_neighbours
// CHECK:         affine.for %[[BLOCK:.*]] = 0 to 3 {
// CHECK:           %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %c256
// CHECK:           affine.for %{{.*}} = 0 to 3 {
// CHECK:             %[[END:.*]] = arith.addi %[[BEGIN]], %c256
// CHECK:             scf.for %[[C:.*]] = %[[BEGIN]] to %[[END]] step %c8
// CHECK-COUNT-4:       vector.load %arg0[{{.*}}, %[[C]]]
// CHECK-NEXT:          vector.load %arg1[%c0, %[[C]]]
// CHECK-COUNT-4:       arith.mulf
// CHECK-NEXT:          arith.addi
// CHECK-NEXT:          vector.load %arg0[{{.*}}, %[[C]]]
// CHECK-NEXT:          vector.load %arg1[%c1, %[[C]]]
// CHECK-COUNT-4:       arith.mulf
// CHECK-COUNT-4:       arith.addf
// CHECK-COUNT-4:       vector.store
// CHECK-NOT:         vector.maskedstore
// CHECK:           affine.for %{{.*}} = 0 to 1 {
// CHECK-COUNT-2:       vector.store
// CHECK-NOT:         vector.store
// CHECK:           return
module attributes {tilewright.target = "cpu:x86-64-v3"} {
  func.func private @shared_by_neighbours(%x: memref<16x768xf32>, %w: memref<3x768xf32>, %y: memref<14x768xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 14 {
      affine.for %c = 0 to 768 {
        %a = affine.load %x[%i, %c] : memref<16x768xf32>
        %u = affine.load %w[0, %c] : memref<3x768xf32>
        %p = arith.mulf %a, %u : f32
        %b = affine.load %x[%i + 1, %c] : memref<16x768xf32>
        %v = affine.load %w[1, %c] : memref<3x768xf32>
        %q = arith.mulf %b, %v : f32
        %s = arith.addf %p, %q : f32
        affine.store %s, %y[%i, %c] : memref<14x768xf32>
      }
    }
    return
  }
}

// -----

// Neighbours of a lane lie in its lines: three taps beside each other keep an image near as one does, so that no blocks of
// lanes walk all images again.
// CHECK-LABEL: func.func private @window
// CHECK:         affine.for %{{.*}} = 0 to 256
// CHECK-NEXT:      affine.for %{{.*}} = 0 to 15
module attributes {tilewright.target = "cpu:granite-rapids"} {
  func.func private @window(%x: memref<256x64x64xf32>, %y: memref<256x62x62xf32>) attributes {tilewright.kernel} {
    affine.for %c = 0 to 256 {
      affine.for %i = 0 to 62 {
        affine.for %j = 0 to 62 {
          %x0 = affine.load %x[%c, %i, %j] : memref<256x64x64xf32>
          %x1 = affine.load %x[%c, %i, %j + 1] : memref<256x64x64xf32>
          %x2 = affine.load %x[%c, %i, %j + 2] : memref<256x64x64xf32>
          %x3 = affine.load %x[%c, %i + 1, %j] : memref<256x64x64xf32>
          %x4 = affine.load %x[%c, %i + 1, %j + 1] : memref<256x64x64xf32>
          %x5 = affine.load %x[%c, %i + 1, %j + 2] : memref<256x64x64xf32>
          %x6 = affine.load %x[%c, %i + 2, %j] : memref<256x64x64xf32>
          %x7 = affine.load %x[%c, %i + 2, %j + 1] : memref<256x64x64xf32>
          %x8 = affine.load %x[%c, %i + 2, %j + 2] : memref<256x64x64xf32>
          %t1 = arith.addf %x0, %x1 : f32
          %t2 = arith.addf %t1, %x2 : f32
          %t3 = arith.addf %t2, %x3 : f32
          %t4 = arith.addf %t3, %x4 : f32
          %t5 = arith.addf %t4, %x5 : f32
          %t6 = arith.addf %t5, %x6 : f32
          %t7 = arith.addf %t6, %x7 : f32
          %t8 = arith.addf %t7, %x8 : f32
          affine.store %t8, %y[%c, %i, %j] : memref<256x62x62xf32>
        }
      }
    }
    return
  }
}

// -----

// Both borders of an array are stored together: two rows from 0 and two from 16 on never meet, nor do even rows and odd ones. Rows i
// and i + 1 do.
// CHECK-LABEL: func.func private @borders
// CHECK-COUNT-4: vector.store
// CHECK-NOT:     affine.store
// CHECK-LABEL: func.func private @neighbours
// CHECK:         affine.store
module attributes {tilewright.target = "cpu:x86-64-v3"} {
  func.func private @borders(%x: memref<18x64xf32>, %y: memref<18x64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 2 {
      affine.for %c = 0 to 64 {
        affine.store %zero, %x[%i, %c] : memref<18x64xf32>
        affine.store %zero, %x[%i + 16, %c] : memref<18x64xf32>
      }
    }
    affine.for %i = 0 to 9 {
      affine.for %c = 0 to 64 {
        affine.store %zero, %y[2 * %i, %c] : memref<18x64xf32>
        affine.store %zero, %y[2 * %i + 1, %c] : memref<18x64xf32>
      }
    }
    return
  }
  func.func private @neighbours(%x: memref<18x64xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    // expected-remark @+1 {{this nest stays scalar: a buffer is stored twice}}
    affine.for %i = 0 to 17 {
      affine.for %c = 0 to 64 {
        affine.store %zero, %x[%i, %c] : memref<18x64xf32>
        affine.store %one, %x[%i + 1, %c] : memref<18x64xf32>
      }
    }
    return
  }
}

// -----

// What is left of a row is a shorter vector where it is a power of two, else a masked one.
// CHECK-LABEL: func.func private @rest
// CHECK-NOT:     vector.mask
// CHECK:         vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK:         vector.store %{{.*}}, %{{.*}} : memref<28xf32>, vector<4xf32>
// CHECK:         vector.maskedstore %{{.*}} : memref<30xf32>, vector<8xi1>, vector<8xf32>
module attributes {tilewright.target = "cpu:x86-64-v3"} {
  func.func private @rest(%x: memref<28xf32>, %y: memref<30xf32>, %w: memref<1xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 28 {
      %a = affine.load %x[%i] : memref<28xf32>
      %k = affine.load %w[0] : memref<1xf32>
      %s = arith.mulf %a, %k : f32
      affine.store %s, %x[%i] : memref<28xf32>
    }
    affine.for %i = 0 to 30 {
      %a = affine.load %y[%i] : memref<30xf32>
      %k = affine.load %w[0] : memref<1xf32>
      %s = arith.mulf %a, %k : f32
      affine.store %s, %y[%i] : memref<30xf32>
    }
    return
  }
}

// -----

// Sums over a loop of 65, four steps of which are added pairwise, in rows of 28: three vectors and a shorter one.
// CHECK-LABEL: func.func private @short_rest_of_sums
// CHECK:         vector.load %arg1{{.*}} vector<8xf32>
// CHECK-NEXT:    %[[A:.*]] = vector.load %arg0{{.*}} vector<8xf32>
// CHECK-NEXT:    %[[B:.*]] = vector.load %arg0{{.*}} vector<8xf32>
// CHECK-NEXT:    %[[C:.*]] = vector.load %arg0{{.*}} vector<8xf32>
// CHECK-NEXT:    %[[D:.*]] = vector.load %arg0{{.*}} vector<8xf32>
// CHECK-NEXT:    %[[AB:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:    %[[CD:.*]] = arith.addf %[[C]], %[[D]]
// CHECK-NEXT:    arith.addf %[[AB]], %[[CD]]
// CHECK:         %[[BEFORE:.*]] = vector.load %arg1{{.*}} vector<4xf32>
// CHECK:         %[[LAST:.*]] = arith.addf %[[BEFORE]], {{.*}} vector<4xf32>
// CHECK-NEXT:    vector.store %[[LAST]], %arg1{{.*}} vector<4xf32>
module attributes {tilewright.target = "cpu:x86-64-v3", tilewright.threads = 1 : i64} {
  func.func private @short_rest_of_sums(%x: memref<72x65x28xf32>, %y: memref<72x28xf32>) attributes {tilewright.kernel} {
    affine.for %c = 0 to 72 {
      affine.for %k = 0 to 65 {
        affine.for %j = 0 to 28 {
          %a = affine.load %x[%c, %k, %j] : memref<72x65x28xf32>
          %s = affine.load %y[%c, %j] : memref<72x28xf32>
          %t = arith.addf %s, %a : f32
          affine.store %t, %y[%c, %j] : memref<72x28xf32>
        }
      }
    }
    return
  }
}

// -----

// A row of a sum of 10000 elements: two blocks of 64 steps of 64 elements, whose sums are added, and what is left. A maximum has no
// blocks, since nothing is rounded.
// CHECK-LABEL: func.func private @blocks
// CHECK:         %[[TOTAL:.*]] = scf.for %[[B:.*]] = %{{.*}} to %c8192 step %c4096 iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>) {
// CHECK:           %[[END:.*]] = arith.addi %[[B]], %c4096
// CHECK:           scf.for %{{.*}} = %[[B]] to %[[END]] step %c64 {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : vector<16xf32>
// CHECK-NEXT:      scf.yield %[[NEXT]]
// CHECK:         scf.for %{{.*}} = %c8192 to %{{.*}} step %c64 iter_args(%{{.*}} = %[[TOTAL]],
// CHECK-LABEL: func.func private @no_blocks
// CHECK-NOT:     %c4096
// CHECK:         return
module attributes {tilewright.target = "cpu:zen4", tilewright.threads = 1 : i64} {
  func.func private @blocks(%x: memref<3x10000xf32>, %s: memref<3xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 3 {
      affine.for %j = 0 to 10000 {
        %a = affine.load %x[%i, %j] : memref<3x10000xf32>
        %b = affine.load %s[%i] : memref<3xf32>
        %c = arith.addf %b, %a : f32
        affine.store %c, %s[%i] : memref<3xf32>
      }
    }
    return
  }
  func.func private @no_blocks(%x: memref<3x10000xf32>, %s: memref<3xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 3 {
      affine.for %j = 0 to 10000 {
        %a = affine.load %x[%i, %j] : memref<3x10000xf32>
        %b = affine.load %s[%i] : memref<3xf32>
        %c = arith.maximumf %b, %a : f32
        affine.store %c, %s[%i] : memref<3xf32>
      }
    }
    return
  }
}
