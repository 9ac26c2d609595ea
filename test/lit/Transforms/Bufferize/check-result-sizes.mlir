// RUN: tw-opt %s -check-result-sizes | FileCheck %s

#sizes = affine_map<()[s0, s1, s2] -> (s0, s1)>
#other = affine_map<()[s0, s1, s2] -> (s2)>
#rows = affine_map<()[s0, s1] -> (s0)>
#more = affine_map<()[s0, s1] -> (s1)>

// A size that is read: compared where the buffer comes into being, before anything is written to it.
// CHECK-LABEL: func.func @read
// CHECK: %[[N:.*]] = memref.load
// CHECK-NEXT: %[[R:.*]] = memref.alloc(%[[N]])
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[GIVEN:.*]] = memref.dim %[[R]], %[[C0]]
// CHECK-NEXT: tile.require_size %[[N]], %[[GIVEN]] output 0 dimension 0
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: return %[[R]]
func.func @read(%k: memref<1xindex>) -> memref<?x4xf32> attributes {
    tilewright.shapes = [affine_map<()[s0] -> (1)>, affine_map<()[s0] -> (s0, 4)>]} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %n = memref.load %k[%c0] : memref<1xindex>
  %r = memref.alloc(%n) : memref<?x4xf32>
  linalg.fill ins(%x : f32) outs(%r : memref<?x4xf32>)
  return %r : memref<?x4xf32>
}

// What a loop carries: copied at the end, behind the check.
// CHECK-LABEL: func.func @carried
// CHECK: %[[LAST:.*]] = scf.for
// CHECK: %[[N:.*]] = memref.dim %[[LAST]]
// CHECK-NEXT: %[[R:.*]] = memref.alloc(%[[N]])
// CHECK: tile.require_size %[[N]], %{{.*}} output 0 dimension 0
// CHECK-NEXT: memref.copy %[[LAST]], %[[R]]
// CHECK-NEXT: return %[[R]]
func.func @carried(%a: memref<?xf32>, %s: index) -> memref<?xf32> attributes {
    tilewright.shapes = [#rows, affine_map<()[s0, s1] -> ()>, #more]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %s step %c1 iter_args(%x = %a) -> memref<?xf32> {
    %d = memref.dim %x, %c0 : memref<?xf32>
    %m = arith.addi %d, %c1 : index
    %u = memref.alloc(%m) : memref<?xf32>
    scf.yield %u : memref<?xf32>
  }
  return %r : memref<?xf32>
}

// A product of the arguments' sizes, which no equality of the signature says: compared when the call begins.
// CHECK-LABEL: func.func @product
// CHECK-DAG: %[[X:.*]] = memref.dim %[[A:.*]], %c0
// CHECK-DAG: %[[Y:.*]] = memref.dim %[[A]], %c1
// CHECK: %[[N:.*]] = arith.muli %[[X]], %[[Y]]
// CHECK-NEXT: %[[R:.*]] = memref.alloc(%[[N]])
// CHECK: tile.require_size %[[N]], %{{.*}} output 0 dimension 0
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<?x?xf32>)
func.func @product(%a: memref<?x?xf32>) -> memref<?xf32> attributes {tilewright.shapes = [#sizes, #other]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.dim %a, %c0 : memref<?x?xf32>
  %y = memref.dim %a, %c1 : memref<?x?xf32>
  %t = memref.alloc(%x, %y) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<?x?xf32>)
  %n = arith.muli %x, %y : index
  %r = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%r : memref<?xf32>)
  return %r : memref<?xf32>
}

// Sizes that the shapes or an equality tie to those of the arguments are compared before the call begins.
// CHECK-LABEL: func.func @tied
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @tied(%a: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>, memref<3xf32>) attributes {
    tilewright.constraints = affine_set<()[s0, s1] : (s1 - (s0 - 2) == 0)>,
    tilewright.shapes = [#rows, #rows, #more, affine_map<()[s0, s1] -> (3)>]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %m = arith.subi %n, %c2 : index
  %most = arith.maxui %n, %n : index
  %r = memref.alloc(%most) : memref<?xf32>
  %s = memref.alloc(%m) : memref<?xf32>
  %t = memref.alloc() : memref<3xf32>
  return %r, %s, %t : memref<?xf32>, memref<?xf32>, memref<3xf32>
}

// Of two sizes the one that is not tied; a size that the signature calls another's is not tied either.
// CHECK-LABEL: func.func @half
// CHECK: memref.dim %{{.*}}, %c0
// CHECK: tile.require_size %{{.*}}, %{{.*}} output 0 dimension 1
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @half(%a: memref<?xf32>, %k: index) -> memref<?x?xf32> attributes {
    tilewright.shapes = [#rows, affine_map<()[s0, s1] -> ()>, affine_map<()[s0, s1] -> (s0, s1)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %r = memref.alloc(%n, %k) : memref<?x?xf32>
  return %r : memref<?x?xf32>
}

// Private functions have no callers outside; arrays of a function on memrefs are its arguments.
// CHECK-LABEL: func.func private @inner
// CHECK-NOT: tile.require_size
func.func private @inner(%k: index) -> memref<?xf32> {
  %r = memref.alloc(%k) : memref<?xf32>
  return %r : memref<?xf32>
}

// Nobody said what callers pass: every size is compared.
// CHECK-LABEL: func.func @unnamed
// CHECK: tile.require_size %{{.*}}, %{{.*}} output 0 dimension 0
func.func @unnamed(%a: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %r = memref.alloc(%n) : memref<?xf32>
  return %r : memref<?xf32>
}
