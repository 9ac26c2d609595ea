// RUN: tw-opt %s -split-input-file -tile-and-fuse -verify-diagnostics | FileCheck %s

// Row sums of exponentials at the maximum, and their products with v, in steps of 8 of 20 iterations: two whole steps in a
// loop, and one of 4 after it. States at an old maximum are multiplied by exp(old - new), which is 0 while no term was
// above -inf; the array of exponentials has the size of a step.
// CHECK-LABEL: func.func @exponentials
// CHECK: tile.parallel
// CHECK-DAG: %[[P:.*]] = memref.alloc() {{.*}} : memref<4x8xf32>
// CHECK: affine.for %[[STEP:.*]] = 0 to 2 {
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[M:.*]] = affine.load %[[MS:.*]][%[[I]]]
// CHECK-NEXT: affine.store %[[M]], %[[OLD:.*]][%[[I]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 8 {
// CHECK-NEXT:   %{{.*}} = affine.load %arg0[%[[I]], %[[J]] + %[[STEP]] * 8]
// CHECK:        arith.maximumf
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[M:.*]] = affine.load %[[MS]][%[[I]]]
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ogt, %[[M]], %{{.*}}
// CHECK-NEXT: %[[SAFE:.*]] = arith.select %[[ABOVE]], %[[M]], %{{.*}}
// CHECK-NEXT: affine.store %[[SAFE]], %[[BASE:.*]][%[[I]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[FROM:.*]] = affine.load %[[OLD]][%[[I]]]
// CHECK-NEXT: %[[TO:.*]] = affine.load %[[BASE]][%[[I]]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[FROM]], %[[TO]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]] : f32
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ogt, %[[FROM]], %{{.*}}
// CHECK-NEXT: %[[C:.*]] = arith.select %[[ABOVE]], %[[E]], %{{.*}}
// CHECK-NEXT: affine.store %[[C]], %[[CORR:.*]][%[[I]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 8 {
// CHECK-NEXT:   %[[X:.*]] = affine.load %arg0[%[[I]], %[[J]] + %[[STEP]] * 8]
// CHECK-NEXT:   %[[B:.*]] = affine.load %[[BASE]][%[[I]]]
// CHECK-NEXT:   %[[Y:.*]] = arith.subf %[[X]], %[[B]]
// CHECK-NEXT:   %{{.*}} = math.exp %[[Y]] fastmath<afn> : f32
// CHECK-NEXT:   affine.store %{{.*}}, %[[P]][%[[I]], %[[J]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[L:.*]] = affine.load %[[LS:.*]][%[[I]]]
// CHECK-NEXT: %[[C:.*]] = affine.load %[[CORR]][%[[I]]]
// CHECK-NEXT: %{{.*}} = arith.mulf %[[L]], %[[C]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 8 {
// CHECK:        affine.load %[[P]][%[[I]], %[[J]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[N:.*]] = 0 to 6 {
// CHECK:        affine.load %[[CORR]][%[[I]]]
// CHECK:   affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[N:.*]] = 0 to 6 {
// CHECK-NEXT:   affine.for %[[J:.*]] = 0 to 8 {
// CHECK:          affine.load %[[P]][%[[I]], %[[J]]]
// CHECK:          affine.load %arg1[%[[J]] + %[[STEP]] * 8, %[[N]]]
// CHECK: } {tile.at = -2 : i64}
// CHECK: affine.load %arg0[%{{.*}}, %{{.*}} + 16]
// CHECK: arith.maximumf
// CHECK: affine.load %arg1[%{{.*}} + 16, %{{.*}}]
// CHECK: affine.store %{{.*}}, %arg2
// CHECK: math.exp
// CHECK: arith.divf
func.func @exponentials(%x: memref<4x20xf32>, %v: memref<20x6xf32>, %o: memref<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  %p = memref.alloc() : memref<4x20xf32>
  %l = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %least, %m[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 8, step = 8>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %m[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %x[%i, %j] : memref<4x20xf32>
      %b = affine.load %m[%i] : memref<4xf32>
      %c = arith.subf %a, %b : f32
      %d = math.exp %c : f32
      affine.store %d, %p[%i, %j] : memref<4x20xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %l[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %l[%i] : memref<4xf32>
      %b = affine.load %p[%i, %j] : memref<4x20xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %l[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 6 {
      affine.store %zero, %o[%i, %n] : memref<4x6xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 6 {
      affine.for %j = 0 to 20 {
        %a = affine.load %p[%i, %j] : memref<4x20xf32>
        %b = affine.load %v[%j, %n] : memref<20x6xf32>
        %c = affine.load %o[%i, %n] : memref<4x6xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %n] : memref<4x6xf32>
      }
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %n = 0 to 6 {
      %a = affine.load %o[%i, %n] : memref<4x6xf32>
      %b = affine.load %l[%i] : memref<4xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %n] : memref<4x6xf32>
    }
  }
  return
}

// -----

// The sum of the distances from a result would need the result: more states than any number.
func.func @distances(%x: memref<4x20xf32>, %d: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4xf32>
  // expected-error @below {{the schedule computes reductions in steps, but math.absf of what depends on a result of another reduction in a0[i] = addf over j of absf((a1[i, j] - a2[i]))}}
  affine.for %i = 0 to 4 {
    affine.store %zero, %s[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 4, step = 8>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %s[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %d[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %d[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = affine.load %s[%i] : memref<4xf32>
      %e = arith.subf %b, %c : f32
      %f = math.absf %e : f32
      %g = arith.addf %a, %f : f32
      affine.store %g, %d[%i] : memref<4xf32>
    }
  }
  return
}

// -----

// A result for each iteration of the common dimension needs a second pass over it.
func.func @scaled_rows(%x: memref<4x20xf32>, %y: memref<4x20xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4xf32>
  // expected-error @below {{what each iteration of the common loop computes is a result, so that it would need a second pass: a0[i, j] = (a1[i, j] / a2[i])}}
  affine.for %i = 0 to 4 {
    affine.store %zero, %s[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 5, step = 8>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %s[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = affine.load %s[%i] : memref<4xf32>
      %d = arith.divf %b, %c : f32
      affine.store %d, %y[%i, %j] : memref<4x20xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %o[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %y[%i, %j] : memref<4x20xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i] : memref<4xf32>
    }
  }
  return
}

// -----

module attributes {tilewright.fp = "strict"} {
// A factor of a sum's terms may leave the sum where sums may be reordered only.
func.func @strict(%x: memref<4x20xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4xf32>
  // expected-error @below {{--fp=strict keeps each sum as it is written: a0[i] = addf over j of (a1[i, j] / a2[i])}}
  affine.for %i = 0 to 4 {
    affine.store %zero, %s[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 4, step = 8>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %s[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %o[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 20 {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x20xf32>
      %c = affine.load %s[%i] : memref<4xf32>
      %d = arith.divf %b, %c : f32
      %e = arith.addf %a, %d : f32
      affine.store %e, %o[%i] : memref<4xf32>
    }
  }
  return
}
}

// -----

// Of any number of iterations: whole steps, and a last one of what is left.
// CHECK-DAG: #[[LEFT:.*]] = affine_map<()[s0] -> (8, s0 mod 8)>
// CHECK-DAG: #[[WHOLE:.*]] = affine_map<()[s0] -> (s0 floordiv 8)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<()[s0] -> (s0 ceildiv 8, s0 floordiv 8 + 1)>
// CHECK-LABEL: func.func @any_number
// CHECK:         %[[FEWER:.*]] = affine.min #[[LEFT]]()[%[[N:.*]]]
// CHECK:         affine.for %[[T:.*]] = 0 to #[[WHOLE]]()[%[[N]]] {
// CHECK:           affine.for %[[J:.*]] = 0 to 8 {
// CHECK:             affine.load %arg0[%{{.*}}, %[[J]] + %[[T]] * 8]
// CHECK:         affine.for %[[T:.*]] = #[[WHOLE]]()[%[[N]]] to min #[[LAST]]()[%[[N]]] {
// CHECK:           affine.for %[[J:.*]] = 0 to %[[FEWER]] {
// CHECK:             affine.load %arg0[%{{.*}}, %[[J]] + %[[T]] * 8]
func.func @any_number(%x: memref<4x?xf32>, %o: memref<4xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %ninf, %m[%i] : memref<4xf32>
  } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 4, step = 8>}
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to %n {
      %a = affine.load %m[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x?xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.store %zero, %o[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to %n {
      %a = affine.load %o[%i] : memref<4xf32>
      %b = affine.load %x[%i, %j] : memref<4x?xf32>
      %c = affine.load %m[%i] : memref<4xf32>
      %d = arith.subf %b, %c : f32
      %e = math.exp %d : f32
      %f = arith.addf %a, %e : f32
      affine.store %f, %o[%i] : memref<4xf32>
    }
  }
  return
}

// -----

// The exponents are an array of their own, which another sum reads, too: steps compute them at the base.
// CHECK-LABEL: func.func @named_exponents
// CHECK:        arith.maximumf
// CHECK:        arith.mulf
// CHECK:        %[[X:.*]] = affine.load %arg0
// CHECK-NEXT:   %[[B:.*]] = affine.load %[[BASE:.*]][%{{.*}}]
// CHECK-NEXT:   %[[D:.*]] = arith.subf %[[X]], %[[B]]
// CHECK-NEXT:   %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT:   arith.addf %{{.*}}, %[[E]]
func.func @named_exponents(%x: memref<4x8xf32>, %t: memref<4xi64>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4xf32>
  %d = memref.alloc() : memref<4x8xf32>
  %l = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 { affine.store %none, %m[%i] : memref<4xf32> } {tile.schedule = #tile.schedule<level = "grid", members = 1, ops = 7, step = 4>}
  affine.for %i = 0 to 4 { affine.for %j = 0 to 8 {
    %a = affine.load %m[%i] : memref<4xf32>
    %b = affine.load %x[%i, %j] : memref<4x8xf32>
    %c = arith.maximumf %a, %b : f32
    affine.store %c, %m[%i] : memref<4xf32>
  } }
  affine.for %i = 0 to 4 { affine.for %j = 0 to 8 {
    %a = affine.load %x[%i, %j] : memref<4x8xf32>
    %b = affine.load %m[%i] : memref<4xf32>
    %c = arith.subf %a, %b : f32
    affine.store %c, %d[%i, %j] : memref<4x8xf32>
  } }
  affine.for %i = 0 to 4 { affine.store %zero, %l[%i] : memref<4xf32> }
  affine.for %i = 0 to 4 { affine.for %j = 0 to 8 {
    %a = affine.load %l[%i] : memref<4xf32>
    %b = affine.load %d[%i, %j] : memref<4x8xf32>
    %c = math.exp %b : f32
    %e = arith.addf %a, %c : f32
    affine.store %e, %l[%i] : memref<4xf32>
  } }
  affine.for %i = 0 to 4 { affine.store %zero, %o[%i] : memref<4xf32> }
  affine.for %i = 0 to 4 { affine.for %j = 0 to 8 {
    %a = affine.load %o[%i] : memref<4xf32>
    %b = affine.load %d[%i, %j] : memref<4x8xf32>
    %c = affine.load %t[%i] : memref<4xi64>
    %e = arith.index_cast %j : index to i64
    %f = arith.cmpi eq, %e, %c : i64
    %g = arith.select %f, %b, %zero : f32
    %h = arith.addf %a, %g : f32
    affine.store %h, %o[%i] : memref<4xf32>
  } }
  return
}
