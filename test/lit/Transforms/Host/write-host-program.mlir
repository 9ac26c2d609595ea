// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -write-host-program -verify-diagnostics | FileCheck %s

// Sizes that disagree are 1, missing memory is 2; memory is given back in all cases.
module attributes {tilewright.manifests = ["{\22format\22:2,\22entry\22:\22f\22,\22sizes\22:1,\22variables\22:1,\22buffers\22:4,\22arguments\22:[{\22written\22:false},{\22written\22:true}],\22constants\22:[{\22buffer\22:2,\22bytes\22:2,\22data\22:\22AQI=\22}],\22constraints\22:[{\22nonnegative\22:[\22-\22,{\22size\22:0},1]}],\22temporaries\22:[{\22buffer\22:3,\22bytes\22:[\22*\22,{\22size\22:0},4]}],\22steps\22:[{\22assign\22:[[0,0]]},{\22while\22:[\22<\22,{\22variable\22:0},3],\22before\22:[],\22do\22:[{\22launch\22:\22k\22,\22grid\22:[4,1,1],\22arguments\22:[{\22buffer\22:0},{\22buffer\22:2},{\22buffer\22:3},{\22value\22:{\22size\22:0}}]},{\22assign\22:[[0,[\22+\22,{\22variable\22:0},1]]]}]},{\22if\22:[\22==\22,{\22size\22:0},7],\22then\22:[{\22read\22:0,\22buffer\22:0,\22offset\22:2,\22bytes\22:4}],\22else\22:[]}]}"]} {
  // CHECK: llvm.mlir.global internal constant @f_constant_2("\01\02")
  func.func private @k(%core: i32, %a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %n: index) { return }
  // CHECK: func.func @f(%[[N:.*]]: i64, %[[IN:.*]]: !llvm.ptr {llvm.readonly}, %[[OUT:.*]]: !llvm.ptr) -> (i32 {llvm.signext})
  // CHECK: %[[VARIABLES:.*]] = memref.alloca() : memref<2xi64>
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
  // CHECK: %[[ENDED:.*]] = arith.select %[[SAME]], %c0_i32{{.*}}, %c1_i32
  // CHECK: %[[GOOD:.*]] = arith.cmpi eq, %[[ENDED]]
  // CHECK-NEXT: %[[STATUS:.*]] = scf.if %[[GOOD]] -> (i32) {
  // CHECK: func.call @k(
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: scf.yield %[[ZERO]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[ENDED]]
  // CHECK: scf.yield %[[STATUS]]
  // CHECK: func.call @free(%[[MEMORY]])
}

// -----

// Arrays whose sizes follow from data: a slot for each, freed with the last one that owns it. What a loop ends with stands
// beside the variables.
module attributes {tilewright.manifests = ["{\22format\22:3,\22entry\22:\22h\22,\22sizes\22:1,\22variables\22:1,\22buffers\22:4,\22arguments\22:[{\22written\22:false},{\22written\22:true}],\22steps\22:[{\22rename\22:[[2,0]]},{\22while\22:[\22<\22,{\22variable\22:0},3],\22before\22:[],\22do\22:[{\22require\22:{\22variable\22:0},\22equals\22:{\22size\22:0}},{\22allocate\22:3,\22bytes\22:[\22*\22,{\22variable\22:0},4]},{\22launch\22:\22k\22,\22grid\22:[4,1,1],\22arguments\22:[{\22buffer\22:2},{\22buffer\22:3}]},{\22rename\22:[[2,3]]}]},{\22launch\22:\22k\22,\22grid\22:[4,1,1],\22arguments\22:[{\22buffer\22:2},{\22buffer\22:1}]}]}"]} {
  func.func private @k(%core: i32, %a: !llvm.ptr, %b: !llvm.ptr) { return }
  // CHECK: func.func @h(%{{.*}}: i64, %[[IN:.*]]: !llvm.ptr {llvm.readonly}, %[[OUT:.*]]: !llvm.ptr)
  // CHECK: %[[VARIABLES:.*]] = memref.alloca() : memref<2xi64>
  // CHECK: %[[SLOTS:.*]] = memref.alloca() : memref<2xi64>
  // CHECK-NEXT: %[[OWNERS:.*]] = memref.alloca() : memref<2xi64>
  // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[IN]]
  // CHECK: memref.store %[[ADDRESS]], %[[SLOTS]]
  // CHECK: scf.while
  // CHECK: memref.load %[[VARIABLES]]
  // CHECK: scf.condition
  // CHECK: arith.cmpi eq
  // CHECK: %[[SIZE:.*]] = scf.if
  // CHECK: arith.cmpf ogt
  // CHECK: %[[ENDED:.*]] = scf.if
  // CHECK: %[[MEMORY:.*]] = func.call @malloc(
  // CHECK: %[[FRESH:.*]] = llvm.ptrtoint %[[MEMORY]]
  // CHECK: memref.store %[[FRESH]], %[[SLOTS]]
  // CHECK: memref.store %[[FRESH]], %[[OWNERS]]
  // CHECK: func.call @k(
  // CHECK: func.call @free(
  // CHECK: memref.store %{{.*}}, %[[VARIABLES]]
  // CHECK: memref.load %[[VARIABLES]]
  // CHECK: func.call @k(%{{.*}}, %{{.*}}, %[[OUT]])
  // CHECK: func.call @free(
}

