// Rows become columns and columns rows: few rows of a vector, a square, more rows than columns; the reference lowering
// computes the same.
//
// RUN: tw-opt %s -lower-affine -lower-tile-to-vector -canonicalize | FileCheck %s
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,func.func(lower-tile-to-loops),canonicalize,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)" | mlir-runner -e main -entry-point-result=void -shared-libs=%llvm-tools/../lib/libmlir_runner_utils.so,%llvm-tools/../lib/libmlir_c_runner_utils.so | grep -v "base@" | FileCheck %s --check-prefix=NUMBERS
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,lower-tile-to-vector,canonicalize,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)" | mlir-runner -e main -entry-point-result=void -shared-libs=%llvm-tools/../lib/libmlir_runner_utils.so,%llvm-tools/../lib/libmlir_c_runner_utils.so | grep -v "base@" | FileCheck %s --check-prefix=NUMBERS

!f1x2 = !tile.fragment<1x2xf32, #tile.layout<elements = [0, 1]>>
!f1x4 = !tile.fragment<1x4xf32, #tile.layout<elements = [0, 1, 0, 2]>>
!f1x8 = !tile.fragment<1x8xf32, #tile.layout<elements = [0, 1, 0, 2, 0, 4]>>
!f2x1 = !tile.fragment<2x1xf32, #tile.layout<elements = [1, 0]>>
!f4x1 = !tile.fragment<4x1xf32, #tile.layout<elements = [1, 0, 2, 0]>>
!f8x1 = !tile.fragment<8x1xf32, #tile.layout<elements = [1, 0, 2, 0, 4, 0]>>

func.func private @printMemrefF32(memref<*xf32>)

