// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -write-host-program -verify-diagnostics | FileCheck %s

// Sizes that disagree are 1, missing memory is 2; memory is given back in all cases.
module attributes {tilewright.manifests = ["{\22format\22:2,\22entry\22:\22f\22,\22sizes\22:1,\22variables\22:1,\22buffers\22:4,\22arguments\22:[{\22written\22:false},{\22written\22:true}],\22constants\22:[{\22buffer\22:2,\22bytes\22:2,\22data\22:\22AQI=\22}],\22constraints\22:[{\22nonnegative\22:[\22-\22,{\22size\22:0},1]}],\22temporaries\22:[{\22buffer\22:3,\22bytes\22:[\22*\22,{\22size\22:0},4]}],\22steps\22:[{\22assign\22:[[0,0]]},{\22while\22:[\22<\22,{\22variable\22:0},3],\22before\22:[],\22do\22:[{\22launch\22:\22k\22,\22grid\22:[4,1,1],\22arguments\22:[{\22buffer\22:0},{\22buffer\22:2},{\22buffer\22:3},{\22value\22:{\22size\22:0}}]},{\22assign\22:[[0,[\22+\22,{\22variable\22:0},1]]]}]},{\22if\22:[\22==\22,{\22size\22:0},7],\22then\22:[{\22read\22:0,\22buffer\22:0,\22offset\22:2,\22bytes\22:4}],\22else\22:[]}]}"]} {
  // CHECK: llvm.mlir.global internal constant @f_constant_2("\01\02")
  func.func private @k(%core: i32, %a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %n: index) { return }
  // CHECK: func.func @f(%[[N:.*]]: i64, %[[IN:.*]]: !llvm.ptr {llvm.readonly}, %[[OUT:.*]]: !llvm.ptr) -> (i32 {llvm.signext})
  // CHECK: %[[VARIABLES:.*]] = memref.alloca() : memref<1xi64>
  // CHECK: arith.cmpi slt
  // CHECK: %[[STATUS:.*]] = scf.if
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: scf.yield %[[ONE]]
  // CHECK: %[[CONSTANT:.*]] = llvm.mlir.addressof @f_constant_2
  // CHECK: %[[MEMORY:.*]] = func.call @malloc(
  // CHECK: scf.if
  // CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i32
  // CHECK: scf.while
  // CHECK: scf.for %[[CORE:.*]] =
  // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[CORE]] : index to i32
  // CHECK: func.call @k(%[[NUMBER]], %[[IN]], %[[CONSTANT]], %[[MEMORY]], %{{.*}})
  // CHECK: memref.load %{{.*}} : memref<?xi32>
  // CHECK: arith.extsi
  // CHECK: memref.store %{{.*}}, %[[VARIABLES]]
  // CHECK: func.call @free(%[[MEMORY]])
  // CHECK: return %[[STATUS]] : i32
}

// -----

// A result of another size than the caller's is 1; the memory is given back.
module attributes {tilewright.manifests = ["{\22format\22:3,\22entry\22:\22g\22,\22sizes\22:1,\22variables\22:1,\22buffers\22:3,\22arguments\22:[{\22written\22:false},{\22written\22:true}],\22temporaries\22:[{\22buffer\22:2,\22bytes\22:8}],\22steps\22:[{\22read\22:0,\22buffer\22:0,\22offset\22:0,\22bytes\22:8},{\22require\22:{\22variable\22:0},\22equals\22:{\22size\22:0},\22argument\22:1,\22dimension\22:0},{\22launch\22:\22k\22,\22grid\22:[4,1,1],\22arguments\22:[{\22buffer\22:1},{\22buffer\22:2}]}]}"]} {
  func.func private @k(%core: i32, %a: !llvm.ptr, %b: !llvm.ptr) { return }
  // CHECK: func.func @g(
  // CHECK: %[[MEMORY:.*]] = func.call @malloc(
  // CHECK: memref.load
  // CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i64
  // CHECK-NEXT: %[[STATUS:.*]] = scf.if %[[SAME]] -> (i32) {
  // CHECK: func.call @k(
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: scf.yield %[[ZERO]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: scf.yield %[[ONE]]
  // CHECK: scf.yield %[[STATUS]]
  // CHECK: func.call @free(%[[MEMORY]])
}

// -----

// expected-error @+1 {{needs arrays whose sizes follow from data, which it cannot have}}
module attributes {tilewright.manifests = ["{\22format\22:2,\22entry\22:\22f\22,\22sizes\22:0,\22arguments\22:[],\22steps\22:[{\22allocate\22:0,\22bytes\22:8}]}"]} {}

// -----

// expected-error @+1 {{the manifest of the program cannot be read}}
module attributes {tilewright.manifests = ["{"]} {}
