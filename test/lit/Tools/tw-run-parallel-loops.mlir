// Parallel loops of a program on memrefs: cores share them on the host; on chips with lanes one lane walks them.
// REQUIRES: tw-run
// RUN: tw-run %s --verify --threads 2 | FileCheck %s
// RUN: tw-run %s --verify --target nvidia:A100 --device emulator | FileCheck %s
// RUN: tw-run %s --verify --target amd:MI300X --device emulator | FileCheck %s
// CHECK: verify: output 0: largest error 0.00e+00

func.func @main(%a: memref<6x10xf32>, %o: memref<10x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c10 = arith.constant 10 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c6, %c10) step (%c1, %c1) {
    %v = memref.load %a[%i, %j] : memref<6x10xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %o[%j, %i] : memref<10x6xf32>
    scf.reduce
  }
  return
}
