// RUN: tw-opt %s --check-operand-sizes --split-input-file --verify-diagnostics | FileCheck %s

// Without the attribute nothing changes.

// CHECK-LABEL: func.func @unchecked
// CHECK-NEXT:    arith.index_cast
// CHECK-NEXT:    tensor.extract
func.func @unchecked(%t: tensor<50xf32>, %i: i64) -> f32 {
  %k = arith.index_cast %i : i64 to index
  %x = tensor.extract %t[%k] : tensor<50xf32>
  return %x : f32
}

// -----

// The code of all indices is a reduction over the loop that the index depends on alone; the access is clamped; the comparison stands at
// the end.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[CODE:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%arg1 : tensor<?xi64>)
// CHECK:           arith.cmpi slt
// CHECK:           arith.cmpi sge
// CHECK:           arith.maxui
// CHECK:         %[[C:.*]] = tensor.extract %[[CODE]][]
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
// CHECK:           %[[MIN:.*]] = arith.minsi
// CHECK:           %[[K:.*]] = arith.maxsi %[[MIN]]
// CHECK:           tensor.extract %arg0[%[[K]],
// CHECK:         %[[N:.*]] = arith.index_cast %[[C]] : i64 to index
// CHECK:         tile.require_size %[[N]], %c50{{[^ ]*}} {tilewright.bad_index, tilewright.message = "{{.*}}check-operand-sizes-indices.mlir:{{[0-9]+}}:{{[0-9]+}}: index {index} is outside of dimension 0 of argument 0 (tensor<50x16xf32>), whose extent is {extent}"}
// CHECK-NEXT:    return
module attributes {tilewright.check_indices} {
func.func @rows(%table: tensor<50x16xf32>, %ids: tensor<?xi64>, %e: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<?xi64>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %col = linalg.index 1 : index
    %x = tensor.extract %table[%row, %col] : tensor<50x16xf32>
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}
}

// -----

// Where the extent may be 0 the comparison comes before the access.

// CHECK-LABEL: func.func @any_rows
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction"]}
// CHECK:         tile.require_size {{.*}}tilewright.bad_index
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]}
module attributes {tilewright.check_indices} {
func.func @any_rows(%table: tensor<?xf32>, %ids: tensor<8xi32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<8xi32>) outs(%e : tensor<8xf32>) {
  ^bb0(%id: i32, %out: f32):
    %row = arith.index_cast %id : i32 to index
    %x = tensor.extract %table[%row] : tensor<?xf32>
    linalg.yield %x : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
}

// -----

// A loop collects the code in an array. What the program clamps itself, counts or computes from sizes is left alone.

// CHECK-LABEL: func.func @loop
// CHECK:         %[[CODES:.*]] = memref.alloc() : memref<1xi64>
// CHECK:         linalg.fill {{.*}} outs(%[[CODES]] : memref<1xi64>)
// CHECK:         scf.for
// CHECK:           memref.load %[[CODES]]
// CHECK:           arith.maxui
// CHECK:           memref.store %{{.*}}, %[[CODES]]
// CHECK:           tensor.insert
// CHECK-NOT:       memref
// CHECK:           scf.yield
// CHECK:         memref.load %[[CODES]]
// CHECK:         tile.require_size
// CHECK-NEXT:    return
module attributes {tilewright.check_indices} {
func.func @loop(%a: tensor<20xf32>, %at: tensor<7xi32>) -> tensor<20xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0 : i32
  %last = arith.constant 19 : i32
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%state = %a) -> tensor<20xf32> {
    %k = tensor.extract %at[%i] : tensor<7xi32>
    %p = arith.index_cast %k : i32 to index
    %one = arith.constant 1.0 : f32
    %next = tensor.insert %one into %state[%p] : tensor<20xf32>
    %low = arith.maxsi %k, %zero : i32
    %own = arith.minsi %low, %last : i32
    %q = arith.index_cast %own : i32 to index
    %then = tensor.insert %one into %next[%q] : tensor<20xf32>
    scf.yield %then : tensor<20xf32>
  }
  return %r : tensor<20xf32>
}
}

// -----

// From what several threads run at once a call cannot be left.

module attributes {tilewright.check_indices} {
func.func @parallel(%a: memref<20xf32>, %at: memref<7xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c7) step (%c1) {
    %p = memref.load %at[%i] : memref<7xindex>
    // expected-error @+1 {{--check-indices finds an index made of data inside of 'scf.parallel', from which a call cannot be left}}
    memref.store %one, %a[%p] : memref<20xf32>
  }
  return
}
}
