// RUN: tw-opt %s -map-contractions=force=split=rows,lanes_on=n -canonicalize | FileCheck %s --check-prefix=ROWS
// RUN: tw-opt %s -map-contractions=force=split=lanes,split_piece=512 -canonicalize | FileCheck %s --check-prefix=LANES
// RUN: tw-opt %s -map-contractions=force=split=lanes,split_piece=500 -canonicalize | FileCheck %s --check-prefix=EVEN

// Cores share a dimension of the result; each plans its part. Pieces that divide the size run the same code.
// ROWS:      affine.parallel (%[[CORE:.*]]) = (0) to (2)
// ROWS:      tile.load %arg0[{{.*}}%[[CORE]] * 50
// ROWS:      tile.store {{.*}}, %arg2[{{.*}}%[[CORE]] * 50

// A smaller last piece has code of its own, which only the last core runs.
// LANES-DAG: #[[FULL:.*]] = affine_map<(d0) -> (-d0 + 1)>
// LANES-DAG: #[[LAST:.*]] = affine_map<(d0) -> (d0)>
// LANES:     affine.parallel (%[[CORE:.*]]) = (0) to (2)
// LANES:     affine.for %{{.*}} = 0 to #[[FULL]](%[[CORE]])
// LANES:       tile.mma
// LANES:     affine.for %{{.*}} = 0 to #[[LAST]](%[[CORE]])
// LANES:       tile.mma

// As even as they come, although the last vector of each piece is partial.
// EVEN:      affine.parallel (%[[CORE:.*]]) = (0) to (2)
// EVEN:      {{affine.vector_|tile.}}load %arg1[{{.*}}%[[CORE]] * 500
// EVEN:      tile.store {{.*}}, %arg2[{{.*}}%[[CORE]] * 500
module attributes {tilewright.target = "cpu:granite-rapids", tilewright.threads = 2 : i64} {
func.func private @product(%A: memref<100x200xf32>, %B: memref<200x1000xf32>, %C: memref<100x1000xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 100 { affine.for %j = 0 to 1000 { affine.store %z, %C[%i, %j] : memref<100x1000xf32> } }
  affine.for %i = 0 to 100 { affine.for %j = 0 to 1000 { affine.for %k = 0 to 200 {
    %a = affine.load %A[%i, %k] : memref<100x200xf32>
    %b = affine.load %B[%k, %j] : memref<200x1000xf32>
    %c = affine.load %C[%i, %j] : memref<100x1000xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<100x1000xf32>
  } } }
  return
}
}