// -----

// expected-error @+1 {{needs steps of another form, which it cannot have}}
module attributes {tilewright.manifests = ["{\22format\22:2,\22entry\22:\22f\22,\22sizes\22:0,\22arguments\22:[],\22steps\22:[{\22sing\22:0}]}"]} {}

// -----

// expected-error @+1 {{the manifest of the program cannot be read}}
module attributes {tilewright.manifests = ["{"]} {}

// -----

// An array is another program's only where both share it: neither what it is called nor what functions are called counts.
module attributes {tilewright.manifests = [
    "{\22entry\22:\22add\22,\22buffers\22:2,\22arguments\22:[{\22written\22:true}],\22constants\22:[{\22buffer\22:1,\22bytes\22:2,\22data\22:\22AQI=\22,\22written\22:true,\22shared\22:\22constant_1\22}],\22steps\22:[{\22launch\22:\22k\22,\22grid\22:[1,1,1],\22arguments\22:[{\22buffer\22:0},{\22buffer\22:1}]}]}",
    "{\22entry\22:\22shared\22,\22buffers\22:2,\22arguments\22:[{\22written\22:true}],\22constants\22:[{\22buffer\22:1,\22bytes\22:2,\22data\22:\22AwQ=\22}],\22steps\22:[{\22launch\22:\22k\22,\22grid\22:[1,1,1],\22arguments\22:[{\22buffer\22:0},{\22buffer\22:1}]}]}",
    "{\22entry\22:\22shared_constant_1\22,\22buffers\22:2,\22arguments\22:[{\22written\22:true}],\22constants\22:[{\22buffer\22:1,\22bytes\22:2,\22data\22:\22AQI=\22,\22written\22:true,\22shared\22:\22constant_1\22}],\22steps\22:[{\22launch\22:\22k\22,\22grid\22:[1,1,1],\22arguments\22:[{\22buffer\22:0},{\22buffer\22:1}]}]}"]} {
  // CHECK-DAG: llvm.mlir.global internal @[[SHARED:shared_constant_1_[0-9]+]]("\01\02")
  // CHECK-DAG: llvm.mlir.global internal constant @[[OWN:shared_constant_1_[0-9]+]]("\03\04")
  func.func private @k(%core: i32, %a: !llvm.ptr, %b: !llvm.ptr) { return }
  // CHECK-LABEL: func.func @add(
  // CHECK: llvm.mlir.addressof @[[SHARED]]
  // CHECK-LABEL: func.func @shared(
  // CHECK: llvm.mlir.addressof @[[OWN]]
  // CHECK-LABEL: func.func @shared_constant_1(
  // CHECK: llvm.mlir.addressof @[[SHARED]]
}