// Two rows: one shuffle inside lanes for each half, then pairs.
// CHECK-LABEL: @t2x8
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store %{{.*}} : memref<16x16xf32>, vector<2xf32>
func.func @t2x8(%A: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %0 = tile.load %A[0, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %1 = tile.load %A[1, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %t:8 = tile.transpose %0, %1 : !f1x8, !f1x8
    -> !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1
  tile.store %t#0, %o[0, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#1, %o[1, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#2, %o[2, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#3, %o[3, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#4, %o[4, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#5, %o[5, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#6, %o[6, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  tile.store %t#7, %o[7, 2] elements affine_map<(r, c) -> (0, r)> : !f2x1, memref<16x16xf32>
  return
}

// The other way round, eight columns of two side by side: two rows.
// CHECK-LABEL: @t8x2
// CHECK-COUNT-8: vector.load %{{.*}} : memref<16x16xf32>, vector<2xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 2, 10, 4, 12, 6, 14] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 9, 3, 11, 5, 13, 7, 15] : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-2: vector.store %{{.*}} : memref<16x16xf32>, vector<8xf32>
func.func @t8x2(%A: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %0 = tile.load %A[0, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %1 = tile.load %A[1, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %2 = tile.load %A[2, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %3 = tile.load %A[3, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %4 = tile.load %A[4, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %5 = tile.load %A[5, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %6 = tile.load %A[6, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %7 = tile.load %A[7, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f2x1
  %t:2 = tile.transpose %0, %1, %2, %3, %4, %5, %6, %7 : !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1, !f2x1
    -> !f1x8, !f1x8
  tile.store %t#0, %o[0, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  tile.store %t#1, %o[1, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  return
}

// Four rows: eight shuffles inside lanes, none between them.
// CHECK-LABEL: @t4x8
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store %{{.*}} : memref<16x16xf32>, vector<4xf32>
func.func @t4x8(%A: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %0 = tile.load %A[0, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %1 = tile.load %A[1, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %2 = tile.load %A[2, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %3 = tile.load %A[3, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x8
  %t:8 = tile.transpose %0, %1, %2, %3 : !f1x8, !f1x8, !f1x8, !f1x8
    -> !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1
  tile.store %t#0, %o[0, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#1, %o[1, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#2, %o[2, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#3, %o[3, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#4, %o[4, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#5, %o[5, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#6, %o[6, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#7, %o[7, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  return
}

// CHECK-LABEL: @t8x4
// CHECK-COUNT-8: vector.load %{{.*}} : memref<16x16xf32>, vector<4xf32>
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-4: vector.store %{{.*}} : memref<16x16xf32>, vector<8xf32>
func.func @t8x4(%A: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %0 = tile.load %A[0, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %1 = tile.load %A[1, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %2 = tile.load %A[2, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %3 = tile.load %A[3, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %4 = tile.load %A[4, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %5 = tile.load %A[5, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %6 = tile.load %A[6, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %7 = tile.load %A[7, 1] elements affine_map<(r, c) -> (0, r)> : memref<16x16xf32> -> !f4x1
  %t:4 = tile.transpose %0, %1, %2, %3, %4, %5, %6, %7 : !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1, !f4x1
    -> !f1x8, !f1x8, !f1x8, !f1x8
  tile.store %t#0, %o[0, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  tile.store %t#1, %o[1, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  tile.store %t#2, %o[2, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  tile.store %t#3, %o[3, 2] elements affine_map<(r, c) -> (r, c)> : !f1x8, memref<16x16xf32>
  return
}

// CHECK-LABEL: @t4x4
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<4xf32>, vector<4xf32>
// CHECK-NOT: vector.shuffle
func.func @t4x4(%A: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %0 = tile.load %A[0, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x4
  %1 = tile.load %A[1, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x4
  %2 = tile.load %A[2, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x4
  %3 = tile.load %A[3, 1] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !f1x4
  %t:4 = tile.transpose %0, %1, %2, %3 : !f1x4, !f1x4, !f1x4, !f1x4
    -> !f4x1, !f4x1, !f4x1, !f4x1
  tile.store %t#0, %o[0, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#1, %o[1, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#2, %o[2, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  tile.store %t#3, %o[3, 2] elements affine_map<(r, c) -> (0, r)> : !f4x1, memref<16x16xf32>
  return
}

func.func @main() {
  %A = memref.alloc() : memref<16x16xf32>
  %o = memref.alloc() : memref<16x16xf32>
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %x = affine.apply affine_map<(i, j) -> (i * 100 + j)>(%i, %j)
      %y = arith.index_cast %x : index to i32
      %z = arith.sitofp %y : i32 to f32
      affine.store %z, %A[%i, %j] : memref<16x16xf32>
    }
  }
  call @t2x8(%A, %o) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %v2x8 = memref.subview %o[0, 2] [8, 2] [1, 1] : memref<16x16xf32> to memref<8x2xf32, strided<[16, 1], offset: 2>>
  %p2x8 = memref.cast %v2x8 : memref<8x2xf32, strided<[16, 1], offset: 2>> to memref<*xf32>
  call @printMemrefF32(%p2x8) : (memref<*xf32>) -> ()
  call @t8x2(%A, %o) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %v8x2 = memref.subview %o[0, 2] [2, 8] [1, 1] : memref<16x16xf32> to memref<2x8xf32, strided<[16, 1], offset: 2>>
  %p8x2 = memref.cast %v8x2 : memref<2x8xf32, strided<[16, 1], offset: 2>> to memref<*xf32>
  call @printMemrefF32(%p8x2) : (memref<*xf32>) -> ()
  call @t4x8(%A, %o) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %v4x8 = memref.subview %o[0, 2] [8, 4] [1, 1] : memref<16x16xf32> to memref<8x4xf32, strided<[16, 1], offset: 2>>
  %p4x8 = memref.cast %v4x8 : memref<8x4xf32, strided<[16, 1], offset: 2>> to memref<*xf32>
  call @printMemrefF32(%p4x8) : (memref<*xf32>) -> ()
  call @t8x4(%A, %o) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %v8x4 = memref.subview %o[0, 2] [4, 8] [1, 1] : memref<16x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 2>>
  %p8x4 = memref.cast %v8x4 : memref<4x8xf32, strided<[16, 1], offset: 2>> to memref<*xf32>
  call @printMemrefF32(%p8x4) : (memref<*xf32>) -> ()
  call @t4x4(%A, %o) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %v4x4 = memref.subview %o[0, 2] [4, 4] [1, 1] : memref<16x16xf32> to memref<4x4xf32, strided<[16, 1], offset: 2>>
  %p4x4 = memref.cast %v4x4 : memref<4x4xf32, strided<[16, 1], offset: 2>> to memref<*xf32>
  call @printMemrefF32(%p4x4) : (memref<*xf32>) -> ()
  return
}

// NUMBERS: [{{ *}}1,{{ *}}101]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}102]
// NUMBERS-NEXT: [{{ *}}3,{{ *}}103]
// NUMBERS-NEXT: [{{ *}}4,{{ *}}104]
// NUMBERS-NEXT: [{{ *}}5,{{ *}}105]
// NUMBERS-NEXT: [{{ *}}6,{{ *}}106]
// NUMBERS-NEXT: [{{ *}}7,{{ *}}107]
// NUMBERS-NEXT: [{{ *}}8,{{ *}}108]
// NUMBERS-NEXT: [{{ *}}1,{{ *}}101,{{ *}}201,{{ *}}301,{{ *}}401,{{ *}}501,{{ *}}601,{{ *}}701]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}102,{{ *}}202,{{ *}}302,{{ *}}402,{{ *}}502,{{ *}}602,{{ *}}702]
// NUMBERS-NEXT: [{{ *}}1,{{ *}}101,{{ *}}201,{{ *}}301]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}102,{{ *}}202,{{ *}}302]
// NUMBERS-NEXT: [{{ *}}3,{{ *}}103,{{ *}}203,{{ *}}303]
// NUMBERS-NEXT: [{{ *}}4,{{ *}}104,{{ *}}204,{{ *}}304]
// NUMBERS-NEXT: [{{ *}}5,{{ *}}105,{{ *}}205,{{ *}}305]
// NUMBERS-NEXT: [{{ *}}6,{{ *}}106,{{ *}}206,{{ *}}306]
// NUMBERS-NEXT: [{{ *}}7,{{ *}}107,{{ *}}207,{{ *}}307]
// NUMBERS-NEXT: [{{ *}}8,{{ *}}108,{{ *}}208,{{ *}}308]
// NUMBERS-NEXT: [{{ *}}1,{{ *}}101,{{ *}}201,{{ *}}301,{{ *}}401,{{ *}}501,{{ *}}601,{{ *}}701]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}102,{{ *}}202,{{ *}}302,{{ *}}402,{{ *}}502,{{ *}}602,{{ *}}702]
// NUMBERS-NEXT: [{{ *}}3,{{ *}}103,{{ *}}203,{{ *}}303,{{ *}}403,{{ *}}503,{{ *}}603,{{ *}}703]
// NUMBERS-NEXT: [{{ *}}4,{{ *}}104,{{ *}}204,{{ *}}304,{{ *}}404,{{ *}}504,{{ *}}604,{{ *}}704]
// NUMBERS-NEXT: [{{ *}}1,{{ *}}101,{{ *}}201,{{ *}}301]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}102,{{ *}}202,{{ *}}302]
// NUMBERS-NEXT: [{{ *}}3,{{ *}}103,{{ *}}203,{{ *}}303]
// NUMBERS-NEXT: [{{ *}}4,{{ *}}104,{{ *}}204,{{ *}}304]
