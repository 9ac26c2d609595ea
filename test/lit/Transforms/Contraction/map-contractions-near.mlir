// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/adder tw-opt %s -split-input-file -map-contractions | FileCheck %s

// Of one core's work, an operand that lies in the scratchpad is read there, a result is written there: the other operand
// alone is copied, and no other core is asked.
module attributes {tilewright.target = "adder:one"} {
  // CHECK-LABEL: func.func private @near
  // CHECK: tile.parallel
  // CHECK-DAG: %[[A:.*]] = tile.alloc() : memref<64x96xi8, "scratchpad">
  // CHECK-DAG: %[[C:.*]] = tile.alloc() : memref<64x32xi32, "scratchpad">
  // CHECK-NOT: tile.parallel
  // CHECK: tile.copy %arg0
  // CHECK-NOT: tile.copy %[[A]]
  // CHECK: tile.multiply %[[A]][
  // CHECK: affine.store %{{.*}}, %[[C]]
  // CHECK-NOT: tile.copy %[[C]]
  // CHECK: return
  func.func private @near(%b: memref<96x32xi8>) attributes {tilewright.kernel} {
    tile.parallel (%core) to (2) level "core" {
      %zero = arith.constant 0 : i32
      %a = tile.alloc() : memref<64x96xi8, "scratchpad">
      %c = tile.alloc() : memref<64x32xi32, "scratchpad">
      affine.for %t = 0 to 2 {
      affine.for %i = 0 to 64 { affine.for %j = 0 to 32 { affine.store %zero, %c[%i, %j] : memref<64x32xi32, "scratchpad"> } }
      affine.for %i = 0 to 64 { affine.for %j = 0 to 32 { affine.for %k = 0 to 96 {
        %x = affine.load %a[%i, %k] : memref<64x96xi8, "scratchpad">
        %y = affine.load %b[%k, %j] : memref<96x32xi8>
        %z = affine.load %c[%i, %j] : memref<64x32xi32, "scratchpad">
        %xw = arith.extsi %x : i8 to i32
        %yw = arith.extsi %y : i8 to i32
        %p = arith.muli %xw, %yw : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<64x32xi32, "scratchpad">
      } } }
      } {tile.at = 0 : i64}
    }
    return
  }

  // Tiles of the unit that are not whole come by a copy, with zeros around them.
  // CHECK-LABEL: func.func private @part
  // CHECK: %[[A:.*]] = tile.alloc() : memref<60x90xi8, "scratchpad">
  // CHECK: tile.copy %[[A]]
  // CHECK: tile.multiply
  func.func private @part(%b: memref<90x32xi8>, %c: memref<60x32xi32>) attributes {tilewright.kernel} {
    tile.parallel (%core) to (2) level "core" {
      %zero = arith.constant 0 : i32
      %a = tile.alloc() : memref<60x90xi8, "scratchpad">
      affine.for %t = 0 to 2 {
      affine.for %i = 0 to 60 { affine.for %j = 0 to 32 { affine.store %zero, %c[%i, %j] : memref<60x32xi32> } }
      affine.for %i = 0 to 60 { affine.for %j = 0 to 32 { affine.for %k = 0 to 90 {
        %x = affine.load %a[%i, %k] : memref<60x90xi8, "scratchpad">
        %y = affine.load %b[%k, %j] : memref<90x32xi8>
        %z = affine.load %c[%i, %j] : memref<60x32xi32>
        %xw = arith.extsi %x : i8 to i32
        %yw = arith.extsi %y : i8 to i32
        %p = arith.muli %xw, %yw : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<60x32xi32>
      } } }
      } {tile.at = 0 : i64}
    }
    return
  }
}
