// The reference lowering, and that it computes the same numbers as the vector lowering: accesses with masks, groups
// and transposition, values carried by loops and branches, every form of copy.
//
// RUN: tw-opt %s -lower-affine -lower-tile-to-loops | FileCheck %s
//
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,func.func(lower-tile-to-loops),canonicalize,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,convert-math-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)" | mlir-runner -e main -entry-point-result=void -shared-libs=%llvm-tools/../lib/libmlir_runner_utils.so,%llvm-tools/../lib/libmlir_c_runner_utils.so | grep -v "base@" > %t.loops
// RUN: tw-opt %s --pass-pipeline="builtin.module(lower-affine,lower-tile-to-vector,canonicalize,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,convert-math-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)" | mlir-runner -e main -entry-point-result=void -shared-libs=%llvm-tools/../lib/libmlir_runner_utils.so,%llvm-tools/../lib/libmlir_c_runner_utils.so | grep -v "base@" > %t.vectors
// RUN: diff %t.loops %t.vectors
// RUN: FileCheck %s --check-prefix=NUMBERS < %t.loops

#one = #tile.layout<>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
#rows = #tile.layout<elements = [0, 1, 0, 2, 1, 0, 2, 0]>
#cols = #tile.layout<elements = [1, 0, 2, 0, 0, 1, 0, 2]>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
#col4 = #tile.layout<elements = [1, 0, 2, 0]>
!a = !tile.fragment<1x1xf32, #one>
!c = !tile.fragment<1x16xf32, #row16>
!m = !tile.fragment<4x4xf32, #rows>

