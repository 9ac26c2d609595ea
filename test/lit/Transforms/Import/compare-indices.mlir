// RUN: tw-opt %s --compare-indices --split-input-file | FileCheck %s
// RUN: tw-opt %s --compare-indices="writes=false" --split-input-file | FileCheck %s --check-prefix=READS

#row = affine_map<(i) -> (i)>
#both = affine_map<(i, j) -> (i, j)>

// A maximum passes over the columns of the array.

// READS-LABEL: func.func @row_element
// READS:         linalg.generic {{{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0, %{{.*}} : tensor<8x512xf32>, tensor<8xi64>)

// CHECK-LABEL: func.func @row_element
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<8xi64>) outs(%{{.*}} : tensor<8xi64>)
// CHECK:           arith.maxsi
// CHECK:         %[[Y:.*]] = linalg.generic {{{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0, %[[T]] : tensor<8x512xf32>, tensor<8xi64>)
// CHECK:         ^bb0(%[[X:.*]]: f32, %[[AT:.*]]: i64, %[[SUM:.*]]: f32):
// CHECK:           %[[J:.*]] = linalg.index 1
// CHECK:           %[[K:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %[[K]], %[[AT]] : i64
// CHECK:           %[[E:.*]] = arith.select %[[IS]], %[[X]], %{{.*}} : f32
// CHECK:           arith.addf %[[SUM]], %[[E]] : f32
// CHECK:         linalg.generic {{.*}} ins(%arg1, %[[Y]] : tensor<8xi64>, tensor<8xf32>)
// CHECK:           arith.negf
func.func @row_element(%x: tensor<8x512xf32>, %t: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0 : i64
  %none = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %nones = linalg.fill ins(%none : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x512xf32>) outs(%nones : tensor<8xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.maximumf %1, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%t : tensor<8xi64>) outs(%empty : tensor<8xf32>) {
  ^bb0(%0: i64, %1: f32):
    %i = linalg.index 0 : index
    %2 = arith.maxsi %0, %zero : i64
    %3 = arith.index_cast %2 : i64 to index
    %4 = tensor.extract %x[%i, %3] : tensor<8x512xf32>
    %5 = arith.negf %4 : f32
    linalg.yield %5 : f32
  } -> tensor<8xf32>
  return %m, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// Nothing passes over the rows of a table: one element is one read.

// CHECK-LABEL: func.func @table
// CHECK:         tensor.extract
// CHECK-NOT:     reduction
func.func @table(%x: tensor<512x16xf32>, %t: tensor<8xi64>) -> tensor<8x16xf32> {
  %empty = tensor.empty() : tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<8xi64>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%0: i64, %1: f32):
    %j = linalg.index 1 : index
    %2 = arith.index_cast %0 : i64 to index
    %3 = tensor.extract %x[%2, %j] : tensor<512x16xf32>
    linalg.yield %3 : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

#both = affine_map<(i, j) -> (i, j)>

// One write into each row of an array that is computed as a whole.

// READS-LABEL: func.func @one_hot
// READS:         scf.for

// CHECK-LABEL: func.func @one_hot
// CHECK-NOT:     scf.for
// CHECK:         linalg.generic {{{.*}}iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<8x512xf32>, tensor<8xi64>)
// CHECK:           arith.cmpi eq
// CHECK:           arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
func.func @one_hot(%t: tensor<8xi64>) -> tensor<8x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant -1.0 : f32
  %empty = tensor.empty() : tensor<8x512xf32>
  %zeros = linalg.generic {indexing_maps = [#both], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<8x512xf32>) {
  ^bb0(%0: f32):
    linalg.yield %zero : f32
  } -> tensor<8x512xf32>
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zeros) -> tensor<8x512xf32> {
    %0 = tensor.extract %t[%i] : tensor<8xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = tensor.insert %one into %a[%i, %1] : tensor<8x512xf32>
    scf.yield %2 : tensor<8x512xf32>
  }
  %y = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<8x512xf32>) outs(%empty : tensor<8x512xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.negf %0 : f32
    linalg.yield %2 : f32
  } -> tensor<8x512xf32>
  return %y : tensor<8x512xf32>
}
