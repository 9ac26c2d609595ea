// Operands that units which read the scratchpad take along k alone: turned into buffers where that is worth a launch.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "nvidia:H100"} {
// Large: the buffer is read and written once, its product takes the faster units.
// CHECK-LABEL: func.func @large
// CHECK: %[[T:.*]] = memref.alloc() : memref<4096x4096xi8>
// CHECK: affine.for %[[K:.*]] = 0 to 4096
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 4096
// CHECK-NEXT: %[[X:.*]] = affine.load %arg1[%[[K]], %[[J]]]
// CHECK-NEXT: affine.store %[[X]], %[[T]][%[[J]], %[[K]]]
// CHECK: tile.copy %arg0
// CHECK: tile.copy %[[T]]
// CHECK: tile.mma {{.*}}wgmma
func.func @large(%a: memref<4096x4096xi8>, %b: memref<4096x4096xi8>, %c: memref<4096x4096xi32>) {
  // expected-remark@+1 {{operand B of a contraction is transposed into a buffer: tiles that engine "TmaLoad" copies from it as it lies are none that unit nvidia.wgmma_m64n256k32_i8_i32 reads, which takes}}
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<4096x4096xi8>
        %y = affine.load %b[%k, %j] : memref<4096x4096xi8>
        %z = affine.load %c[%i, %j] : memref<4096x4096xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<4096x4096xi32>
      }
    }
  }
  return
}

// Small: lanes turn it while they copy.
// CHECK-LABEL: func.func @small
// CHECK-NOT: memref.alloc
// CHECK: tile.copy %arg1{{.*}} {held, turn
// CHECK: tile.mma {{.*}}mma_m16n8k32_i8_i32
func.func @small(%a: memref<512x512xi8>, %b: memref<512x512xi8>, %c: memref<512x512xi32>) {
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 512 {
        %x = affine.load %a[%i, %k] : memref<512x512xi8>
        %y = affine.load %b[%k, %j] : memref<512x512xi8>
        %z = affine.load %c[%i, %j] : memref<512x512xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<512x512xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100", tilewright.force = "group=4"} {
// Both operands of a batch, since no unit takes them as they are.
// CHECK-LABEL: func.func @batched
// CHECK: memref.alloc() : memref<2x64x256xf8E4M3FN>
// CHECK: memref.alloc() : memref<2x96x256xf8E4M3FN>
// CHECK: tile.mma {{.*}}wgmma
func.func @batched(%a: memref<2x256x64xf8E4M3FN>, %b: memref<2x256x96xf8E4M3FN>, %c: memref<2x64x96xf32>) {
  // expected-remark@+2 {{operand A of a contraction is transposed into a buffer}}
  // expected-remark@+1 {{operand B of a contraction is transposed into a buffer}}
  affine.for %l = 0 to 2 {
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 96 {
        affine.for %k = 0 to 256 {
          %x = affine.load %a[%l, %k, %i] : memref<2x256x64xf8E4M3FN>
          %y = affine.load %b[%l, %k, %j] : memref<2x256x96xf8E4M3FN>
          %z = affine.load %c[%l, %i, %j] : memref<2x64x96xf32>
          %xe = arith.extf %x : f8E4M3FN to f32
          %ye = arith.extf %y : f8E4M3FN to f32
          %p = arith.mulf %xe, %ye : f32
          %s = arith.addf %z, %p : f32
          affine.store %s, %c[%l, %i, %j] : memref<2x64x96xf32>
        }
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
// Units read 16-bit elements in both orders.
// CHECK-LABEL: func.func @both_orders
// CHECK-NOT: memref.alloc
// CHECK: tile.mma {{.*}}wgmma
func.func @both_orders(%a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %c: memref<4096x4096xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<4096x4096xf16>
        %y = affine.load %b[%k, %j] : memref<4096x4096xf16>
        %z = affine.load %c[%i, %j] : memref<4096x4096xf32>
        %xe = arith.extf %x : f16 to f32
        %ye = arith.extf %y : f16 to f32
        %p = arith.mulf %xe, %ye : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %c[%i, %j] : memref<4096x4096xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X", tilewright.force = "transpose_before=2"} {
// Where it is forced: B alone, lanes turn A.
// CHECK-LABEL: func.func @forced_b
// CHECK: %[[T:.*]] = memref.alloc() : memref<512x512xi8>
// CHECK: affine.load %arg1
// CHECK: affine.store %{{.*}}, %[[T]]
// CHECK-DAG: tile.copy %arg0{{.*}}turn =
// CHECK-DAG: tile.copy %[[T]]
// CHECK: tile.mma
func.func @forced_b(%a: memref<512x512xi8>, %b: memref<512x512xi8>, %c: memref<512x512xi32>) {
  // expected-remark@+1 {{operand B of a contraction is transposed into a buffer, as 'transpose_before' says}}
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 512 {
        %x = affine.load %a[%k, %i] : memref<512x512xi8>
        %y = affine.load %b[%k, %j] : memref<512x512xi8>
        %z = affine.load %c[%i, %j] : memref<512x512xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<512x512xi32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100", tilewright.force = "transpose_before=0"} {
// Forced off: units of one subgroup, whose tiles lanes turn.
// CHECK-LABEL: func.func @forced_none
// CHECK-NOT: memref.alloc
// CHECK: tile.mma {{.*}}mma_m16n8k32_i8_i32
func.func @forced_none(%a: memref<4096x4096xi8>, %b: memref<4096x4096xi8>, %c: memref<4096x4096xi32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to 4096 {
        %x = affine.load %a[%i, %k] : memref<4096x4096xi8>
        %y = affine.load %b[%k, %j] : memref<4096x4096xi8>
        %z = affine.load %c[%i, %j] : memref<4096x4096xi32>
        %xe = arith.extsi %x : i8 to i32
        %ye = arith.extsi %y : i8 to i32
        %p = arith.muli %xe, %ye : i32
        %s = arith.addi %z, %p : i32
        affine.store %s, %c[%i, %j] : memref<4096x4096xi32>
      }
    }
  }
  return
}
}