module attributes {tilewright.target = "cpu:zen4"} {
// What stage 6 would put in place of the unit.
func.func private @tilewright.unit.cpu.avx512_fma_f32(%a: vector<16xf32>, %b: vector<16xf32>, %c: vector<16xf32>) -> vector<16xf32> {
  %r = vector.fma %a, %b, %c : vector<16xf32>
  return %r : vector<16xf32>
}
func.func private @printMemrefF32(memref<*xf32>)

// CHECK-LABEL: @product
// CHECK-NOT: tile.
// CHECK: memref.alloca() : memref<1x16xf32>
// CHECK: scf.for
func.func @product(%A: memref<20x24xf32>, %B: memref<20x24xf32>, %o: memref<?x24xf32>, %n: index, %odd: i1) {
  %zero = tile.zero : !c
  %one = arith.constant 1.0 : f32
  // The two accumulators change places in each step.
  %r:2 = affine.for %k = 0 to 20 iter_args(%c0 = %zero, %c1 = %zero) -> (!c, !c) {
    %a = tile.load %A[3, %k] elements affine_map<(r, c) -> (r, c)> : memref<20x24xf32> -> !a
    %b = tile.load %B[%k, 7] elements affine_map<(r, c) -> (r, c)> valid(1, %n) : memref<20x24xf32> -> !c
    %d0 = tile.mma %a, %b, %c0 {unit = "cpu.avx512_fma_f32"} : !a, !c, !c
    affine.yield %c1, %d0 : !c, !c
  }
  %p = scf.if %odd -> (!c) {
    scf.yield %r#0 : !c
  } else {
    scf.yield %r#1 : !c
  }
  %bias = tile.load %A[0, 0] elements affine_map<(r, c) -> (c, 0)> : memref<20x24xf32> -> !c
  %i = tile.index 1 : !tile.fragment<1x16xi32, #row16>
  %q = tile.map(%x = %p, %y = %bias, %z = %i) : (!c, !c, !tile.fragment<1x16xi32, #row16>) -> !c {
    %f = arith.sitofp %z : i32 to f32
    %s = arith.addf %x, %y : f32
    %t = arith.addf %s, %f : f32
    %u = arith.addf %t, %one : f32
    tile.yield %u : f32
  }
  tile.store %q, %o[0, 0] elements affine_map<(r, c) -> (r, c)> valid(1, %n + 2) : !c, memref<?x24xf32>
  %sum = tile.reduce %q dimension 1 : !c -> !a {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tile.yield %s : f32
  }
  %all = tile.broadcast %sum : !a -> !c
  tile.store %all, %o[1, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<?x24xf32>
  return
}

func.func @matrices(%A: memref<20x24xf32>, %o: memref<?x24xf32>, %n: index) {
  // Transposed by the element map, then by a conversion; rows reduced and repeated.
  %x = tile.load %A[2, 5] elements affine_map<(r, c) -> (c, r)> valid(3, %n - 5) : memref<20x24xf32> -> !m
  tile.store %x, %o[2, 0] elements affine_map<(r, c) -> (r, c)> : !m, memref<?x24xf32>
  %y = tile.convert %x : !m -> !tile.fragment<4x4xf32, #cols>
  tile.store %y, %o[2, 4] elements affine_map<(r, c) -> (r, c)> : !tile.fragment<4x4xf32, #cols>, memref<?x24xf32>
  tile.store %y, %o[2, 8] elements affine_map<(r, c) -> (c, r)> valid(%n, 3) : !tile.fragment<4x4xf32, #cols>, memref<?x24xf32>
  %s = tile.reduce %y dimension 0 : !tile.fragment<4x4xf32, #cols> -> !tile.fragment<1x4xf32, #row4> {
  ^bb0(%l: f32, %r: f32):
    %t = arith.maximumf %l, %r : f32
    tile.yield %t : f32
  }
  %b = tile.broadcast %s : !tile.fragment<1x4xf32, #row4> -> !m
  tile.store %b, %o[2, 12] elements affine_map<(r, c) -> (r, c)> : !m, memref<?x24xf32>
  %shared = tile.load %A[1, 1] elements affine_map<(r, c) -> (0, c)> valid(%n - 6, 4) : memref<20x24xf32> -> !m
  tile.store %shared, %o[2, 16] elements affine_map<(r, c) -> (r, c)> : !m, memref<?x24xf32>
  %beside = tile.join %x, %shared : !m, !m -> !tile.fragment<4x8xf32, #tile.layout<elements = [0, 1, 0, 2, 1, 0, 2, 0, 0, 4]>>
  tile.store %beside, %o[30, 12] elements affine_map<(r, c) -> (r, c)> valid(3, 8) : !tile.fragment<4x8xf32, #tile.layout<elements = [0, 1, 0, 2, 1, 0, 2, 0, 0, 4]>>, memref<?x24xf32>
  return
}

func.func @copies(%A: memref<20x24xf32>, %o: memref<?x24xf32>, %n: index) {
  // Rows, a tail of 3, and what `valid` leaves out.
  %t0 = tile.copy %A[0, 1] elements affine_map<(p, q) -> (p, q)> to %o[6, 2] elements affine_map<(p, q) -> (p, q)>
        shape [4, 19] valid(3, %n + 10) : memref<20x24xf32>, memref<?x24xf32>
  // Square blocks.
  %t1 = tile.copy %A[1, 0] elements affine_map<(p, q) -> (p, q)> to %o[10, 1] elements affine_map<(p, q) -> (q, p)>
        shape [19, 20] valid(18, %n + 9) : memref<20x24xf32>, memref<?x24xf32>
  // Scalars.
  %t2 = tile.copy %A[0, 0] elements affine_map<(p, q) -> (p, q * 2)> to %o[30, 0] elements affine_map<(p, q) -> (p, q)>
        shape [3, 10] : memref<20x24xf32>, memref<?x24xf32>
  // Groups of two, of 19 rows, read back in order.
  %half = tile.alloc() {arrangement = #tile.arrangement<padding = 8>} : memref<10x18x2xbf16>
  %bf = tile.alloc() : memref<20x24xbf16>
  affine.for %i = 0 to 20 {
    affine.for %j = 0 to 24 {
      %x = affine.load %A[%i, %j] : memref<20x24xf32>
      %y = arith.truncf %x : f32 to bf16
      affine.store %y, %bf[%i, %j] : memref<20x24xbf16>
    }
  }
  %z = arith.constant 0.0 : bf16
  tile.fill %half, %z : memref<10x18x2xbf16>, bf16
  %t3 = tile.copy %bf[1, 3] elements affine_map<(p, q) -> (p, q)> to %half[0, 0, 0] elements affine_map<(p, q) -> (p floordiv 2, q, p mod 2)>
        shape [19, 18] valid(17, %n + 8) : memref<20x24xbf16>, memref<10x18x2xbf16>
  tile.wait %t0, %t1, %t2, %t3
  %back = tile.alloc() : memref<10x36xbf16>
  %t4 = tile.copy %half[0, 0, 0] elements affine_map<(p, q, g) -> (p, q, g)> to %back[0, 0] elements affine_map<(p, q, g) -> (p, q * 2 + g)>
        shape [10, 18, 2] : memref<10x18x2xbf16>, memref<10x36xbf16>
  tile.wait %t4
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 24 {
      %x = affine.load %back[%i, %j] : memref<10x36xbf16>
      %y = arith.extf %x : bf16 to f32
      affine.store %y, %o[%i + 33, %j] : memref<?x24xf32>
    }
  }
  return
}

func.func @main() {
  %A = memref.alloc() : memref<20x24xf32>
  %n = arith.constant 7 : index
  %rows = arith.constant 43 : index
  %o = memref.alloc(%rows) : memref<?x24xf32>
  %minus = arith.constant -1.0 : f32
  affine.for %i = 0 to 43 {
    affine.for %j = 0 to 24 {
      affine.store %minus, %o[%i, %j] : memref<?x24xf32>
    }
  }
  affine.for %i = 0 to 20 {
    affine.for %j = 0 to 24 {
      %x = affine.apply affine_map<(i, j) -> ((i * 5 + j * 3) mod 23)>(%i, %j)
      %y = arith.index_cast %x : index to i32
      %z = arith.sitofp %y : i32 to f32
      affine.store %z, %A[%i, %j] : memref<20x24xf32>
    }
  }
  %true = arith.constant true
  call @product(%A, %A, %o, %n, %true) : (memref<20x24xf32>, memref<20x24xf32>, memref<?x24xf32>, index, i1) -> ()
  call @matrices(%A, %o, %n) : (memref<20x24xf32>, memref<?x24xf32>, index) -> ()
  call @copies(%A, %o, %n) : (memref<20x24xf32>, memref<?x24xf32>, index) -> ()
  %u = memref.cast %o : memref<?x24xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
}

// Evaluated outside of the compiler from the definitions of the ops.
// NUMBERS: [{{ *}}1345,{{ *}}1116,{{ *}}1393,{{ *}}1394,{{ *}}1648,{{ *}}1120,{{ *}}1259,{{ *}}20,{{ *}}26,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}9487,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}7,{{ *}}0,{{ *}}0,{{ *}}2,{{ *}}7,{{ *}}0,{{ *}}0,{{ *}}2,{{ *}}5,{{ *}}8,{{ *}}0,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}8,{{ *}}11,{{ *}}14,{{ *}}17,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}5,{{ *}}10,{{ *}}0,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}0,{{ *}}0,{{ *}}7,{{ *}}10,{{ *}}13,{{ *}}0,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}-1,{{ *}}3,{{ *}}6,{{ *}}9,{{ *}}12,{{ *}}15,{{ *}}18,{{ *}}21,{{ *}}1,{{ *}}4,{{ *}}7,{{ *}}10,{{ *}}13,{{ *}}16,{{ *}}19,{{ *}}22,{{ *}}2,{{ *}}5,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}-1,{{ *}}8,{{ *}}11,{{ *}}14,{{ *}}17,{{ *}}20,{{ *}}0,{{ *}}3,{{ *}}6,{{ *}}9,{{ *}}12,{{ *}}15,{{ *}}18,{{ *}}21,{{ *}}1,{{ *}}4,{{ *}}7,{{ *}}10,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}-1,{{ *}}13,{{ *}}16,{{ *}}19,{{ *}}22,{{ *}}2,{{ *}}5,{{ *}}8,{{ *}}11,{{ *}}14,{{ *}}17,{{ *}}20,{{ *}}0,{{ *}}3,{{ *}}6,{{ *}}9,{{ *}}12,{{ *}}15,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}-1,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}22,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}2,{{ *}}7,{{ *}}12,{{ *}}17,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}4,{{ *}}9,{{ *}}14,{{ *}}19,{{ *}}1,{{ *}}6,{{ *}}11,{{ *}}16,{{ *}}21,{{ *}}3,{{ *}}8,{{ *}}13,{{ *}}18,{{ *}}0,{{ *}}5,{{ *}}10,{{ *}}15,{{ *}}20,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}-1,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}0,{{ *}}6,{{ *}}12,{{ *}}18,{{ *}}1,{{ *}}7,{{ *}}13,{{ *}}19,{{ *}}2,{{ *}}8,{{ *}}-1,{{ *}}-1,{{ *}}2,{{ *}}7,{{ *}}0,{{ *}}0,{{ *}}8,{{ *}}11,{{ *}}14,{{ *}}17,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}5,{{ *}}11,{{ *}}17,{{ *}}0,{{ *}}6,{{ *}}12,{{ *}}18,{{ *}}1,{{ *}}7,{{ *}}13,{{ *}}-1,{{ *}}-1,{{ *}}5,{{ *}}10,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}10,{{ *}}16,{{ *}}22,{{ *}}5,{{ *}}11,{{ *}}17,{{ *}}0,{{ *}}6,{{ *}}12,{{ *}}18,{{ *}}-1,{{ *}}-1,{{ *}}8,{{ *}}13,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}-1,{{ *}}-1,{{ *}}-1,{{ *}}-1]
// NUMBERS-NEXT: [{{ *}}14,{{ *}}19,{{ *}}17,{{ *}}22,{{ *}}20,{{ *}}2,{{ *}}0,{{ *}}5,{{ *}}3,{{ *}}8,{{ *}}6,{{ *}}11,{{ *}}9,{{ *}}14,{{ *}}12,{{ *}}17,{{ *}}15,{{ *}}20,{{ *}}18,{{ *}}0,{{ *}}21,{{ *}}3,{{ *}}1,{{ *}}6]
// NUMBERS-NEXT: [{{ *}}1,{{ *}}6,{{ *}}4,{{ *}}9,{{ *}}7,{{ *}}12,{{ *}}10,{{ *}}15,{{ *}}13,{{ *}}18,{{ *}}16,{{ *}}21,{{ *}}19,{{ *}}1,{{ *}}22,{{ *}}4,{{ *}}2,{{ *}}7,{{ *}}5,{{ *}}10,{{ *}}8,{{ *}}13,{{ *}}11,{{ *}}16]
// NUMBERS-NEXT: [{{ *}}11,{{ *}}16,{{ *}}14,{{ *}}19,{{ *}}17,{{ *}}22,{{ *}}20,{{ *}}2,{{ *}}0,{{ *}}5,{{ *}}3,{{ *}}8,{{ *}}6,{{ *}}11,{{ *}}9,{{ *}}14,{{ *}}12,{{ *}}17,{{ *}}15,{{ *}}20,{{ *}}18,{{ *}}0,{{ *}}21,{{ *}}3]
// NUMBERS-NEXT: [{{ *}}21,{{ *}}3,{{ *}}1,{{ *}}6,{{ *}}4,{{ *}}9,{{ *}}7,{{ *}}12,{{ *}}10,{{ *}}15,{{ *}}13,{{ *}}18,{{ *}}16,{{ *}}21,{{ *}}19,{{ *}}1,{{ *}}22,{{ *}}4,{{ *}}2,{{ *}}7,{{ *}}5,{{ *}}10,{{ *}}8,{{ *}}13]
// NUMBERS-NEXT: [{{ *}}8,{{ *}}13,{{ *}}11,{{ *}}16,{{ *}}14,{{ *}}19,{{ *}}17,{{ *}}22,{{ *}}20,{{ *}}2,{{ *}}0,{{ *}}5,{{ *}}3,{{ *}}8,{{ *}}6,{{ *}}11,{{ *}}9,{{ *}}14,{{ *}}12,{{ *}}17,{{ *}}15,{{ *}}20,{{ *}}18,{{ *}}0]
// NUMBERS-NEXT: [{{ *}}18,{{ *}}0,{{ *}}21,{{ *}}3,{{ *}}1,{{ *}}6,{{ *}}4,{{ *}}9,{{ *}}7,{{ *}}12,{{ *}}10,{{ *}}15,{{ *}}13,{{ *}}18,{{ *}}16,{{ *}}21,{{ *}}19,{{ *}}1,{{ *}}22,{{ *}}4,{{ *}}2,{{ *}}7,{{ *}}5,{{ *}}10]
// NUMBERS-NEXT: [{{ *}}5,{{ *}}10,{{ *}}8,{{ *}}13,{{ *}}11,{{ *}}16,{{ *}}14,{{ *}}19,{{ *}}17,{{ *}}22,{{ *}}20,{{ *}}2,{{ *}}0,{{ *}}5,{{ *}}3,{{ *}}8,{{ *}}6,{{ *}}11,{{ *}}9,{{ *}}14,{{ *}}12,{{ *}}17,{{ *}}15,{{ *}}20]
// NUMBERS-NEXT: [{{ *}}15,{{ *}}20,{{ *}}18,{{ *}}0,{{ *}}21,{{ *}}3,{{ *}}1,{{ *}}6,{{ *}}4,{{ *}}9,{{ *}}7,{{ *}}12,{{ *}}10,{{ *}}15,{{ *}}13,{{ *}}18,{{ *}}16,{{ *}}21,{{ *}}19,{{ *}}1,{{ *}}22,{{ *}}4,{{ *}}2,{{ *}}7]
// NUMBERS-NEXT: [{{ *}}2,{{ *}}0,{{ *}}5,{{ *}}0,{{ *}}8,{{ *}}0,{{ *}}11,{{ *}}0,{{ *}}14,{{ *}}0,{{ *}}17,{{ *}}0,{{ *}}20,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}3,{{ *}}0,{{ *}}6,{{ *}}0,{{ *}}9,{{ *}}0,{{ *}}12,{{ *}}0]
// NUMBERS-NEXT: [{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0,{{ *}}0]
